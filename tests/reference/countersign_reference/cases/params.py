"""`tools/call`: its params, and which part of them goes where."""

from ..casebook import admits, params, refuses, repeat

_ADMITTED = [
    ("a name alone", '{"name":"t"}', '{"method":"tools/call","name":"t"}'),
    ("empty arguments are not absent", '{"name":"t","arguments":{}}', '{"arguments":{},"method":"tools/call","name":"t"}'),
    ("a task", '{"name":"t","task":{"ttl":60000}}', '{"method":"tools/call","name":"t","task":{"ttl":60000}}'),
    ("an empty task is not absent", '{"name":"t","task":{}}', '{"method":"tools/call","name":"t","task":{}}'),
    ("an empty _meta is absent", '{"name":"t","_meta":{}}', '{"method":"tools/call","name":"t"}'),
    ("an empty _cmcp is absent", '{"name":"t","_cmcp":{}}', '{"method":"tools/call","name":"t"}'),
    ("a _meta member that the page does not name", '{"name":"t","_meta":{"k":1}}', '{"_meta":{"k":1},"method":"tools/call","name":"t"}'),
    ("_meta members sorted", '{"name":"t","_meta":{"b":1,"a":{"z":1,"y":2}}}', '{"_meta":{"a":{"y":2,"z":1},"b":1},"method":"tools/call","name":"t"}'),
    ("a _meta with nothing of the action left is absent", '{"name":"t","_meta":{"progressToken":1,"traceparent":"00-a","tracestate":"s","baggage":"b"}}',
     '{"method":"tools/call","name":"t"}'),
    ("a _meta with one member left", '{"name":"t","_meta":{"progressToken":1,"k":null,"baggage":"b"}}',
     '{"_meta":{"k":null},"method":"tools/call","name":"t"}'),
    ("an inner _meta is of the action", '{"name":"t","arguments":{"_meta":{"progressToken":1,"countersign.dev/x":2}}}',
     '{"arguments":{"_meta":{"countersign.dev/x":2,"progressToken":1}},"method":"tools/call","name":"t"}'),
    ("an inner _cmcp is of the action", '{"name":"t","arguments":{"_cmcp":{"execution_id":""}}}',
     '{"arguments":{"_cmcp":{"execution_id":""}},"method":"tools/call","name":"t"}'),
    ("an inner progressToken in _meta is of the action", '{"name":"t","_meta":{"k":{"progressToken":1}}}',
     '{"_meta":{"k":{"progressToken":1}},"method":"tools/call","name":"t"}'),
    ("case variants in _meta are of the action", '{"name":"t","_meta":{"ProgressToken":1,"TraceParent":"x","Countersign.dev/execution_id":3}}',
     '{"_meta":{"Countersign.dev/execution_id":3,"ProgressToken":1,"TraceParent":"x"},"method":"tools/call","name":"t"}'),
    ("what only resembles countersign.dev/ is of the action", '{"name":"t","_meta":{"countersign.dev":1,"countersign.devx/execution_id":2,"x.countersign.dev/execution_id":3}}',
     '{"_meta":{"countersign.dev":1,"countersign.devx/execution_id":2,"x.countersign.dev/execution_id":3},"method":"tools/call","name":"t"}'),
    ("a fifth member under the protocol's prefix is of the action", '{"name":"t","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}',
     '{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}},"method":"tools/call","name":"t"}'),
    ("a case variant under the protocol's prefix is of the action", '{"name":"t","_meta":{"io.modelcontextprotocol/ClientInfo":{}}}',
     '{"_meta":{"io.modelcontextprotocol/ClientInfo":{}},"method":"tools/call","name":"t"}'),
    ("execution_id bare in _meta is of the action", '{"name":"t","_meta":{"execution_id":""}}',
     '{"_meta":{"execution_id":""},"method":"tools/call","name":"t"}'),
    ("members of params in any order", '{"task":{},"_meta":{"k":1},"arguments":{},"name":"t"}',
     '{"_meta":{"k":1},"arguments":{},"method":"tools/call","name":"t","task":{}}'),
    ("escaped member names", '{"n\\u0061me":"t","\\u0061rguments":{"\\u0078":1}}', '{"arguments":{"x":1},"method":"tools/call","name":"t"}'),
    ("an escaped name is the plain one", '{"name":"\\u0074"}', '{"method":"tools/call","name":"t"}'),
    ("a name is any text", '{"name":" T\\u0000\\n\\u00e9 "}', '{"method":"tools/call","name":" T\\u0000\\n\u00e9 "}'),
    ("arguments may say what an action says", '{"name":"t","arguments":{"method":"tools/call","name":"u","arguments":{}}}',
     '{"arguments":{"arguments":{},"method":"tools/call","name":"u"},"method":"tools/call","name":"t"}'),
    ("a continuation is not of the action", '{"name":"t","inputResponses":{"a":1},"requestState":"s"}', '{"method":"tools/call","name":"t"}'),
]

_REFUSED = [
    ("empty params", "{}", "/params"),
    ("no name", '{"arguments":{}}', "/params"),
    ("name null", '{"name":null}', "/params/name"),
    ("name a number", '{"name":1}', "/params/name"),
    ("name an array", '{"name":["t"]}', "/params/name"),
    ("name an object", '{"name":{}}', "/params/name"),
    ("name true", '{"name":true}', "/params/name"),
    ("name empty", '{"name":""}', "/params/name"),
    ("arguments null", '{"name":"t","arguments":null}', "/params/arguments"),
    ("arguments an array", '{"name":"t","arguments":[]}', "/params/arguments"),
    ("arguments a string", '{"name":"t","arguments":"{}"}', "/params/arguments"),
    ("arguments a number", '{"name":"t","arguments":0}', "/params/arguments"),
    ("arguments false", '{"name":"t","arguments":false}', "/params/arguments"),
    ("task null", '{"name":"t","task":null}', "/params/task"),
    ("task an array", '{"name":"t","task":[]}', "/params/task"),
    ("task a string", '{"name":"t","task":"x"}', "/params/task"),
    ("_meta null", '{"name":"t","_meta":null}', "/params/_meta"),
    ("_meta an array", '{"name":"t","_meta":[]}', "/params/_meta"),
    ("_meta a string", '{"name":"t","_meta":""}', "/params/_meta"),
    ("_cmcp null", '{"name":"t","_cmcp":null}', "/params/_cmcp"),
    ("_cmcp an array", '{"name":"t","_cmcp":[]}', "/params/_cmcp"),
    ("_cmcp a string", '{"name":"t","_cmcp":"e-1"}', "/params/_cmcp"),
    ("inputResponses null", '{"name":"t","inputResponses":null}', "/params/inputResponses"),
    ("inputResponses an array", '{"name":"t","inputResponses":[]}', "/params/inputResponses"),
    ("inputResponses a string", '{"name":"t","inputResponses":"{}"}', "/params/inputResponses"),
    ("requestState null", '{"name":"t","requestState":null}', "/params/requestState"),
    ("requestState an object", '{"name":"t","requestState":{}}', "/params/requestState"),
    ("requestState a number", '{"name":"t","requestState":1}', "/params/requestState"),
    ("a case variant of name beside it", '{"name":"t","Name":"u"}', "/params/Name"),
    ("a case variant of name alone", '{"Name":"t"}', "/params"),
    ("a case variant of arguments", '{"name":"t","Arguments":{}}', "/params/Arguments"),
    ("a case variant of _meta", '{"name":"t","_Meta":{}}', "/params/_Meta"),
    ("a case variant of _cmcp", '{"name":"t","_CMCP":{}}', "/params/_CMCP"),
    ("a case variant of task", '{"name":"t","TASK":{}}', "/params/TASK"),
    ("a case variant of requestState", '{"name":"t","requeststate":"s"}', "/params/requeststate"),
    ("an unknown member", '{"name":"t","extra":1}', "/params/extra"),
    ("an unknown member of a name that is a number", '{"name":"t","0":1}', "/params/0"),
    ("the empty member", '{"name":"t","":1}', "/params/"),
    ("__proto__", '{"name":"t","__proto__":{"name":"u"}}', "/params/__proto__"),
    ("method in params", '{"name":"t","method":"tools/call"}', "/params/method"),
    ("execution_id in params", '{"name":"t","execution_id":"e-1"}', "/params/execution_id"),
    ("progressToken in params", '{"name":"t","progressToken":1}', "/params/progressToken"),
    ("a name with a NUL after it", '{"name\\u0000":"t"}', "/params"),
    ("a member that a solidus names", '{"name":"t","a/b":1}', "/params/a~1b"),
    ("an unknown member of _cmcp", '{"name":"t","_cmcp":{"data_class":"secret"}}', "/params/_cmcp/data_class"),
    ("a case variant in _cmcp", '{"name":"t","_cmcp":{"Execution_id":"e"}}', "/params/_cmcp/Execution_id"),
    ("a full name in _cmcp", '{"name":"t","_cmcp":{"countersign.dev/execution_id":"e"}}', "/params/_cmcp/countersign.dev~1execution_id"),
    ("camel case in _cmcp", '{"name":"t","_cmcp":{"executionId":"e"}}', "/params/_cmcp/executionId"),
    ("the empty member of _cmcp", '{"name":"t","_cmcp":{"":1}}', "/params/_cmcp/"),
    ("an unknown member under countersign.dev/", '{"name":"t","_meta":{"countersign.dev/call_id":"c"}}', "/params/_meta/countersign.dev~1call_id"),
    ("a case variant under countersign.dev/", '{"name":"t","_meta":{"countersign.dev/Execution_id":"e"}}', "/params/_meta/countersign.dev~1Execution_id"),
    ("the bare prefix countersign.dev/", '{"name":"t","_meta":{"countersign.dev/":1}}', "/params/_meta/countersign.dev~1"),
    ("a deeper name under countersign.dev/", '{"name":"t","_meta":{"countersign.dev/execution_id/x":"e"}}', "/params/_meta/countersign.dev~1execution_id~1x"),
    ("the first of several: what is missing is at the start of params", '{"x":1,"arguments":[]}', "/params"),
    ("the first of several: by where its value begins", '{"arguments":[],"name":"","x":0}', "/params/arguments"),
    ("the first of several: inside _meta before a later member", '{"name":"t","_meta":{"countersign.dev/x":1},"y":1}', "/params/_meta/countersign.dev~1x"),
    ("the first of several: a member before _cmcp", '{"y":1,"name":"t","_cmcp":{"x":1}}', "/params/y"),
    ("the first of several: _cmcp before _meta", '{"name":"t","_cmcp":{"x":1},"_meta":{"countersign.dev/x":1}}', "/params/_cmcp/x"),
    ("the first of several: _meta before _cmcp", '{"name":"t","_meta":{"countersign.dev/x":1},"_cmcp":{"x":1}}', "/params/_meta/countersign.dev~1x"),
    ("before correlation: a bad execution_id comes earlier", '{"_cmcp":{"execution_id":""},"name":""}', "/params/name"),
    ("before number: it comes earlier", '{"arguments":{"x":1.5},"name":""}', "/params/name"),
]

_NUMBER = [
    # params, the pointer at which jcs-integer refuses
    ("in arguments", '{"name":"t","arguments":{"x":1.0}}', "/params/arguments/x"),
    ("deep in arguments", '{"name":"t","arguments":{"x":[{"y":[0,-0]}]}}', "/params/arguments/x/0/y/1"),
    ("in a task", '{"name":"t","task":{"ttl":1e3}}', "/params/task/ttl"),
    ("in _meta", '{"name":"t","_meta":{"k":9007199254740992}}', "/params/_meta/k"),
    ("the first: a task before arguments", '{"task":{"ttl":1e3},"name":"t","arguments":{"x":1.0}}', "/params/task/ttl"),
    ("the first: _meta before both", '{"_meta":{"k":[0.5]},"task":{"ttl":1e3},"name":"t"}', "/params/_meta/k/0"),
    ("the first: arguments before _meta", '{"name":"t","arguments":{"x":1.0},"_meta":{"k":0.5}}', "/params/arguments/x"),
    ("not of the action is passed over", '{"name":"t","_meta":{"progressToken":1.5,"traceparent":0.1,"baggage":1e9,"io.modelcontextprotocol/clientInfo":{"v":1.0},"k":2.0}}', "/params/_meta/k"),
    ("a name that needs escapes", '{"name":"t","arguments":{"a/b":{"~":1.0}}}', "/params/arguments/a~1b/~0"),
]


def cases():
    for name, text, action in _ADMITTED:
        yield admits(name, params(text), "call", action=action)
    for size, unit in ((1, "t"), (128, "t"), (128, "é"), (128, "\U0001f600"), (128, "\\ud83d\\ude00")):
        yield admits(
            f"a name of {size} scalar values, each `{unit}`", params('{"name":"' + unit * size + '"}'), "call",
        )
    for unit in ("t", "é", "\U0001f600", "\\ud83d\\ude00"):
        yield refuses(
            f"a name of 129 scalar values, each `{unit}`", params('{"name":"' + unit * 129 + '"}'),
            "params", "/params/name",
        )
    yield refuses(
        "no params", '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', "params", "",
    )
    for name, text, pointer in _REFUSED:
        yield refuses(name, params(text), "params", pointer)
    for name, text, pointer in _NUMBER:
        yield admits(f"a number that jcs-integer does not carry: {name}", params(text), "call", number=pointer)
    yield admits(
        "numbers outside the action are carried as written",
        params(
            '{"name":"t","_meta":{"progressToken":1.50,"traceparent":-0,"tracestate":1e400,"baggage":0.1,'
            '"io.modelcontextprotocol/logLevel":1E2},"inputResponses":{"x":2.50}}'
        ),
        "call", client='{"io.modelcontextprotocol/logLevel":1E2}',
        transport='{"progressToken":1.50,"traceparent":-0}',
        continuation={"canonical": '{"inputResponses":{"x":2.50}}', "request_state": None},
    )
    yield refuses(
        "an unknown member with a long name is pointed at by its object",
        ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","', repeat("x", 300), '":1}}'],
        "params", "/params", 68 + 300 + 5,
    )
