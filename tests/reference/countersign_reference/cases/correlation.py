"""Correlation: the two identifiers, in either place, and what is refused of them."""

from ..casebook import admits, params, refuses

_E, _W = "execution_id", "workflow_id"
_OWN = "countersign.dev/"


def _both(cmcp=None, meta=None, first="_cmcp"):
    """Params with the given text as `_cmcp` and as `_meta`."""
    parts = {"_cmcp": cmcp, "_meta": meta}
    order = ["_cmcp", "_meta"] if first == "_cmcp" else ["_meta", "_cmcp"]
    return '{"name":"t"' + "".join(f',"{key}":{parts[key]}' for key in order if parts[key] is not None) + "}"


_ADMITTED = [
    ("neither", _both(), None, None),
    ("an execution_id in _cmcp", _both('{"execution_id":"e-1"}'), "e-1", None),
    ("a workflow_id in _cmcp", _both('{"workflow_id":"w"}'), None, "w"),
    ("both in _cmcp", _both('{"workflow_id":"w","execution_id":"e"}'), "e", "w"),
    ("an execution_id in _meta", _both(None, '{"countersign.dev/execution_id":"e"}'), "e", None),
    ("both in _meta", _both(None, '{"countersign.dev/execution_id":"e","countersign.dev/workflow_id":"w"}'), "e", "w"),
    ("one in each", _both('{"execution_id":"e"}', '{"countersign.dev/workflow_id":"w"}'), "e", "w"),
    ("the same in both", _both('{"execution_id":"e"}', '{"countersign.dev/execution_id":"e"}'), "e", None),
    ("the same in both, escaped in one", _both('{"execution_id":"e"}', '{"countersign.dev/execution_id":"\\u0065"}'), "e", None),
    ("equal to each other", _both('{"execution_id":"x","workflow_id":"x"}'), "x", "x"),
    ("escaped names", _both('{"execution\\u005fid":"e"}', '{"countersign.dev\\/workflow_id":"w"}'), "e", "w"),
    ("a letter", _both('{"execution_id":"a"}'), "a", None),
    ("the first and the last visible letter", _both('{"execution_id":"!~"}'), "!~", None),
    ("every visible letter", _both('{"execution_id":"!\\"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"}'),
     "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~", None),
    ("an escaped letter is the letter", _both('{"execution_id":"\\u0041\\/"}'), "A/", None),
    ("case is kept", _both('{"execution_id":"AbC"}'), "AbC", None),
    ("digits are text", _both('{"execution_id":"1"}'), "1", None),
    ("200 letters", _both('{"execution_id":"' + "e" * 200 + '"}'), "e" * 200, None),
    ("200 escaped letters", _both('{"workflow_id":"' + "\\u0065" * 200 + '"}'), None, "e" * 200),
]

_MALFORMED = [
    ("null", "null"), ("true", "true"), ("a number", "1"), ("an array", '["e"]'), ("an object", "{}"),
    ("the empty string", '""'), ("a space", '" "'), ("a space within", '"a b"'), ("a space at the end", '"e "'),
    ("a tab", '"e\\t"'), ("a line feed at the end", '"e\\n"'), ("a NUL", '"e\\u0000"'), ("U+007F", '"e\\u007f"'),
    ("U+0080", '"e\\u0080"'), ("a letter outside ASCII", '"\u00e9"'), ("a letter outside ASCII, escaped", '"\\u00e9"'),
    ("a full-width letter", '"\uff45"'), ("an emoji", '"\U0001f600"'), ("U+FEFF", '"\ufeffe"'),
    ("201 letters", '"' + "e" * 201 + '"'), ("200 letters and a NUL", '"' + "e" * 200 + '\\u0000"'),
]

_REFUSED = [
    ("different in both places: the later", _both('{"execution_id":"a"}', '{"countersign.dev/execution_id":"b"}'), "/params/_meta/countersign.dev~1execution_id"),
    ("different in both places, the other way", _both('{"execution_id":"a"}', '{"countersign.dev/execution_id":"b"}', "_meta"), "/params/_cmcp/execution_id"),
    ("different in case", _both('{"execution_id":"a"}', '{"countersign.dev/execution_id":"A"}'), "/params/_meta/countersign.dev~1execution_id"),
    ("different workflows", _both('{"workflow_id":"a"}', '{"countersign.dev/workflow_id":"b"}'), "/params/_meta/countersign.dev~1workflow_id"),
    ("both different: the first of the later ones", _both('{"workflow_id":"a","execution_id":"c"}', '{"countersign.dev/execution_id":"d","countersign.dev/workflow_id":"b"}'), "/params/_meta/countersign.dev~1execution_id"),
    ("one malformed beside a sound one is no difference", _both('{"execution_id":""}', '{"countersign.dev/execution_id":"b"}'), "/params/_cmcp/execution_id"),
    ("the later one malformed", _both('{"execution_id":"a"}', '{"countersign.dev/execution_id":null}'), "/params/_meta/countersign.dev~1execution_id"),
    ("both malformed: the first", _both('{"execution_id":""}', '{"countersign.dev/execution_id":""}'), "/params/_cmcp/execution_id"),
    ("both malformed alike are still malformed", _both('{"execution_id":null}', '{"countersign.dev/execution_id":null}', "_meta"), "/params/_meta/countersign.dev~1execution_id"),
    ("a malformed workflow before a difference", _both('{"workflow_id":" ","execution_id":"a"}', '{"countersign.dev/execution_id":"b"}'), "/params/_cmcp/workflow_id"),
    ("a difference before a malformed workflow", _both('{"execution_id":"a"}', '{"countersign.dev/execution_id":"b","countersign.dev/workflow_id":0}'), "/params/_meta/countersign.dev~1execution_id"),
    ("a malformed workflow before a malformed execution", _both('{"workflow_id":"","execution_id":""}'), "/params/_cmcp/workflow_id"),
]


def cases():
    for name, text, execution, workflow in _ADMITTED:
        yield admits(name, params(text), "call", execution_id=execution, workflow_id=workflow,
                     action='{"method":"tools/call","name":"t"}')
    for what, text in _MALFORMED:
        for name in (_E, _W):
            yield refuses(
                f"{name} in _cmcp: {what}", params(_both('{"' + name + '":' + text + "}")),
                "correlation", f"/params/_cmcp/{name}",
            )
            yield refuses(
                f"{name} in _meta: {what}", params(_both(None, '{"' + _OWN + name + '":' + text + "}")),
                "correlation", f"/params/_meta/countersign.dev~1{name}",
            )
    for name, text, pointer in _REFUSED:
        yield refuses(name, params(text), "correlation", pointer)
    yield refuses(
        "before a number: jcs-integer tells the correlation too",
        params('{"name":"t","arguments":{"x":1.5},"_cmcp":{"execution_id":""}}'),
        "correlation", "/params/_cmcp/execution_id",
    )
