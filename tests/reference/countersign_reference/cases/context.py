"""Client context, continuation and transport: their canonical forms and digests."""

from .. import digests
from ..admission import finish, parse
from ..casebook import EXACT, PROFILES, admits, bytes_of, check, params, refuses
from ..values import Refusal

_NONE = {"client": "{}", "continuation": None, "transport": "{}"}
_P = "io.modelcontextprotocol/"

_CASES = [
    ("none of it", '{"name":"t"}', _NONE),
    ("empty _meta", '{"name":"t","_meta":{}}', _NONE),
    ("the four of the client, sorted, under their full names",
     '{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"info",'
     '"io.modelcontextprotocol/clientInfo":{"version":"1.0","name":"c"},"io.modelcontextprotocol/clientCapabilities":{}}}',
     {"client": '{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1.0"},'
                '"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/protocolVersion":"2026-07-28"}'}),
    ("one of the client", '{"name":"t","_meta":{"' + _P + 'clientInfo":{"name":"c"}}}', {"client": '{"' + _P + 'clientInfo":{"name":"c"}}'}),
    ("a client member may be any value", '{"name":"t","_meta":{"' + _P + 'protocolVersion":null,"' + _P + 'logLevel":[1.0,{}]}}',
     {"client": '{"' + _P + 'logLevel":[1.0,{}],"' + _P + 'protocolVersion":null}'}),
    ("numbers of the client stay as written", '{"name":"t","_meta":{"' + _P + 'clientInfo":{"v":1.50,"w":-0,"x":1E400}}}',
     {"client": '{"' + _P + 'clientInfo":{"v":1.50,"w":-0,"x":1E400}}'}),
    ("an escaped client member", '{"name":"t","_meta":{"io.modelcontextprotocol\\/clientInf\\u006f":{}}}', {"client": '{"' + _P + 'clientInfo":{}}'}),
    ("other members are not of the client", '{"name":"t","_meta":{"' + _P + 'related-task":{},"clientInfo":{},"' + _P + 'clientinfo":1}}', {"client": "{}"}),
    ("a state", '{"name":"t","requestState":"s"}', {"continuation": {"canonical": '{"requestState":"s"}', "request_state": "s"}}),
    ("an empty state is a state", '{"name":"t","requestState":""}', {"continuation": {"canonical": '{"requestState":""}', "request_state": ""}}),
    ("responses", '{"name":"t","inputResponses":{"b":{"action":"accept"},"a":1}}',
     {"continuation": {"canonical": '{"inputResponses":{"a":1,"b":{"action":"accept"}}}', "request_state": None}}),
    ("empty responses are responses", '{"name":"t","inputResponses":{}}', {"continuation": {"canonical": '{"inputResponses":{}}', "request_state": None}}),
    ("both, sorted", '{"requestState":"s","name":"t","inputResponses":{"x":{}}}',
     {"continuation": {"canonical": '{"inputResponses":{"x":{}},"requestState":"s"}', "request_state": "s"}}),
    ("a state is unescaped", '{"name":"t","requestState":"\\u0061\\n\\u00e9\\ud83d\\ude00\\/"}',
     {"continuation": {"canonical": '{"requestState":"a\\n\u00e9\U0001f600/"}', "request_state": "a\n\u00e9\U0001f600/"}}),
    ("a state with a NUL", '{"name":"t","requestState":"a\\u0000b"}',
     {"continuation": {"canonical": '{"requestState":"a\\u0000b"}', "request_state": "a\0b"}}),
    ("a state that looks like JSON stays text", '{"name":"t","requestState":"{\\"a\\":1}"}',
     {"continuation": {"canonical": '{"requestState":"{\\"a\\":1}"}', "request_state": '{"a":1}'}}),
    ("numbers of the continuation stay as written", '{"name":"t","inputResponses":{"n":[1.0,-0.0,1e2,9007199254740993]}}',
     {"continuation": {"canonical": '{"inputResponses":{"n":[1.0,-0.0,1e2,9007199254740993]}}', "request_state": None}}),
    ("a progress token of text", '{"name":"t","_meta":{"progressToken":"p"}}', {"transport": '{"progressToken":"p"}'}),
    ("a progress token that is a number stays as written", '{"name":"t","_meta":{"progressToken":1.0}}', {"transport": '{"progressToken":1.0}'}),
    ("a progress token may be any value", '{"name":"t","_meta":{"progressToken":{"b":1,"a":null}}}', {"transport": '{"progressToken":{"a":null,"b":1}}'}),
    ("a traceparent", '{"name":"t","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}',
     {"transport": '{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}'}),
    ("both of the transport, sorted", '{"name":"t","_meta":{"traceparent":"x","progressToken":1}}', {"transport": '{"progressToken":1,"traceparent":"x"}'}),
    ("tracestate and baggage are dropped", '{"name":"t","_meta":{"tracestate":"a=1","baggage":{"k":[1.5]}}}', _NONE),
    ("everything at once", '{"name":"t","arguments":{"a":1},"task":{"ttl":1},"requestState":"s","inputResponses":{"r":1},'
     '"_cmcp":{"execution_id":"e","workflow_id":"w"},"_meta":{"k":"v","progressToken":"p","traceparent":"tp","tracestate":"ts",'
     '"baggage":"b","' + _P + 'protocolVersion":"2026-07-28"}}',
     {"action": '{"_meta":{"k":"v"},"arguments":{"a":1},"method":"tools/call","name":"t","task":{"ttl":1}}',
      "client": '{"' + _P + 'protocolVersion":"2026-07-28"}',
      "continuation": {"canonical": '{"inputResponses":{"r":1},"requestState":"s"}', "request_state": "s"},
      "transport": '{"progressToken":"p","traceparent":"tp"}', "execution_id": "e", "workflow_id": "w"}),
]


def _digests(message):
    """The digests that a host computes of what was admitted, by profile."""
    results = {}
    for profile in PROFILES:
        try:
            call = finish(parse(message), profile)["call"]
        except Refusal:
            continue
        digest = {"client": digests.client_context(call["client"])}
        if call["continuation"] is not None:
            digest["continuation"] = digests.continuation(
                profile, call["binding"], call["continuation"]["canonical"]
            )
            state = call["continuation"]["request_state"]
            digest["request_state"] = None if state is None else digests.request_state(state)
        results[profile] = digest
    return results


# Computed with `printf PREIMAGE | sha256sum`, not with this package.
_BY_SHELL = [
    ("none of it", "client", "4f3e2c6ebedc070b5f3e923d7f79418417058ddbf9ca6f8904d952f1268057b9"),
    ("a state", "request_state", "2dc9762ea05af6f329ee841b5b3a983b2d3c927e8cd80d9abf46cf28b8d8d850"),
    ("a state", "continuation", "0dd8586d7af058eb69b47eb6dff3c85720aa633d9b9f7f3431c4b7fb49772514"),
]


def cases():
    seen = {}
    for name, text, fields in _CASES:
        case = admits(name, params(text), "call", **fields)
        seen[name] = _digests(bytes_of(case))
        yield case | {"digests": seen[name]}
    for name, of, digest in _BY_SHELL:
        check(f"{name}, {of}", f"sha256:{digest}", seen[name][EXACT][of])
    yield refuses("the client's numbers have limits too", params(
        '{"name":"t","_meta":{"' + _P + 'logLevel":' + "1" * 1_024 + "1@@}}"
    ), "limit", "/params/_meta/" + _P.replace("/", "~1") + "logLevel")
