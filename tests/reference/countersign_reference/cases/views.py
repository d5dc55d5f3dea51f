"""Views: an action as a list of typed nodes, and the bytes that are no action."""

from ..casebook import interprets, rejects, repeat

def _node(kind, name=None, value=None):
    return ({} if name is None else {"name": name}) | {"kind": kind} | ({} if value is None else {"value": value})


def _under(arguments, count, *nodes):
    """An action of these arguments, and its whole view."""
    action = '{"arguments":' + arguments + ',"method":"tools/call","name":"t"}'
    return action, [
        _node("object", None, 3), _node("object", "arguments", count), *nodes,
        _node("text", "method", "tools/call"), _node("text", "name", "t"),
    ]


def _scalar(text, kind, value=None):
    return _under('{"x":' + text + "}", 1, _node(kind, "x", value))


_INTEGERS = [
    "0", "1", "-1", "7", "10", "-10", "1000", "9007199254740991", "-9007199254740991",
]
_BEYOND = [  # integers to a Long, too large for jcs-integer
    "9007199254740992", "-9007199254740992", "999999999999999999", "9223372036854775807", "-9223372036854775808",
]
_LEXEMES = [
    "-0", "0.0", "-0.0", "1.0", "1e0", "1E0", "10e-1", "0e0", "1.5", "-1.50", "1e400", "-1E-400", "100e2",
    "9223372036854775808", "-9223372036854775809", "9999999999999999999", "10000000000000000000",
    "18446744073709551615", "18446744073709551616", "1" + "0" * 40, "-1" + "0" * 40,
]

_VIEWS = [
    ("a name alone", '{"method":"tools/call","name":"t"}',
     [_node("object", None, 2), _node("text", "method", "tools/call"), _node("text", "name", "t")]),
    ("empty arguments", *_under("{}", 0)),
    ("null", *_scalar("null", "null")),
    ("true", *_scalar("true", "boolean", True)),
    ("false", *_scalar("false", "boolean", False)),
    ("the empty string", *_scalar('""', "text", "")),
    ("an escaped string", *_scalar('"a\\"\\\\\\n\\u0000\u00e9\U0001f600"', "text", 'a"\\\n\0\u00e9\U0001f600')),
    ("a string of digits is text", *_scalar('"1"', "text", "1")),
    ("an empty array", *_scalar("[]", "array", 0)),
    ("an empty object", *_scalar("{}", "object", 0)),
    ("items have no names", *_under('{"x":[1,null,"a",[true]]}', 1, _node("array", "x", 4), _node("integer", None, "1"),
     _node("null"), _node("text", None, "a"), _node("array", None, 1), _node("boolean", None, True))),
    ("members in the order of the bytes", *_under('{"A":{"c":2},"a":{"b":1}}', 2, _node("object", "A", 1), _node("integer", "c", "2"),
     _node("object", "a", 1), _node("integer", "b", "1"))),
    ("UTF-16 order", *_under('{"\U0001f600":1,"\ue000":2}', 2, _node("integer", "\U0001f600", "1"), _node("integer", "\ue000", "2"))),
    ("escaped names are plain", *_under('{"\\n":1,"a\\"b":2}', 2, _node("integer", "\n", "1"), _node("integer", 'a"b', "2"))),
    ("the empty name is a name", *_under('{"":1}', 1, _node("integer", "", "1"))),
    ("names of pointers are not escaped", *_under('{"a/b~":1}', 1, _node("integer", "a/b~", "1"))),
    ("objects in an array", *_under('{"x":[{},{"a":[]}]}', 1, _node("array", "x", 2), _node("object", None, 0),
     _node("object", None, 1), _node("array", "a", 0))),
    ("names that other tools treat as special", *_under('{"$serde_json::private::Number":"1","__entity":{"id":"a","type":"U"},"__proto__":null}', 3,
     _node("text", "$serde_json::private::Number", "1"), _node("object", "__entity", 2), _node("text", "id", "a"),
     _node("text", "type", "U"), _node("null", "__proto__"))),
    ("all members", '{"_meta":{"k":1},"arguments":{},"method":"tools/call","name":"n\u00e9","task":{"ttl":2}}',
     [_node("object", None, 5), _node("object", "_meta", 1), _node("integer", "k", "1"), _node("object", "arguments", 0),
      _node("text", "method", "tools/call"), _node("text", "name", "n\u00e9"), _node("object", "task", 1), _node("integer", "ttl", "2")]),
]

_T = '{"method":"tools/call","name":"t"}'

_READING = [
    ("empty bytes", "@@", "syntax", ""),
    ("a mark", b"\xef\xbb\xbf@@" + _T.encode(), "encoding", ""),
    ("a bad byte", b'{"arguments":{"x":"\xff@@"},"method":"tools/call","name":"t"}', "encoding", "/arguments/x"),
    ("cut short", '{"method":"tools/call","name":"t@@', "syntax", "/name"),
    ("bytes after it", _T + "x@@", "syntax", ""),
    ("two of them", _T + "{@@", "syntax", ""),
    ("a lone surrogate", '{"arguments":{"x":"\\ud800"@@},"method":"tools/call","name":"t"}', "surrogate", "/arguments/x"),
    ("a duplicate", '{"arguments":{"x":1,"x"@@:1},"method":"tools/call","name":"t"}', "duplicate-member", "/arguments"),
    ("method twice", '{"method":"tools/call","method"@@:"tools/call","name":"t"}', "duplicate-member", ""),
]

_FORM = [
    ("an array", "[]", ""), ("a string", '"tools/call"', ""), ("null", "null", ""), ("a number", "0", ""),
    ("an empty object", "{}", ""),
    ("no method", '{"name":"t"}', ""), ("no name", '{"method":"tools/call"}', ""),
    ("another method", '{"method":"tools/list","name":"t"}', "/method"),
    ("a method in capitals", '{"method":"TOOLS/CALL","name":"t"}', "/method"),
    ("method null", '{"method":null,"name":"t"}', "/method"),
    ("name empty", '{"method":"tools/call","name":""}', "/name"),
    ("name null", '{"method":"tools/call","name":null}', "/name"),
    ("name of 129 letters", '{"method":"tools/call","name":"' + "n" * 129 + '"}', "/name"),
    ("arguments null", '{"arguments":null,"method":"tools/call","name":"t"}', "/arguments"),
    ("arguments an array", '{"arguments":[],"method":"tools/call","name":"t"}', "/arguments"),
    ("task a string", '{"method":"tools/call","name":"t","task":""}', "/task"),
    ("_meta an array", '{"_meta":[],"method":"tools/call","name":"t"}', "/_meta"),
    ("_meta empty", '{"_meta":{},"method":"tools/call","name":"t"}', "/_meta"),
    ("an unknown member", '{"extra":1,"method":"tools/call","name":"t"}', "/extra"),
    ("a case variant", '{"Name":"t","method":"tools/call","name":"t"}', "/Name"),
    ("a message lacks a name", '{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}', ""),
    ("params", '{"method":"tools/call","name":"t","params":{}}', "/params"),
    ("_cmcp", '{"_cmcp":{},"method":"tools/call","name":"t"}', "/_cmcp"),
    ("requestState", '{"method":"tools/call","name":"t","requestState":"s"}', "/requestState"),
    ("an execution_id in _meta", '{"_meta":{"countersign.dev/execution_id":"e"},"method":"tools/call","name":"t"}', "/_meta/countersign.dev~1execution_id"),
    ("an unknown member under countersign.dev/", '{"_meta":{"countersign.dev/x":1},"method":"tools/call","name":"t"}', "/_meta/countersign.dev~1x"),
    ("a progressToken in _meta", '{"_meta":{"k":1,"progressToken":1},"method":"tools/call","name":"t"}', "/_meta/progressToken"),
    ("a traceparent in _meta", '{"_meta":{"traceparent":"x"},"method":"tools/call","name":"t"}', "/_meta/traceparent"),
    ("a tracestate in _meta", '{"_meta":{"tracestate":"x"},"method":"tools/call","name":"t"}', "/_meta/tracestate"),
    ("baggage in _meta", '{"_meta":{"baggage":"x"},"method":"tools/call","name":"t"}', "/_meta/baggage"),
    ("client context in _meta", '{"_meta":{"io.modelcontextprotocol/clientInfo":{}},"method":"tools/call","name":"t"}', "/_meta/io.modelcontextprotocol~1clientInfo"),
    ("the first of several: by where its value begins", '{"x":1,"name":"","method":"no"}', "/x"),
    ("the first of several: with nothing missing", '{"name":"","method":"no","x":1}', "/name"),
    ("before number", '{"arguments":{"x":1.5},"method":"tools/call","name":""}', "/name"),
    ("before value: white space does not matter yet", ' {"method":"tools/call","name":""}', "/name"),
]

_VALUE = [
    ("a space before it", " " + _T), ("a line feed after it", _T + "\n"), ("a space inside", '{"method": "tools/call","name":"t"}'),
    ("members out of order", '{"name":"t","method":"tools/call"}'),
    ("arguments out of order", '{"arguments":{"b":1,"a":2},"method":"tools/call","name":"t"}'),
    ("code-point order", '{"arguments":{"\ue000":1,"\U0001f600":2},"method":"tools/call","name":"t"}'),
    ("an escape that is not needed", '{"method":"tools\\/call","name":"t"}'),
    ("an escaped letter", '{"method":"tools/call","name":"\\u0074"}'),
    ("an escaped letter of a name", '{"m\\u0065thod":"tools/call","name":"t"}'),
    ("an escaped pair", '{"method":"tools/call","name":"\\ud83d\\ude00"}'),
    ("a long escape of a line feed", '{"arguments":{"x":"\\u000a"},"method":"tools/call","name":"t"}'),
    ("capital digits in an escape", '{"arguments":{"x":"\\u001F"},"method":"tools/call","name":"t"}'),
    ("an escaped U+007F", '{"arguments":{"x":"\\u007f"},"method":"tools/call","name":"t"}'),
    ("white space in an empty array", '{"arguments":{"x":[ ]},"method":"tools/call","name":"t"}'),
]


def cases():
    for name, action, nodes in _VIEWS:
        yield interprets(name, action, nodes)
    for lexeme in _INTEGERS:
        yield interprets(f"the integer {lexeme}", *_scalar(lexeme, "integer", lexeme))
    for lexeme in _BEYOND:
        yield interprets(f"the integer {lexeme}", *_scalar(lexeme, "integer", lexeme), number="/arguments/x")
    for lexeme in _LEXEMES:
        yield interprets(f"the number {lexeme}", *_scalar(lexeme, "number", lexeme), number="/arguments/x")
    yield interprets("128 scalar values of a name", '{"method":"tools/call","name":"' + "\U0001f600" * 128 + '"}', None)
    yield interprets("an array of 100,000 items", [
        '{"arguments":{"x":[0', repeat(",0", 99_999), ']},"method":"tools/call","name":"t"}'], None)
    yield interprets("as many values as there may be", [
        '{"arguments":{"x":[0', repeat(",0", 262_138), ']},"method":"tools/call","name":"t"}'], None)
    yield interprets("as deep as it may be", [
        '{"arguments":{"x":', repeat("[", 62), repeat("]", 62), '},"method":"tools/call","name":"t"}'], None)
    yield interprets("a string of 1 MiB", [
        '{"arguments":{"x":"', repeat("\u00e9", 524_288), '"},"method":"tools/call","name":"t"}'], None)


def refusals():
    for name, action, code, pointer in _READING:
        yield rejects(f"reading: {name}", action, code, pointer)
    yield rejects("reading: too many values", [
        '{"arguments":{"x":[0', repeat(",0", 262_143), "]}}"], "limit", "/arguments/x/262141", 20 + 2 * 262_141)
    yield rejects("reading: too deep", [
        '{"arguments":{"x":', repeat("[", 63)], "limit", "/arguments/x" + "/0" * 62, 18 + 63)
    yield rejects("reading: too large", [_T, repeat(" ", 10_485_760)], "limit", "", 10_485_761)
    yield rejects("reading: too long a number", [
        '{"arguments":{"x":', repeat("1", 1_025), '},"method":"tools/call","name":"t"}'], "limit", "/arguments/x", 18 + 1_025)
    for name, action, pointer in _FORM:
        yield rejects(f"form: {name}", action, "params", pointer)
    for name, action in _VALUE:
        yield rejects(f"not the canonical form: {name}", action, "value", "")
    yield rejects("before value: a number that jcs-integer does not carry, out of order",
                  '{"arguments":{"b":1.0,"a":2.0},"method":"tools/call","name":"t"}', "value", "", number="/arguments/b")
