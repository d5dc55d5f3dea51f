"""The canonical form: RFC 8785's order, white space and escapes, numbers as written."""

from ..casebook import admits, call, numbered, repeat


def _action(arguments):
    return '{"arguments":' + arguments + ',"method":"tools/call","name":"t"}'


_FORM = [
    # name, arguments as sent, canonical arguments
    ("the empty object", "{}", "{}"),
    ("white space goes", ' { "a" :\t[ 1 ,\r\n2 ] , "b" : { } } ', '{"a":[1,2],"b":{}}'),
    ("white space in strings stays", '{"a b":" c  d "}', '{"a b":" c  d "}'),
    ("members are sorted", '{"b":1,"a":2,"c":3}', '{"a":2,"b":1,"c":3}'),
    ("members are sorted at every depth", '{"x":[{"b":{"d":1,"c":2},"a":0}]}', '{"x":[{"a":0,"b":{"c":2,"d":1}}]}'),
    ("items are not", '{"x":[3,1,2,"b","a"]}', '{"x":[3,1,2,"b","a"]}'),
    ("upper case comes first", '{"a":1,"B":2,"A":3,"b":4}', '{"A":3,"B":2,"a":1,"b":4}'),
    ("digits sort as text", '{"10":1,"9":2,"1":3}', '{"1":3,"10":1,"9":2}'),
    ("the empty name comes first", '{"a":1,"":2}', '{"":2,"a":1}'),
    ("a prefix comes first", '{"ab":1,"a":2,"abc":3}', '{"a":2,"ab":1,"abc":3}'),
    ("controls sort by value", '{" ":1,"\\n":2,"\\t":3,"\\u0000":4}', '{"\\u0000":4,"\\t":3,"\\n":2," ":1}'),
    ("a quote and a backslash sort by what they mean", '{"\\\\":1,"\\"":2,"[":3,"]":4}', '{"\\"":2,"[":3,"\\\\":1,"]":4}'),
    ("U+007F after z, before U+0080", '{"\\u0080":1,"\\u007f":2,"z":3}', '{"z":3,"\x7f":2,"\x80":1}'),
    ("UTF-16 order: an emoji before U+E000", '{"\ue000":1,"\U0001f600":2}', '{"\U0001f600":2,"\ue000":1}'),
    ("UTF-16 order: an emoji before U+FFFD", '{"\ufffd":1,"\U0001f600":2}', '{"\U0001f600":2,"\ufffd":1}'),
    ("UTF-16 order: an emoji after U+D7FF", '{"\U0001f600":1,"\ud7ff":2}', '{"\ud7ff":2,"\U0001f600":1}'),
    ("UTF-16 order: U+10FFFF before U+E000", '{"\ue000":1,"\U0010ffff":2}', '{"\U0010ffff":2,"\ue000":1}'),
    ("UTF-16 order: U+10000 before U+10FFFF", '{"\U0010ffff":1,"\U00010000":2}', '{"\U00010000":2,"\U0010ffff":1}'),
    ("UTF-16 order: by the low surrogate too", '{"\U0001f601":1,"\U0001f600":2}', '{"\U0001f600":2,"\U0001f601":1}'),
    ("UTF-16 order: after a common start", '{"a\uffff":1,"a\U0001f600":2,"a":3}', '{"a":3,"a\U0001f600":2,"a\uffff":1}'),
    ("UTF-16 order: a start that goes on beyond the plane", '{"\U0001f600\ue000":1,"\U0001f600\U0001f600":2,"\U0001f600":3}', '{"\U0001f600":3,"\U0001f600\U0001f600":2,"\U0001f600\ue000":1}'),
    ("RFC 8785's sorting sample",
     '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}',
     '{"\\r":"Carriage Return","1":"One","\x80":"Control","\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign","\U0001f600":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'),
    ("names sort by their meaning, not their escapes", '{"\\u0062":1,"a":2,"\\u0061a":3}', '{"a":2,"aa":3,"b":1}'),
    ("the two-character escapes", '{"x":"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0022\\u005c"}', '{"x":"\\b\\t\\n\\f\\r\\"\\\\"}'),
    ("other controls are \\u00xx", '{"x":"\\u0000\\u0001\\u0007\\u000b\\u000e\\u001b\\u001f"}', '{"x":"\\u0000\\u0001\\u0007\\u000b\\u000e\\u001b\\u001f"}'),
    ("their digits are lower case", '{"x":"\\u000B\\u000E\\u001A\\u001F"}', '{"x":"\\u000b\\u000e\\u001a\\u001f"}'),
    ("every control", '{"x":"' + "".join(f"\\u{n:04X}" for n in range(32)) + '"}',
     '{"x":"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f"}'),
    ("U+007F is not escaped", '{"x":"\\u007f"}', '{"x":"\x7f"}'),
    ("a solidus is not escaped", '{"x":"a\\/b","y":"\\u002f"}', '{"x":"a/b","y":"/"}'),
    ("U+2028 and U+2029 are not escaped", '{"x":"\\u2028\\u2029"}', '{"x":"\u2028\u2029"}'),
    ("angle brackets and ampersands are not escaped", '{"x":"\\u003cb\\u003e\\u0026"}', '{"x":"<b>&"}'),
    ("letters are not escaped", '{"x":"\\u0041\\u00e9\\u20AC"}', '{"x":"A\u00e9\u20ac"}'),
    ("a pair becomes one letter of four bytes", '{"x":"\\uD83D\\uDE00"}', '{"x":"\U0001f600"}'),
    ("the first and the last pair", '{"x":"\\ud800\\udc00\\udbff\\udfff"}', '{"x":"\U00010000\U0010ffff"}'),
    ("noncharacters are letters like others", '{"x":"\\uffff\\ufffe\\ufdd0"}', '{"x":"\uffff\ufffe\ufdd0"}'),
    ("a genuine U+FFFD", '{"x":"\\ufffd"}', '{"x":"\ufffd"}'),
    ("U+FEFF in a string stays", '{"x":"\\ufeffa"}', '{"x":"\ufeffa"}'),
    ("no normalization", '{"x":"e\\u0301","y":"\\u00e9","z":"\\ufb01"}', '{"x":"e\u0301","y":"\u00e9","z":"\ufb01"}'),
    ("escaped names are written plainly", '{"\\u0061\\/\\u00e9":1}', '{"a/\u00e9":1}'),
    ("a name's controls are escaped", '{"\\u0000\\n":1}', '{"\\u0000\\n":1}'),
    ("literals", '{"x":[null,true,false]}', '{"x":[null,true,false]}'),
    ("empty containers", '{"x":[[],{},[[]],[{}]],"y":""}', '{"x":[[],{},[[]],[{}]],"y":""}'),
    ("RFC 8785's string sample", '{"x":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"}', '{"x":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'),
    ("names that other tools treat as special", '{"__proto__":1,"constructor":2,"$ref":"x","__entity":{"type":"U","id":"a"},"$serde_json::private::Number":"1"}',
     '{"$ref":"x","$serde_json::private::Number":"1","__entity":{"id":"a","type":"U"},"__proto__":1,"constructor":2}'),
    ("integers", '{"x":[0,-1,10,9007199254740991,-9007199254740991]}', '{"x":[0,-1,10,9007199254740991,-9007199254740991]}'),
]

_AS_WRITTEN = [
    # a number that `exact` keeps and `jcs-integer` refuses
    "-0", "0.0", "-0.0", "1.0", "1.00", "1e0", "1E0", "1e+0", "1e-0", "10e-1", "0e0", "0e999999999",
    "1E400", "-1e400", "1e-400", "0.1", "0.10", "0.30000000000000004", "333333333.33333329",
    "4.50", "2e-3", "1E30", "1e21", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308",
    "9007199254740992", "-9007199254740992", "9007199254740993", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616",
    "100000000000000000000000000000000000000", "0.000000000000000000000000001", "117.63331139400017",
]


def cases():
    for name, sent, canonical in _FORM:
        yield admits(f"form: {name}", call(sent), "call", action=_action(canonical))
    for lexeme in _AS_WRITTEN:
        arguments = '{"x":' + lexeme + "}"
        yield admits(
            f"numbers: {lexeme} as written", call(arguments), "call",
            number="/params/arguments/x", action=_action(arguments),
        )
    yield admits("numbers: a long one", [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":0.',
        repeat("1", 1_022), "}}}",
    ], "call", number="/params/arguments/x")
    yield admits("form: a long string", [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":"',
        repeat("\\u00e9\\n", 50_000), '"}}}',
    ], "call")
    yield admits("form: members in the order of counting", [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{',
        numbered('"k', '":1,', 2_000), '"":2}}}',
    ], "call")
    yield admits(
        "numbers: the first in the message is told, not the first in canonical order",
        call('{"b":[1,{"c":2.5}],"a":1.5}'), "call", number="/params/arguments/b/1/c",
        action=_action('{"a":1.5,"b":[1,{"c":2.5}]}'),
    )
