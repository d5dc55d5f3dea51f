"""Bindings in both profiles, some computed by a shell too."""

from ..casebook import EXACT, JCS_INTEGER, PROFILES, admits, call, check, params

# Computed with `printf PREIMAGE | sha256sum`, not with this package.
_BY_SHELL = {
    ("a tool without arguments", EXACT): "ef87720bb1c51c487dcc237be25a8d0f9357b983c83a17e0b87693a2870d8fba",
    ("a tool without arguments", JCS_INTEGER): "2cee1ece931daef5c45364e5c408dfe511bf21395214a37904f3ccb213fd9943",
    ("a transfer", EXACT): "91f5e2a771cfc2d4ccddf6118ff68dae525a98625bbff33a091111acd14a2e69",
    ("a transfer", JCS_INTEGER): "126fd43f115b91e250bbd2307d859c29b310e20547d2d8831ec1000a6fde6711",
    ("a fraction", EXACT): "2339c55c06739fb545f4400bb76ef6296866bc20cb760d536d60c32693eee868",
    ("one point nought", EXACT): "5c4feb95f6981ec394eb2018dcd93d55a1c0014a7b5aad703d069262963bd7bb",
}

_CASES = [
    ("a tool without arguments", params('{"name":"ping"}'), None),
    ("a transfer", params('{"name":"transfer","arguments":{"to":"acct-2","from":"acct-1","amount":5000}}'), None),
    ("a transfer written otherwise", params('{ "arguments" : {"amount":5000,"from":"acct\\u002d1","to":"acct-2"} , "name":"transfer"}'), None),
    ("a fraction", params('{"name":"transfer","arguments":{"amount":5000.0}}'), "/params/arguments/amount"),
    ("an exponent", params('{"name":"transfer","arguments":{"amount":5e3}}'), "/params/arguments/amount"),
    ("a text of digits", params('{"name":"transfer","arguments":{"amount":"5000"}}'), None),
    ("a forged decimal", params('{"name":"transfer","arguments":{"amount":{"__extn":{"fn":"decimal","arg":"5000.0"}}}}'), None),
    ("one", call('{"x":1}'), None), ("one point nought", call('{"x":1.0}'), "/params/arguments/x"),
    ("nought", call('{"x":0}'), None), ("minus nought", call('{"x":-0}'), "/params/arguments/x"),
    ("letters outside ASCII", call('{"\u00e9":"\u20ac","\U0001f600":"\ufb33"}'), None),
    ("controls", call('{"x":"\\u0000\\n\\u001f\\u007f"}'), None),
    ("a task and _meta", params('{"name":"t","task":{"ttl":60000},"_meta":{"k":[null,true,{}]}}'), None),
    ("what is not of the action does not count", params(
        '{"name":"ping","_cmcp":{"execution_id":"e-1"},"_meta":{"progressToken":7,"traceparent":"x"},"requestState":"s"}'), None),
    ("the largest safe integers", call('{"x":[9007199254740991,-9007199254740991]}'), None),
    ("the next ones", call('{"x":[9007199254740992,-9007199254740992]}'), "/params/arguments/x/0"),
]

_SAME = [("a transfer", "a transfer written otherwise"), ("a tool without arguments", "what is not of the action does not count")]


def cases():
    bound = {}
    for name, message, number in _CASES:
        case = admits(name, message, "call", number=number)
        expect = case["expect"]
        for profile in PROFILES:
            call_ = expect[profile].get("call")
            bound[name, profile] = call_ and call_["binding"]
        yield case
    for key, digest in _BY_SHELL.items():
        check(str(key), f"sha256:{digest}", bound[key])
    for profile in PROFILES:
        for one, other in _SAME:
            check(f"{one} and {other}", bound[one, profile], bound[other, profile])
        together = [digest for (_, of), digest in bound.items() if of == profile and digest]
        check("distinct bindings", len(together) - len(_SAME), len(set(together)))
