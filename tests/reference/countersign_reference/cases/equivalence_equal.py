"""Pairs that say the same thing, and must bind equal."""

from ..casebook import params, repeat
from ..pairs import equal

_KEY_ORDER = [
    ('{"a":1,"b":2}', '{"b":2,"a":1}', "an object has no order; sound because the upstream gets canonical bytes, whose order is fixed"),
    ('{"\ue000":1,"\U0001f600":2}', '{"\U0001f600":2,"\ue000":1}', "UTF-16 and code-point order disagree about these two names; the input's order must not matter under either"),
    ('{"a":{"c":1,"b":2}}', '{"a":{"b":2,"c":1}}', "order inside an inner object"),
    ('{"x":[{"b":1,"a":2}]}', '{"x":[{"a":2,"b":1}]}', "order inside an object in an array"),
    ('{"c":3,"a":1,"b":2}', '{"b":2,"c":3,"a":1}', "a rotation of three"),
    ('{"10":1,"9":2}', '{"9":2,"10":1}', "JavaScript engines move names that are integers to the front"),
    ('{"":1,"a":2}', '{"a":2,"":1}', "the empty name has a place too"),
    ('{"A":1,"a":2}', '{"a":2,"A":1}', "names that differ in case alone"),
    ('{"\u00e9":1,"e\u0301":2}', '{"e\u0301":2,"\u00e9":1}', "names that normalization would merge"),
    ('{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}', "a name that JavaScript objects hide"),
    ('{"a":1,"a\\u0000":2}', '{"a\\u0000":2,"a":1}', "a name and the same with a NUL"),
    ('{"\uffff":1,"\U00010000":2}', '{"\U00010000":2,"\uffff":1}', "the last letter of the plane and the first beyond it"),
]
_ORDER_WHOLE = [
    (params('{"name":"t","arguments":{"a":1}}'), '{"params":{"arguments":{"a":1},"name":"t"},"method":"tools/call","id":1,"jsonrpc":"2.0"}', "the envelope's order"),
    (params('{"name":"t","task":{"ttl":1},"arguments":{}}'), params('{"arguments":{},"task":{"ttl":1},"name":"t"}'), "the order of params"),
    (params('{"name":"t","_meta":{"a":1,"b":2}}'), params('{"_meta":{"b":2,"a":1},"name":"t"}'), "the order of _meta"),
]

_SPACE = [
    ('{"a":1,"b":[1,2]}', '{ "a" : 1 , "b" : [ 1 , 2 ] }', "white space between tokens is no part of any value"),
    ('{"x":9007199254740991}', '{"x" : 9007199254740991 }', "white space beside the largest integer that a double holds with all its neighbours"),
    ('{"a":1}', '\t{\r\n"a"\t:\r1\n}\r\n', "all four characters of white space"),
    ('{"x":[]}', '{"x":[ ]}', "inside an empty array"),
    ('{"x":{}}', '{"x":{\n}}', "inside an empty object"),
    ('{"x":-1}', '{"x": -1 }', "around a negative number"),
    ('{"x":null,"y":true}', '{"x":null\n,\n"y":true\n}', "after literals"),
    ('{"x":[[1],[2]]}', '{"x":[\n  [\n    1\n  ],\n  [\n    2\n  ]\n]}', "a pretty-printed array"),
    ('{"x":" "}', '{"x" :" "}', "outside a string, not inside"),
]
_SPACE_WHOLE = [
    (params('{"name":"t"}'), " \n" + params('{"name":"t"}') + "\r\n\t ", "around the whole message"),
    (params('{"name":"t"}'), '{ "jsonrpc" : "2.0" , "id" : 1 , "method" : "tools/call" , "params" : { "name" : "t" } }', "inside the envelope"),
]

_ESCAPES = [
    ('{"x":"\\u0041"}', '{"x":"A"}', "a letter and its escape"),
    ('{"x":"\\u00E9"}', '{"x":"\\u00e9"}', "hex digits in either case"),
    ('{"x":"\\n"}', '{"x":"\\u000A"}', "a line feed, short and long"),
    ('{"x":"\\u001f"}', '{"x":"\\u001F"}', "a control character that has no short form"),
    ('{"x":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"}', '{"x":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}', "the string sample of RFC 8785"),
    ('{"x":"\\ufffd"}', '{"x":"\ufffd"}', "a U+FFFD that the caller wrote is a letter, and no mark of a decoding error"),
    ('{"x":"\\t\\b\\f\\r"}', '{"x":"\\u0009\\u0008\\u000c\\u000d"}', "the other short forms"),
    ('{"x":"\\/"}', '{"x":"/"}', "a solidus that some writers escape"),
    ('{"x":"\\u002F"}', '{"x":"\\/"}', "a solidus, in both escapes"),
    ('{"x":"\\u005c"}', '{"x":"\\\\"}', "a backslash"),
    ('{"x":"\\u0022"}', '{"x":"\\""}', "a quotation mark"),
    ('{"x":"\\u007f"}', '{"x":"\x7f"}', "U+007F need not be escaped and may be"),
    ('{"x":"\\u2028\\u2029"}', '{"x":"\u2028\u2029"}', "line separators that old JavaScript could not hold in a string"),
    ('{"x":"\\ud83d\\ude00"}', '{"x":"\U0001f600"}', "a pair of surrogates and the letter"),
    ('{"x":"\\uD83D\\uDE00"}', '{"x":"\\ud83d\\ude00"}', "a pair in either case"),
    ('{"x":"\\ud800\\udc00"}', '{"x":"\U00010000"}', "the first letter beyond the plane"),
    ('{"x":"\\udbff\\udfff"}', '{"x":"\U0010ffff"}', "the last letter there is"),
    ('{"x":"\\u003c\\u003e\\u0026"}', '{"x":"<>&"}', "what HTML-safe writers escape"),
    ('{"x":"\\u00e9t\\u00e9"}', '{"x":"\u00e9t\u00e9"}', "what ASCII-only writers escape"),
    ('{"x":"\\ufeff"}', '{"x":"\ufeff"}', "U+FEFF inside a string is a letter"),
    ('{"x":"\\ue000"}', '{"x":"\ue000"}', "a letter for private use"),
    ('{"\\u0061":1}', '{"a":1}', "an escaped name"),
    ('{"\\u0061\\/b":{"\\u0063":1}}', '{"a/b":{"c":1}}', "escaped names at two depths"),
    ('{"\\ud83d\\ude00":1}', '{"\U0001f600":1}', "a pair in a name"),
    ('{"\\n":1}', '{"\\u000a":1}', "a control character in a name"),
    ('{"\\u0000":1}', '{"\\u0000" :1}', "a NUL is a letter of a name"),
    ('{"\\u0062":1,"a":2}', '{"a":2,"b":1}', "an escaped name takes the place of what it means"),
]
_NONCHARACTERS = [
    ('{"x":"\\uffff"}', '{"x":"\uffff"}', "U+FFFF is a noncharacter: a profile may refuse it, but only in both spellings"),
    ('{"x":"\\ufffe"}', '{"x":"\ufffe"}', "U+FFFE, the reversed mark"),
    ('{"x":"\\ufdd0"}', '{"x":"\ufdd0"}', "a noncharacter in the middle of the plane"),
    ('{"x":"\\ud83f\\udfff"}', '{"x":"\U0001ffff"}', "a noncharacter of another plane"),
]
_ESCAPES_WHOLE = [
    (params('{"name":"t"}'), '{"json\\u0072pc":"2\\u002e0","id":1,"m\\u0065thod":"tools\\/call","params":{"n\\u0061me":"\\u0074"}}', "escapes in the envelope"),
    (params('{"name":"t","_meta":{"k":1}}'), params('{"name":"t","\\u005fmeta":{"\\u006b":1}}'), "escapes in _meta"),
    (params('{"name":"t","_meta":{"progressToken":1}}'), params('{"name":"t","_meta":{"progress\\u0054oken":2}}'), "an escaped name is recognized as what is taken out"),
]

_SPLIT = [
    ('{"name":"t"}', '{"name":"t","_meta":{}}', "an empty _meta carries nothing for policy or upstream"),
    ('{"name":"t"}', '{"name":"t","_cmcp":{}}', "an empty _cmcp likewise"),
    ('{"name":"t"}', '{"name":"t","_cmcp":{"execution_id":"e-1"}}', "correlation has a place of its own"),
    ('{"name":"t","_cmcp":{"execution_id":"e-1"}}', '{"name":"t","_cmcp":{"execution_id":"e-2"}}', "another execution of the same action"),
    ('{"name":"t","_cmcp":{"execution_id":"e"}}', '{"name":"t","_meta":{"countersign.dev/execution_id":"e"}}', "either place for an execution_id"),
    ('{"name":"t","_cmcp":{"workflow_id":"w"}}', '{"name":"t","_meta":{"countersign.dev/workflow_id":"v"}}', "either place for a workflow_id, whatever it says"),
    ('{"name":"t"}', '{"name":"t","_meta":{"progressToken":1}}', "a progress token is the transport's"),
    ('{"name":"t","_meta":{"progressToken":1}}', '{"name":"t","_meta":{"progressToken":"x"}}', "a retry brings another progress token"),
    ('{"name":"t","_meta":{"progressToken":1}}', '{"name":"t","_meta":{"progressToken":1.0}}', "the token's spelling is the transport's"),
    ('{"name":"t","_meta":{"traceparent":"a"}}', '{"name":"t","_meta":{"traceparent":"b"}}', "a retry has another span"),
    ('{"name":"t"}', '{"name":"t","_meta":{"tracestate":"a","baggage":"b"}}', "what is dropped is dropped"),
    ('{"name":"t"}', '{"name":"t","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c"}}}', "client context is digested apart"),
    ('{"name":"t","_meta":{"io.modelcontextprotocol/logLevel":"info"}}', '{"name":"t","_meta":{"io.modelcontextprotocol/logLevel":"debug"}}', "another log level of the same action"),
    ('{"name":"t"}', '{"name":"t","requestState":"s"}', "a continuation is digested apart"),
    ('{"name":"t","inputResponses":{"a":1}}', '{"name":"t","inputResponses":{"a":1.0}}', "so is what it says"),
    ('{"name":"t","_meta":{"k":1}}', '{"name":"t","_meta":{"k":1,"progressToken":2,"tracestate":"x"}}', "what is left of _meta is the same"),
]

_ENVELOPE = [
    ('"id":1', '"id":2', "a retry has another id"),
    ('"id":1', '"id":"1"', "so have two clients"),
    ('"id":0', '"id":-7', "whatever integer it is"),
    ('"id":"a"', '"id":"\\u0061"', "an id's spelling"),
    ('"id":""', '"id":"\U0001f600"', "whatever text it is"),
    ('"id":9007199254740991', '"id":-9007199254740991', "up to the largest"),
    ('"id":1', '"id":"' + "x" * 256 + '"', "and the longest"),
    ('"id":"1"', '"id":"01"', "an id's text is not read"),
    ('"id":"\u00e9"', '"id":"e\u0301"', "nor normalized"),
    ('"id":"null"', '"id":"\\u0000"', "whatever it looks like"),
]


def cases():
    yield "key-order", [equal(*row) for row in _KEY_ORDER] + [equal(*row, whole=True) for row in _ORDER_WHOLE]
    yield "whitespace", [equal(*row) for row in _SPACE] + [equal(*row, whole=True) for row in _SPACE_WHOLE] + [
        equal(['{"x":1', repeat(" ", 100_000), "}"], '{"x":1}', "a hundred thousand spaces"),
    ]
    yield "escape-spelling", (
        [equal(*row) for row in _ESCAPES]
        + [equal(*row, admit="may") for row in _NONCHARACTERS]
        + [equal(*row, whole=True) for row in _ESCAPES_WHOLE]
    )
    yield "meta-split", [equal(params(a), params(b), why, whole=True) for a, b, why in _SPLIT]
    yield "envelope", [
        equal(f'{{"jsonrpc":"2.0",{a},"method":"tools/call","params":{{"name":"t"}}}}',
              f'{{"jsonrpc":"2.0",{b},"method":"tools/call","params":{{"name":"t"}}}}', why, whole=True)
        for a, b, why in _ENVELOPE
    ]
