"""Envelopes: requests, notifications and replies, and what is none of them."""

from ..casebook import admits, refuses, repeat

_ID = [
    # an id, and what is admitted of it
    ("0", {"number": 0}), ("1", {"number": 1}), ("-1", {"number": -1}),
    ("9007199254740991", {"number": 9007199254740991}),
    ("-9007199254740991", {"number": -9007199254740991}),
    ('""', {"text": ""}), ('"1"', {"text": "1"}), ('"a b"', {"text": "a b"}),
    ('"\\u0061\\n"', {"text": "a\n"}), ('"\u00e9\U0001f600"', {"text": "\u00e9\U0001f600"}),
    ('"\\u0000"', {"text": "\0"}),
]

_BAD_ID = [
    "null", "true", "false", "[]", "{}", "-0", "1.0", "1e0", "0.5", "1E3", "9007199254740992",
    "-9007199254740992", "9223372036854775807", "99999999999999999999", "[1]", '{"id":1}',
]

_ADMITTED = [
    ("a request without params", '{"jsonrpc":"2.0","id":1,"method":"ping"}', "request",
     {"id": {"number": 1}, "method": "ping", "params": None}),
    ("a request with params", '{"jsonrpc":"2.0","id":"a","method":"x","params":{"b":1.50,"a":[-0]}}', "request",
     {"id": {"text": "a"}, "method": "x", "params": '{"a":[-0],"b":1.50}'}),
    ("a request with empty params", '{"jsonrpc":"2.0","id":1,"method":"x","params":{}}', "request", {"params": "{}"}),
    ("members in any order", '{"params":{},"method":"x","id":1,"jsonrpc":"2.0"}', "request", {"method": "x"}),
    ("white space around", ' \t\r\n{"jsonrpc":"2.0","id":1,"method":"x"}\n', "request", {"method": "x"}),
    ("escaped names and version", '{"json\\u0072pc":"2\\u002e0","\\u0069d":1,"method":"x"}', "request", {"method": "x"}),
    ("an empty method", '{"jsonrpc":"2.0","id":1,"method":""}', "request", {"method": ""}),
    ("a method is not normalized", '{"jsonrpc":"2.0","id":1,"method":"Tools/Call"}', "request", {"method": "Tools/Call"}),
    ("a method with a space is another", '{"jsonrpc":"2.0","id":1,"method":"tools/call "}', "request", {"method": "tools/call "}),
    ("tools/list", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"c"}}', "request", {"params": '{"cursor":"c"}'}),
    ("another method's params are not judged", '{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":7,"_meta":null,"_cmcp":[],"Name":1}}',
     "request", {"params": '{"Name":1,"_cmcp":[],"_meta":null,"name":7}'}),
    ("another method's numbers are kept", '{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":[1e400,-0.0,1E+2]}}',
     "request", {"params": '{"n":[1e400,-0.0,1E+2]}'}),
    ("a notification without params", '{"jsonrpc":"2.0","method":"notifications/initialized"}', "notification",
     {"method": "notifications/initialized", "params": None}),
    ("a notification with params", '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.5e0,"progress":0.50}}',
     "notification", {"params": '{"progress":0.50,"progressToken":1.5e0}'}),
    ("a reply with a result", '{"jsonrpc":"2.0","id":7,"result":{"b":1.0,"a":2}}', "reply", {"id": {"number": 7}, "ok": '{"a":2,"b":1.0}'}),
    ("a reply whose result is null", '{"jsonrpc":"2.0","id":7,"result":null}', "reply", {"ok": "null"}),
    ("a reply whose result is a number", '{"jsonrpc":"2.0","id":7,"result":-0.0}', "reply", {"ok": "-0.0"}),
    ("a reply whose result is an array", '{"jsonrpc":"2.0","id":"x","result":[]}', "reply", {"id": {"text": "x"}, "ok": "[]"}),
    ("a reply with an error", '{"jsonrpc":"2.0","id":7,"error":{"message":"m","code":-32600}}', "reply",
     {"err": '{"code":-32600,"message":"m"}'}),
    ("a reply with an empty error object", '{"jsonrpc":"2.0","id":7,"error":{}}', "reply", {"err": "{}"}),
]

_REFUSED = [
    ("a batch", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', ""),
    ("an empty batch", "[]", ""),
    ("null", "null", ""), ("true", "true", ""), ("a number", "1", ""), ("a string", '"ping"', ""),
    ("an empty object", "{}", ""),
    ("no version", '{"id":1,"method":"ping"}', ""),
    ("version 1.0", '{"jsonrpc":"1.0","id":1,"method":"ping"}', "/jsonrpc"),
    ("version 2", '{"jsonrpc":"2","id":1,"method":"ping"}', "/jsonrpc"),
    ("version 2.0 as a number", '{"jsonrpc":2.0,"id":1,"method":"ping"}', "/jsonrpc"),
    ("version null", '{"jsonrpc":null,"id":1,"method":"ping"}', "/jsonrpc"),
    ("version with a space", '{"jsonrpc":"2.0 ","id":1,"method":"ping"}', "/jsonrpc"),
    ("a case variant of jsonrpc", '{"JSONRPC":"2.0","id":1,"method":"ping"}', ""),
    ("a case variant of jsonrpc beside it", '{"jsonrpc":"2.0","JsonRpc":"2.0","id":1,"method":"ping"}', "/JsonRpc"),
    ("a case variant of id", '{"jsonrpc":"2.0","ID":1,"method":"ping"}', "/ID"),
    ("a case variant of method", '{"jsonrpc":"2.0","id":1,"Method":"ping"}', ""),
    ("a case variant of method beside it", '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', "/Method"),
    ("a case variant of params", '{"jsonrpc":"2.0","id":1,"method":"x","Params":{}}', "/Params"),
    ("an unknown member", '{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}', "/extra"),
    ("an unknown member before the rest", '{"_":{},"jsonrpc":"2.0","id":1,"method":"ping"}', "/_"),
    ("an unknown member whose name needs escapes", '{"jsonrpc":"2.0","id":1,"method":"ping","a/b~":1}', "/a~1b~0"),
    ("__proto__", '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}', "/__proto__"),
    ("the empty member", '{"jsonrpc":"2.0","id":1,"method":"ping","":0}', "/"),
    ("a member with a NUL", '{"jsonrpc":"2.0","id":1,"method\\u0000":"ping"}', ""),
    ("_meta beside params", '{"jsonrpc":"2.0","id":1,"method":"x","_meta":{}}', "/_meta"),
    ("method null", '{"jsonrpc":"2.0","id":1,"method":null}', "/method"),
    ("method a number", '{"jsonrpc":"2.0","id":1,"method":1}', "/method"),
    ("method an array", '{"jsonrpc":"2.0","id":1,"method":["ping"]}', "/method"),
    ("a notification whose method is an object", '{"jsonrpc":"2.0","method":{}}', "/method"),
    ("params null", '{"jsonrpc":"2.0","id":1,"method":"x","params":null}', "/params"),
    ("params by position", '{"jsonrpc":"2.0","id":1,"method":"x","params":[]}', "/params"),
    ("params a string", '{"jsonrpc":"2.0","id":1,"method":"x","params":"{}"}', "/params"),
    ("params of tools/call by position", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["t",{}]}', "/params"),
    ("a notification's params by position", '{"jsonrpc":"2.0","method":"x","params":[1]}', "/params"),
    ("tools/call without an id", '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}', ""),
    ("tools/call, escaped, without an id", '{"jsonrpc":"2.0","method":"\\u0074ools\\/call","params":{"name":"t"}}', ""),
    ("tools/call with id null", '{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}', "/id"),
    ("a request with a result", '{"jsonrpc":"2.0","id":1,"method":"x","result":{}}', "/result"),
    ("a request with an error", '{"jsonrpc":"2.0","id":1,"method":"x","error":{}}', "/error"),
    ("a reply without an id", '{"jsonrpc":"2.0","result":{}}', ""),
    ("a reply with id null", '{"jsonrpc":"2.0","id":null,"error":{}}', "/id"),
    ("a reply with neither", '{"jsonrpc":"2.0","id":1}', ""),
    ("a reply with both: the later", '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "/error"),
    ("a reply with both, the other way", '{"jsonrpc":"2.0","id":1,"error":{},"result":{}}', "/result"),
    ("a reply with both, the first no object", '{"jsonrpc":"2.0","id":1,"error":1,"result":{}}', "/error"),
    ("a reply with both and result null", '{"jsonrpc":"2.0","id":1,"result":null,"error":{}}', "/error"),
    ("a reply whose error is null", '{"jsonrpc":"2.0","id":1,"error":null}', "/error"),
    ("a reply whose error is a string", '{"jsonrpc":"2.0","id":1,"error":"e"}', "/error"),
    ("a reply whose error is an array", '{"jsonrpc":"2.0","id":1,"error":[]}', "/error"),
    ("a reply with params", '{"jsonrpc":"2.0","id":1,"result":{},"params":{}}', "/params"),
    ("a reply with an unknown member", '{"jsonrpc":"2.0","id":1,"result":{},"x":0}', "/x"),
    ("the first of several: by where its value begins", '{"x":0,"jsonrpc":"1","id":null,"method":7}', "/x"),
    ("the first of several: the id", '{"id":null,"method":7,"params":[],"jsonrpc":"1"}', "/id"),
    ("the first of several: what is missing is at the object's start", '{"x":0,"id":1,"method":"ping"}', ""),
    ("the first of several: a call without id before its bad version", '{"jsonrpc":"1","method":"tools/call"}', ""),
    ("before params: a bad version and no name", '{"jsonrpc":"2","id":1,"method":"tools/call","params":{}}', "/jsonrpc"),
    ("before params: the id comes after them", '{"jsonrpc":"2.0","method":"tools/call","params":{},"id":1.5}', "/id"),
    ("a call wrapped in a string", '"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"method\\":\\"ping\\"}"', ""),
]


def cases():
    for text, id_ in _ID:
        yield admits(f"id {text} of a request", '{"jsonrpc":"2.0","id":' + text + ',"method":"x"}', "request", id=id_)
        yield admits(f"id {text} of a reply", '{"jsonrpc":"2.0","id":' + text + ',"result":0}', "reply", id=id_)
    for text in _BAD_ID:
        yield refuses(f"id {text} of a request", '{"jsonrpc":"2.0","id":' + text + ',"method":"x"}', "envelope", "/id")
        yield refuses(
            f"id {text} of a call", '{"jsonrpc":"2.0","id":' + text + ',"method":"tools/call","params":{"name":"t"}}',
            "envelope", "/id",
        )
        yield refuses(f"id {text} of a reply", '{"jsonrpc":"2.0","id":' + text + ',"result":0}', "envelope", "/id")
    for name, unit, times, size in (
        ("256 letters", "a", 256, 256), ("128 letters of two bytes", "é", 128, 256),
        ("64 letters of four bytes", "\U0001f600", 64, 256),
        ("256 letters, escaped", "\\u0061", 256, 256), ("64 pairs, escaped", "\\ud83d\\ude00", 64, 256),
    ):
        head, tail = '{"jsonrpc":"2.0","id":"', '","method":"x"}'
        yield admits(f"an id of {name} is of {size} bytes", [head, repeat(unit, times), tail], "request")
        over = [head, repeat(unit, times), "a", tail]
        yield refuses(
            f"an id of {name} and one more", over, "envelope", "/id",
            len((head + unit * times + "a" + tail).encode()),
        )
    for name, message, kind, fields in _ADMITTED:
        yield admits(name, message, kind, **fields)
    for name, message, pointer in _REFUSED:
        yield refuses(name, message, "envelope", pointer)
