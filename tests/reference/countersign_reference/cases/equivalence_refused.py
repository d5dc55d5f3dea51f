"""Pairs of which one is refused, or both spellings stay apart."""

from ..casebook import numbered, params, repeat
from ..pairs import equal, pair, refused, spelled

# The first spelling of each value is the one every profile carries, if there is one.
_SPELLINGS = [
    ("1", "must", ["1.0", "1.0e0", "1.00", "1e0", "1E0", "1e+0", "1e-0", "10e-1", "0.1e1"]),
    ("0", "must", ["-0", "0e999999999", "0.0", "-0.0", "0e0", "0.000", "-0e0", "0e-5"]),
    ("100", "must", ["1e+2", "1e2", "1E2", "100.0", "10e1", "0.1e3"]),
    ("136", "must", ["136.0", "13.6e1"]),
    ("-1", "must", ["-1.0", "-1e0", "-10e-1"]),
    ("5000", "must", ["5000.0", "5e3", "5E3", "5.0e3", "50e2", "5000.00"]),
    ("9007199254740991", "must", ["9007199254740991.0", "9.007199254740991e15"]),
    ("9007199254740992", "may", ["9007199254740992.0", "9.007199254740992e15"]),
    ("9223372036854775807", "may", ["9223372036854775807.0", "9.223372036854775807e18"]),
    ("20000000000000000000", "may", ["2e19", "2E19", "20000000000000000000.0"]),
    ("1.5", "may", ["1.50", "15e-1", "0.15e1", "1.5e0", "1.5E0"]),
    ("0.5", "may", ["0.50", "5e-1", "5E-1"]),
    ("0.000000000000000000000000001", "may", ["1e-27"]),
    ("0.000001", "may", ["1e-6", "1E-6", "1e-06"]),
    ("1e400", "may", ["1e401", "1E400", "1e+400", "10e399"]),
    ("-1e-400", "may", ["-0.0", "-1e-401"]),
    ("1e21", "may", ["1000000000000000000000", "1e+21"]),
    ("1e5", "may", ["1e05", "1e005", "1e+05"]),
    ("3.0", "may", ["3.00", "3e0"]),
]

_JCS = (
    '{\n  "1": {"f": {"f": "hi","F": 5} ,"\\n": 56.0},\n  "10": { },\n  "": "empty",\n  "a": { },\n'
    '  "111": [ {"e": "yes","E": "no" } ],\n  "A": { }\n}',
    '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}',
)
_FRENCH = (
    '{\n  "peach": "This sorting order",\n  "p\u00e9ch\u00e9": "is wrong according to French",\n'
    '  "p\u00eache": "but canonicalization MUST",\n  "sin":   "ignore locale"\n}\n',
    '{"peach":"This sorting order","p\u00e9ch\u00e9":"is wrong according to French","p\u00eache":"but canonicalization MUST","sin":"ignore locale"}',
)

_WEIRD = (
    '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\u000a":"Newline","1":"One","\\u0080":"Control\\u007f","\\ud83d\\ude02":"Smiley",'
    '"\\u00f6":"Latin Small Letter O With Diaeresis","\\ufb33":"Hebrew Letter Dalet With Dagesh","</script>":"Browser Challenge"}',
    '{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":"Browser Challenge","\u0080":"Control\u007f",'
    '"\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign","\U0001f602":"Smiley","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
)
_VALUES = (
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"literals":[null,true,false]}',
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
)

_TWICE = [
    ('{"x":1,"x":2}', '{"x":2}', "the last wins in most readers, the first in some"),
    ('{"\U0001f600":1,"\\ud83d\\ude00":2}', '{"\U0001f600":2}', "one name, as a letter and as a pair of escapes"),
    ('{"x":1,"x":"1","x":null}', '{"x":null}', "three of three types"),
    ('{"qty":1,"qty":-1}', '{"qty":-1}', "one service checks the first, the next books the last"),
    ('{"x":1,"x":2}', '{"x":1}', "what a reader makes of it that keeps the first"),
    ('{"x":1,"x":1}', '{"x":1}', "equal values are two members all the same"),
    ('{"x":1,"\\u0078":2}', '{"x":2}', "one of them escaped"),
    ('{"x":{"a":1,"a":2}}', '{"x":{"a":2}}', "inside an object"),
    ('{"x":[{"a":1,"a":2}]}', '{"x":[{"a":2}]}', "inside an array"),
    ('{"a":1,"b":2,"c":3,"a":4}', '{"a":4,"b":2,"c":3}', "far apart"),
    ('{"":1,"":2}', '{"":2}', "empty names"),
    ('{"a\\/b":1,"a/b":2}', '{"a/b":2}', "an escaped solidus"),
    ('{"a\\u0000":1,"a\\u0000":2}', '{"a\\u0000":2}', "names with a NUL"),
    ('{"\u00e9":1,"\\u00E9":2}', '{"\u00e9":2}', "a letter outside ASCII and its escape"),
    ('{"__proto__":1,"__proto__":2}', '{"__proto__":2}', "names that some readers do not store"),
    ('{"x":{"y":1},"x":{"z":2}}', '{"x":{"y":1,"z":2}}', "what a merging reader makes of it"),
    ('{"x":1,"x":2}', '{"x":[1,2]}', "what a collecting reader makes of it"),
]
_TWICE_WHOLE = [
    (params('{"name":"t","name":"u"}'), params('{"name":"u"}'), "two names of a tool"),
    (params('{"name":"t","arguments":{"a":1},"arguments":{}}'), params('{"name":"t","arguments":{}}'), "two arguments"),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"t"}}', params('{"name":"t"}'), "two methods"),
    (params('{"name":"t","_cmcp":{"execution_id":"a","execution_id":"b"}}'), params('{"name":"t","_cmcp":{"execution_id":"b"}}'), "two execution_ids in one place"),
    ('{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"t"}}', params('{"name":"t"}'), "two ids"),
]

_SURROGATE = [
    ('{"x":"\\ud800"}', '{"x":"\ufffd"}', "a high one alone, and what lossy readers make of it"),
    ('{"x":"\\uDEAD"}', '{"x":"\ufffd"}', "RFC 8785's own example of a low one alone"),
    ('{"qty":1,"qty\\ud800":-1}', '{"qty":1}', "some readers cut the name there and have it twice"),
    ('{"x":"\\udc00\\ud800"}', '{"x":"\U00010000"}', "a pair the wrong way round"),
    ('{"x":"\\ud800\\ud800\\udc00"}', '{"x":"\ufffd\U00010000"}', "a high one before a pair"),
    ('{"x":"\\ud83d"}', '{"x":"?"}', "what some writers make of it"),
    ('{"x":"a\\udfffb"}', '{"x":"ab"}', "what readers make of it that skip"),
    ('{"x":"\\ud800\\u0041"}', '{"x":"\ufffdA"}', "a high one and a letter"),
    ('{"\\udc00":1}', '{"\ufffd":1}', "in a name"),
    ('{"x":"\\ud800\U0001f600"}', '{"x":"\ufffd\U0001f600"}', "a high one before a letter beyond the plane"),
]

_UTF8 = [
    (b'{"x":"\xff"}', "a byte that UTF-8 never has"), (b'{"x":"\xe2\x82"}', "a sequence cut by the quote"),
    (b'{"x":"\xc0\xaf"}', "an overlong solidus"), (b'{"x":"\xc1\x81"}', "an overlong letter"),
    (b'{"x":"\xe0\x80\x80"}', "an overlong NUL"), (b'{"x":"\xed\xa0\x80"}', "a surrogate in UTF-8"),
    (b'{"x":"\xf4\x90\x80\x80"}', "beyond the last letter"), (b'{"x":"\xf8\x88\x80\x80\x80"}', "a five-byte sequence"),
    (b'{"x":"\x80"}', "a continuation byte alone"), (b'{"x":"\xe9"}', "Latin-1"),
]
_UTF8_OTHER = [
    (b'{"x":1}\xff', '{"x":"\ufffd"}', "a bad byte after the value, where no letter belongs"),
    (b'{"x":1}\xff', '{"x":1}', "a bad byte after the value, which some readers never reach"),
    (b'{"x\xff":1}', '{"x\ufffd":1}', "a bad byte in a name"),
    (b'{"x":"\xed\xa0\xbd\xed\xb8\x80"}', '{"x":"\U0001f600"}', "a pair in CESU-8"),
    (b'{"a\xff":1,"a\xfe":2}', '{"a\ufffd":2}', "two names that a lossy reader makes one"),
    (b'\xff{"x":1}', '{"x":1}', "a bad byte before the value"),
    (b'{"x":"\xc0\x80"}', '{"x":"\\u0000"}', "Java's spelling of NUL"),
]

_GRAMMAR = [
    (b'{"x":NaN}', "Python's json accepts it"), (b'{"x":Infinity}', "so it does this"), (b'{"x":-Infinity}', "and this"),
    (b'{"x":+1}', "a leading plus"), (b'{"x":0x10}', "hexadecimal"), (b'{"x":1 2}', "two values"), (b'{"x":True}', "Python's literal"),
    (b'{"x":"\\x41"}', "an escape of C"), (b'{"x":"a\nb"}', "a raw line feed"), (b'{"x":1//c}', "a comment to the end of the line"),
    (b'{"x":1/*c*/}', "a comment between"), (b'{"x":1}{"x":2}', "two documents"), (b'{"x":1},', "a comma after the value"),
    (b'{"x":[1}', "brackets that do not match"), (b'{"x":1}\xe2\x80\xa8', "U+2028 is no white space"), (b'{"x":1}\xc2\xa0', "nor is a no-break space"),
    (b'{"x":1,}', "a comma after the last member"), (b'{"x":[1,]}', "a comma after the last item"), (b'{"x":[,1]}', "a comma before the first"),
    (b'{"x":01}', "a leading nought"), (b'{"x":-01}', "after a minus too"), (b'{"x":1.}', "a point without digits"), (b'{"x":.5}', "digits without a whole part"),
    (b'{"x":1e}', "an exponent without digits"), (b'{"x":1_000}', "digits in groups"), (b'{"x":1f}', "a suffix"), (b'{"x":0b1}', "binary"), (b"{x:1}", "a bare name"),
    (b"{'x':1}", "single quotes"), (b'{"x":\'1\'}', "single quotes around a value"), (b'{"x" 1}', "no colon"), (b'{"x"=1}', "an equals sign"), (b'{"x":1;"y":2}', "a semicolon"),
    (b'{"x":"\\u41"}', "too few digits"), (b'{"x":"\\u{41}"}', "braces"), (b'{"x":"\t"}', "a raw tab"), (b'{"x":"\x00"}', "a raw NUL"), (b'{"x":"\x7f}', "no closing quote"),
    (b'{"x":1}\x00', "a NUL after the value"), (b'\x0c{"x":1}', "a form feed"), (b'\xef\xbb\xbf{"x":1}', "a mark inside the message"), (b'{"x":nul}', "a short literal"),
    (b'{"x":nulll}', "a long literal"), (b'{"x":TRUE}', "a literal in capitals"), (b'{"x":undefined}', "JavaScript's own"), (b'{"x":1', "nothing closed"), (b'{"x":}', "no value"),
    (b'{"x"}', "no colon and no value"), (b"{,}", "a comma alone"), (b'{"x":1}}', "closed twice"), (b'{"x":#1}', "a sign before the number"), (b'{"x":"\\"}', "an escaped closing quote"),
]

_TOP = [
    ("[]", "an empty array is not an empty object, though lenient gateways put one for the other"),
    ("true", "nor is true"), ("false", "nor is false"), ("null", "nor is null: absent is absent"), ("0", "nor is nought"), ("1", "nor is one"),
    ('""', "nor is the empty string"), ('"{}"', "nor is the text of one"), ("[{}]", "nor is an array of one"), ("[[]]", "nor is this"), ("", "nor is nothing"),
]

_ENVELOPES = [
    ('[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}]', "a batch of one"),
    ('{"id":1,"method":"tools/call","params":{"name":"t"}}', "no version"),
    ('{"jsonrpc":2.0,"id":1,"method":"tools/call","params":{"name":"t"}}', "a version that is a number"),
    ('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}', "no id"),
    ('{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}', "id null"),
    ('{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"t"}}', "an id that is a fraction"),
    ('{"jsonrpc":"2.0","id":-0,"method":"tools/call","params":{"name":"t"}}', "an id of minus nought"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["t"]}', "params by position"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{"name":"t"}}', "a case variant of params"),
    ('{"jsonrpc":"2.0","ID":1,"id":1,"method":"tools/call","params":{"name":"t"}}', "a case variant beside the id"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"},"extra":0}', "an unknown member"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","Name":"u"}}', "a case variant beside the name"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":null}}', "arguments null are not absent"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":null}}', "_meta null is not absent"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_cmcp":{"execution_id":null}}}', "an execution_id null is not absent"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_cmcp":{"Execution_id":"e"}}}', "a case variant of execution_id"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_cmcp":{"data_class":"x"}}}', "a member of _cmcp without a meaning"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"countersign.dev/x":1}}}', "a reserved name without a meaning"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","requestState":null}}', "a state null is not absent"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","extra":1}}', "a member of params without a meaning"),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"},"result":{}}', "a call and an answer at once"),
]

_DEEP = "[" * 120 + "1" + "]" * 120


def cases():
    yield "number-spelling", [
        spelled(f'{{"x":{first}}}', f'{{"x":{other}}}', f"`{first}` and `{other}` are one value to JCS and most readers, and two texts to upstreams that keep digits", admit)
        for first, admit, others in _SPELLINGS for other in others
    ] + [
        spelled('{"x":[1,2]}', '{"x":[1,2.0]}', "inside an array"),
        spelled('{"x":{"y":1}}', '{"x":{"y":1e0}}', "inside an object"),
        spelled('{"x":1.10}', '{"x":1.1}', "a price with its last nought", "may"),
    ]
    yield "jcs-suite", [
        spelled(*_JCS, "the suite's structures, as sent and as JCS writes them: `56.0` has become `56`, so that suite is no list of equal actions here", "may"),
        equal('{"x":[\n  56,\n  {\n    "d": true,\n    "10": null,\n    "1": [ ]\n  }\n]}', '{"x":[56,{"1":[],"10":null,"d":true}]}', "the suite's arrays"),
        equal('{"Unnormalized Unicode":"A\\u030a"}', '{"Unnormalized Unicode":"A\u030a"}', "the suite's letter that is not normalized"),
        equal(*_WEIRD, "the suite's weird names"),
        spelled(*_VALUES, "the suite's values: four of five numbers are respelled by JCS", "may"),
        equal(*_FRENCH, "the suite's French names, as sent and as JCS writes them, with no number respelled"),
    ]
    yield "duplicate-key", [refused(*row) for row in _TWICE] + [refused(*row, whole=True) for row in _TWICE_WHOLE]
    yield "surrogate", [refused(*row) for row in _SURROGATE]
    yield "utf8", [refused(a, '{"x":"\ufffd"}', why) for a, why in _UTF8] + [refused(*row) for row in _UTF8_OTHER]
    yield "grammar", [refused(a, '{"x":1}', why) for a, why in _GRAMMAR]
    yield "top-level", [refused(a, "{}", why) for a, why in _TOP]
    yield "envelope-refused", [refused(a, params('{"name":"t"}'), why, whole=True) for a, why in _ENVELOPES] + [
        refused(b"\xef\xbb\xbf" + params('{"name":"t"}').encode(), params('{"name":"t"}'), "a mark before the message", whole=True),
        refused(params('{"name":"t"}').encode("utf-16-le"), params('{"name":"t"}'), "the message in UTF-16, little-endian", whole=True),
        refused(params('{"name":"t"}').encode("utf-16-be"), params('{"name":"t"}'), "the message in UTF-16, big-endian", whole=True),
        refused(params('{"name":"t"}').encode("utf-16"), params('{"name":"t"}'), "the message in UTF-16 with its mark", whole=True),
        refused(params('{"name":"t"}').encode("utf-32-le"), params('{"name":"t"}'), "the message in UTF-32", whole=True),
        refused(params('{"name":"t"}') + "\0", params('{"name":"t"}'), "a NUL after the message", whole=True),
    ]
    yield "resource", [
        pair("must-bind-equal", '{"x":' + _DEEP + "}", '{"x": ' + _DEEP + "}",
             "a hundred and twenty deep: more than some tools take, so both may be refused", "may", "may"),
        equal(['{"x":', repeat("[", 61), repeat("]", 61), "}"], ['{"x": ', repeat("[", 61), repeat("]", 61), "}"], "sixty-four deep: admitted, both"),
        equal(['{"x":"', repeat("\\u0061", 10_000), '"}'], ['{"x":"', repeat("a", 10_000), '"}'], "ten thousand escapes"),
        refused(['{"x":', repeat("[", 100_000), repeat("]", 100_000), "}"], '{"x":[]}', "a hundred thousand deep"),
        refused(['{"x":', repeat("9", 1_000_000), "}"], '{"x":9}', "a million digits"),
        refused(['{"x":[', repeat("0,", 262_144), "0]}"], '{"x":[0]}', "more values than there may be"),
        refused(["{", numbered('"k', '":0,', 200_000), '"k7":0}'], '{"k7":0}', "two hundred thousand members and one of them twice"),
    ]
