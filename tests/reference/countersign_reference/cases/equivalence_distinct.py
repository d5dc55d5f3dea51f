"""Pairs that say different things, which some reader takes for one."""

from ..casebook import params, repeat
from ..pairs import distinct

_TYPE = [
    ('{"x":1}', '{"x":"1"}', "a number and its text"),
    ('{"x":null}', '{"x":0}', "null and nought"),
    ('{"x":true}', '{"x":"true"}', "a header renders both as `true`"),
    ('{"x":{"a":{}}}', '{"x":{"a":[]}}', "an empty object and an empty array, inside"),
    ('{"x":-1}', '{"x":1}', "the sign"),
    ('{"x":[1,null,2]}', '{"x":[1,2]}', "converters to policy values drop nulls from lists"),
    ('{"a":1,"b":2}', '{"a":2,"b":1}', "values exchanged"),
    ('{"x":false}', '{"x":null}', "false and null"),
    ('{"x":false}', '{"x":0}', "false and nought, one thing in C and in Python's dict keys"),
    ('{"x":true}', '{"x":1}', "true and one, equal in Python"),
    ('{"x":""}', '{"x":null}', "Oracle takes the empty string for null"),
    ('{"x":""}', '{"x":[]}', "PHP's casts make one of the other"),
    ('{"x":"null"}', '{"x":null}', "the text of a literal"),
    ('{"x":"false"}', '{"x":false}', "the text `false` is true in most languages"),
    ('{"x":[1]}', '{"x":1}', "an array of one and its item, which XML bridges confuse"),
    ('{"x":[[1]]}', '{"x":[1]}', "one bracket more"),
    ('{"x":["1"]}', '{"x":[1]}', "a number and its text, in an array"),
    ('{"x":{"0":"a","1":"b"}}', '{"x":["a","b"]}', "an array as PHP and form encoders write it"),
    ('{"x":{"a":1}}', '{"x":"{\\"a\\":1}"}', "an object and its JSON text, which some clients send for each other"),
    ('{"x":[]}', '{"x":[null]}', "an empty array and one null"),
    ('{"x":[]}', '{"x":[[]]}', "an empty array and one empty array"),
    ('{"x":"[]"}', '{"x":[]}', "the text of an empty array"),
]
_TYPE_MAY = [
    ('{"x":1e400}', '{"x":"inf"}', "Python reads the number as infinity and prints it as `inf`"),
    ('{"x":1e400}', '{"x":"Infinity"}', "JavaScript prints it so"),
    ('{"x":1e400}', '{"x":null}', "JavaScript writes infinity as null"),
    ('{"x":1.0}', '{"x":"1.0"}', "a fraction and its text"),
    ('{"x":1.5}', '{"x":{"__extn":{"arg":"1.5","fn":"decimal"}}}', "a fraction and a forged policy decimal"),
]

_ABSENCE = [
    ('{"x":null}', "{}", "null is not absence"),
    ('{"a":1,"x":null}', '{"a":1}', "null is not absence beside another member"),
    ('{"a":{"x":null}}', '{"a":{}}', "nor inside"),
    ('{"x":""}', "{}", "nor is the empty string"),
    ('{"x":{}}', "{}", "nor is an empty object"),
    ('{"x":[]}', "{}", "nor is an empty array"),
    ('{"x":false}', "{}", "nor is false, which protobuf's JSON leaves out"),
    ('{"x":0}', "{}", "nor is nought"),
    ('{"x":[null]}', '{"x":[]}', "nor in an array"),
    ('{"x":[null,1]}', '{"x":[1,null]}', "a null has a place in an array"),
]
_ABSENCE_WHOLE = [
    ('{"name":"t"}', '{"name":"t","arguments":{}}', "absent arguments are not empty arguments"),
    ('{"name":"t"}', '{"name":"t","task":{}}', "an absent task is not an empty task"),
    ('{"name":"t","task":{}}', '{"name":"t","arguments":{}}', "a task is not arguments"),
    ('{"name":"t","_meta":{"k":null}}', '{"name":"t","_meta":{}}', "null is not absence in _meta"),
]

_SETS = [
    ('{"x":[1,2]}', '{"x":[2,1]}', "an array has an order, which sets forget"),
    ('{"x":[1,1]}', '{"x":[1]}', "an array has repetitions, which sets forget"),
    ('{"x":["a","b","a"]}', '{"x":["a","a","b"]}', "bags forget order alone"),
    ('{"x":[[1],[2]]}', '{"x":[[2],[1]]}', "order of inner arrays"),
    ('{"x":[[1,2]]}', '{"x":[[1],[2]]}', "how items are grouped"),
    ('{"x":[{"a":1},{"b":2}]}', '{"x":[{"b":2},{"a":1}]}', "order of objects in an array"),
    ('{"x":[{"a":1},{"a":1}]}', '{"x":[{"a":1}]}', "an object twice"),
    ('{"argv":["rm","-r","a"]}', '{"argv":["rm","a","-r"]}', "a command line is an order"),
    ('{"x":[true,false]}', '{"x":[false,true]}', "order of booleans"),
    ('{"x":[[],[]]}', '{"x":[[]]}', "an empty array twice"),
]

_UNICODE = [
    ('{"x":"\u00e9"}', '{"x":"e\u0301"}', "composed and decomposed: two file names, two keys"),
    ('{"x":"a\u202eb"}', '{"x":"ab"}', "an override of direction that no eye sees"),
    ('{"x":"a "}', '{"x":"a"}', "a space at the end"),
    ('{"x":"\\\\u0041"}', '{"x":"\\u0041"}', "six characters and one"),
    ('{"x":"\u0130"}', '{"x":"i"}', "a dotted capital I, which some locales fold"),
    ('{"name":1}', '{"name\\u0000":1}', "a Go library matched a name with a NUL to the bare name"),
    ('{"x":"a"}', '{"x":"A"}', "case"),
    ('{"a":1}', '{"A":1}', "case of a name, which Go's encoding/json folds"),
    ('{"x":"K"}', '{"x":"\u212a"}', "the Kelvin sign folds to k"),
    ('{"s":1}', '{"\u017f":1}', "a long s as a name, which Go's folding takes for s"),
    ('{"x":"\u00df"}', '{"x":"ss"}', "sharp s folds to two letters"),
    ('{"x":"\ufb01"}', '{"x":"fi"}', "a ligature that NFKC undoes"),
    ('{"x":"\uff11"}', '{"x":"1"}', "a full-width digit that NFKC undoes"),
    ('{"x":"\u0661"}', '{"x":"1"}', "an Arabic digit that `int` reads"),
    ('{"x":"\u212b"}', '{"x":"\u00c5"}', "the Angstrom sign, which even NFC rewrites"),
    ('{"x":"\uac00"}', '{"x":"\u1100\u1161"}', "a Hangul syllable and its parts"),
    ('{"x":"a\u0323\u0307"}', '{"x":"a\u0307\u0323"}', "two marks in two orders"),
    ('{"x":"\u0430"}', '{"x":"a"}', "a Cyrillic look-alike"),
    ('{"x":"a\u200bb"}', '{"x":"ab"}', "a zero-width space"),
    ('{"x":"a\u00adb"}', '{"x":"ab"}', "a soft hyphen"),
    ('{"x":"\ufeffa"}', '{"x":"a"}', "a mark inside a string"),
    ('{"x":"\u00a0"}', '{"x":" "}', "a no-break space"),
    ('{"x":" a"}', '{"x":"a"}', "a space at the start"),
    ('{"x":"a\\n"}', '{"x":"a"}', "a line feed at the end"),
    ('{"x":"a\\r\\n"}', '{"x":"a\\n"}', "line ends of two systems"),
    ('{"x":"a\\u0000"}', '{"x":"a"}', "a NUL at the end, where C strings end"),
    ('{"x":"a\\u0000b"}', '{"x":"a\\u0000c"}', "what follows a NUL"),
    ('{"x":"\\u0000"}', '{"x":""}', "a NUL alone"),
    ('{"x":"\ufffd"}', '{"x":"?"}', "two signs of replacement"),
    ('{"x":"\U0001f600"}', '{"x":"\\\\ud83d\\\\ude00"}', "a letter and the text of its escapes"),
    ('{"x":"\u2764"}', '{"x":"\u2764\ufe0f"}', "a variation selector"),
    ('{"\u00e9":1}', '{"e\u0301":1}', "composed and decomposed names"),
    ('{"a ":1}', '{"a":1}', "a name with a space"),
    ('{"":1}', '{" ":1}', "the empty name"),
    ('{"x":"/"}', '{"x":"\u2215"}', "a division slash in a path"),
    ('{"x":"a/../b"}', '{"x":"b"}', "paths are not resolved"),
    ('{"x":"%41"}', '{"x":"A"}', "percent signs are not decoded"),
    ('{"x":"&amp;"}', '{"x":"&"}', "entities are not decoded"),
    ('{"x":"a+b"}', '{"x":"a b"}', "a plus is not a space"),
]

_INTEGERS = [
    ("9007199254740993", "9007199254740992", "2^53+1 and 2^53: one double, two integers to policy", "may", "may"),
    ("18446744073709551615", "18446744073709551616", "the largest u64 and the next", "may", "may"),
    ("9007199254740991", "9007199254740992", "2^53-1 and 2^53", "must", "may"),
    ("9223372036854775807", "9223372036854775808", "the largest i64 and the next", "may", "may"),
    ("-9223372036854775808", "-9223372036854775809", "the least i64 and the next below", "may", "may"),
    ("9223372036854775807", "-9223372036854775808", "what wrapping makes of the next", "may", "may"),
    ("-9007199254740993", "-9007199254740992", "the same below nought", "may", "may"),
    ("9223372036854775807", "9223372036854775806", "one double again, at the end of i64", "may", "may"),
    ("4294967296", "0", "2^32 and what 32 bits keep of it", "must", "must"),
    ("2147483648", "-2147483648", "2^31 in 32 bits", "must", "must"),
    ("18446744073709551616", "0", "2^64 and what 64 bits keep of it", "may", "must"),
    ("18446744073709551615", "-1", "the largest u64 as an i64", "may", "must"),
    ("4294967295", "-1", "the largest u32 as an i32", "must", "must"),
    ("100000000000000000000000", "100000000000000000000001", "beyond any machine integer", "may", "may"),
    ("340282366920938463463374607431768211455", "340282366920938463463374607431768211456", "at the end of u128", "may", "may"),
    ("1" + "0" * 308, "1" + "0" * 309, "the greatest power of ten in a double, and infinity", "may", "may"),
    ("1" + "0" * 400, "1" + "0" * 401, "two infinities", "may", "may"),
    ("10000000000000000", "10000000000000001", "a digit that a double loses", "may", "may"),
    ("123456789012345678", "123456789012345680", "what JavaScript prints for the first", "may", "may"),
]

_FLOATS = [
    ("0.1", "0.2", "two fractions"), ("117.63331139400017", "117.63331139400016", "a fast float reader takes the first for the second"),
    ("1e400", "-1e400", "the sign of an overflow"), ("1e-400", "-1e-400", "the sign of an underflow"),
    ("0.1", "0.10000000000000001", "one double"), ("0.3", "0.30000000000000004", "two doubles that look alike"),
    ("0.1", "0.1000000000000000055511151231257827021181583404541015625", "the double's own digits"),
    ("1.7976931348623157e308", "1.7976931348623159e308", "the greatest double and infinity"),
    ("5e-324", "2e-324", "the least double and nought"), ("5e-324", "3e-324", "one double"),
    ("2.2250738585072011e-308", "2.2250738585072012e-308", "the number that once hung PHP and Java"),
    ("9007199254740992.5", "9007199254740992.0", "a fraction that a double loses"), ("16777217.0", "16777216.0", "one in single precision"),
    ("1.0000000000000001", "1.0", "one double"), ("0.5", "-0.5", "the sign"), ("1.5", "15", "the point"), ("1e5", "1e-5", "the exponent's sign"),
    ("1e1", "1e10", "a digit of the exponent"), ("3.14", "3.1400000000000001", "one double"), ("1e23", "9.999999999999999e22", "neighbouring spellings of 10^23"),
]

_KEYS = [
    ('{"__proto__":{"role":"admin"},"id":1}', '{"id":1}', "JavaScript copies lose an own `__proto__`", "must", "must"),
    ('{"x":{"$serde_json::private::RawValue":"{}"}}', '{"x":{}}', "a private name of serde_json unwraps to the text it holds", "may", "must"),
    ('{"__entity":{"type":"User","id":"admin"}}', '{"__entity":{"type":"User","id":"guest"}}', "a JSON context turns these into entities", "may", "may"),
    ('{"x":{"$serde_json::private::Number":"1"}}', '{"x":1}', "another private name of serde_json reads as a number", "may", "must"),
    ('{"$serde_json::private::Number":"1"}', '{"$serde_json::private::Number":"2"}', "at the top too", "may", "may"),
    ('{"x":{"$serde_json::private::Number":"1e400"}}', '{"x":{"$serde_json::private::Number":"1e401"}}', "whatever number it holds", "may", "may"),
    ('{"x":{"__extn":{"fn":"decimal","arg":"5000.0"}}}', '{"x":{"__extn":{"fn":"decimal","arg":"1.0"}}}', "a forged decimal", "must", "must"),
    ('{"x":{"__extn":{"fn":"ip","arg":"10.0.0.1"}}}', '{"x":"10.0.0.1"}', "a forged address and its text", "must", "must"),
    ('{"x":{"__entity":{"type":"User","id":"a"}}}', '{"x":{"type":"User","id":"a"}}', "the wrapping is content", "must", "must"),
    ('{"x":{"__expr":"User::\\"a\\""}}', '{"x":{"__entity":{"type":"User","id":"a"}}}', "an old escape of the same kind", "must", "must"),
    ('{"__proto__":null}', "{}", "a prototype of null", "must", "must"),
    ('{"x":{"__proto__":[]}}', '{"x":{}}', "inside, too", "must", "must"),
    ('{"constructor":{"prototype":{"a":1}}}', "{}", "the other way to a prototype", "must", "must"),
    ('{"toString":1}', '{"valueOf":1}', "names that every JavaScript object answers to", "must", "must"),
    ('{"length":0}', '{"size":0}', "names that containers answer to", "must", "must"),
    ('{"$ref":"#/a"}', '{"$ref":"#/b"}', "references are text", "must", "must"),
    ('{"@type":"a","x":1}', '{"x":1}', "a name that polymorphic readers take out", "must", "must"),
    ('{"$type":"System.Object","x":1}', '{"x":1}', "another such name", "must", "must"),
    ('{"_id":{"$oid":"a"}}', '{"_id":"a"}', "extended JSON", "must", "must"),
    ('{"x":{"$numberLong":"1"}}', '{"x":1}', "extended JSON's numbers", "must", "must"),
    ('{"//":"comment"}', "{}", "a comment by convention", "must", "must"),
    ('{"hasOwnProperty":true}', '{"hasOwnProperty":false}', "a method's name", "must", "must"),
    ('{"_meta":{"progressToken":1}}', '{"_meta":{"progressToken":2}}', "inside arguments nothing is taken out", "must", "must"),
    ('{"_cmcp":{"execution_id":"a"}}', '{"_cmcp":{"execution_id":"b"}}', "nor is this", "must", "must"),
    ('{"a.b":1}', '{"a":{"b":1}}', "a dotted name is no path", "must", "must"),
    ('{"a[0]":1}', '{"a":[1]}', "a bracketed name is no index", "must", "must"),
    ('{"a/b":1}', '{"a~1b":1}', "a name and its pointer's spelling", "must", "must"),
    ('{"a/b":1}', '{"a":{"b":1}}', "a name that looks like a pointer", "must", "must"),
    ('{"":{"":1}}', '{"":1}', "empty names, twice and once", "must", "must"),
]

_INJECTION = [
    ('{"a":"1\\",\\"b\\":\\"2"}', '{"a":"1","b":"2"}', "text pasted together without escapes"),
    ('{"x":["ab","c"]}', '{"x":["a","bc"]}', "text pasted together without lengths"),
    ('{"x":"a\\",\\"y\\":\\"b"}', '{"x":"a","y":"b"}', "a quotation mark in a value"),
    ('{"a\\":1,\\"b":2}', '{"a":1,"b":2}', "a quotation mark in a name"),
    ('{"x":"\\\\"}', '{"x":"\\\\\\\\"}', "one backslash and two"),
    ('{"x":"\\""}', '{"x":"\\\\\\""}', "a quotation mark, and a backslash before it"),
    ('{"x":["a,b"]}', '{"x":["a","b"]}', "a comma in a value"),
    ('{"x":"[1,2]"}', '{"x":[1,2]}', "brackets in a value"),
    ('{"ab":"c"}', '{"a":"bc"}', "a name's end and a value's start"),
    ('{"a":{"b":"c"}}', '{"a":{"b":{"c":null}}}', "depth"),
    ('{"a":{"b":1},"c":2}', '{"a":{"b":1,"c":2}}', "where an object ends"),
    ('{"x":[[1],2]}', '{"x":[[1,2]]}', "where an array ends"),
    ('{"x":"1\\n2"}', '{"x":["1","2"]}', "a line feed in a value"),
    ('{"x":"","y":"a"}', '{"x":"a","y":""}', "an empty text before or after"),
    ('{"x":["",""]}', '{"x":[""]}', "two empty texts"),
    ('{"x":12,"y":3}', '{"x":1,"y":23}', "digits pasted together"),
    ('{"x":[1,23]}', '{"x":[12,3]}', "digits pasted together in an array"),
    ('{"x":"exact@1.0.0\\n{}"}', '{"x":"exact@1.0.0","y":{}}', "the preimage's own head in a value"),
    ('{"x":"sha256:00"}', '{"x":"sha256:01"}', "what looks like a digest"),
]

_WHOLE = [
    ('{"name":"t"}', '{"name":"T"}', "case of a tool's name"),
    ('{"name":"t"}', '{"name":"t "}', "a tool's name with a space"),
    ('{"name":"t"}', '{"name":"t\\u0000"}', "a tool's name with a NUL"),
    ('{"name":"\u00e9"}', '{"name":"e\u0301"}', "composed and decomposed names of tools"),
    ('{"name":"t","arguments":{"name":"u"}}', '{"name":"u","arguments":{"name":"t"}}', "a name and an argument called so, exchanged"),
    ('{"name":"t","arguments":{"task":{}}}', '{"name":"t","task":{},"arguments":{}}', "a task inside arguments"),
    ('{"name":"t","arguments":{"_meta":{"k":1}}}', '{"name":"t","_meta":{"k":1},"arguments":{}}', "_meta inside arguments"),
    ('{"name":"t","task":{"ttl":1}}', '{"name":"t","task":{"ttl":2}}', "a task's content"),
    ('{"name":"t","_meta":{"k":1}}', '{"name":"t","_meta":{"k":2}}', "what is left of _meta"),
    ('{"name":"t","_meta":{"k":1}}', '{"name":"t"}', "whether anything is left of _meta"),
    ('{"name":"t","_meta":{"ProgressToken":1}}', '{"name":"t","_meta":{"ProgressToken":2}}', "a case variant of what is taken out stays"),
    ('{"name":"t","_meta":{"io.modelcontextprotocol/other":1}}', '{"name":"t"}', "a fifth member under the protocol's prefix stays"),
    ('{"name":"t","_meta":{"k":{"progressToken":1}}}', '{"name":"t","_meta":{"k":{"progressToken":2}}}', "deeper down nothing is taken out"),
    ('{"name":"t","_meta":{"execution_id":"a"}}', '{"name":"t","_meta":{"execution_id":"b"}}', "a bare execution_id in _meta is content"),
    ('{"name":"t","_meta":{"countersign.dev":1}}', '{"name":"t"}', "a name without the solidus is content"),
    ('{"name":"t","_meta":{"progressToken ":1}}', '{"name":"t","_meta":{"progressToken":1}}', "a name with a space is content"),
]

_LARGE = [
    (['{"x":"', repeat("a", 100_000), '"}'], ['{"x":"', repeat("a", 99_999), 'b"}'], "the last of a hundred thousand letters"),
    (['{"x":"', repeat("a", 100_000), '"}'], ['{"x":"', repeat("a", 99_999), '"}'], "one letter less"),
    (['{"x":[0', repeat(",0", 50_000), "]}"], ['{"x":[0', repeat(",0", 49_999), ",1]}"], "the last of fifty thousand items"),
    (['{"x":[0', repeat(",0", 50_000), "]}"], ['{"x":[0', repeat(",0", 49_999), "]}"], "one item less"),
    (['{"', repeat("n", 100_000), 'a":1}'], ['{"', repeat("n", 100_000), 'b":1}'], "the last letter of a long name"),
    (['{"x":', repeat("[", 60), "1", repeat("]", 60), "}"], ['{"x":', repeat("[", 60), "2", repeat("]", 60), "}"], "a value sixty deep"),
    (['{"x":', repeat("[", 60), repeat("]", 60), "}"], ['{"x":', repeat("[", 59), repeat("]", 59), "}"], "sixty deep and fifty-nine"),
    (['{"x":', repeat('{"a":', 60), "1", repeat("}", 60), "}"], ['{"x":', repeat('{"a":', 59), '{"b":1}', repeat("}", 59), "}"], "a name sixty deep"),
]


def cases():
    yield "type", [distinct(*row) for row in _TYPE] + [distinct(a, b, why, "may", "must") for a, b, why in _TYPE_MAY]
    yield "absence", [distinct(*row) for row in _ABSENCE] + [
        distinct(params(a), params(b), why, whole=True) for a, b, why in _ABSENCE_WHOLE
    ]
    yield "array-as-set", [distinct(*row) for row in _SETS]
    yield "unicode", [distinct(*row) for row in _UNICODE]
    yield "big-integer", [
        distinct(f'{{"x":{a}}}', f'{{"x":{b}}}', why, *admit) for a, b, why, *admit in _INTEGERS
    ]
    yield "float", [distinct(f'{{"x":{a}}}', f'{{"x":{b}}}', why, "may", "may") for a, b, why in _FLOATS]
    yield "special-key", [distinct(*row) for row in _KEYS]
    yield "injection", [distinct(*row) for row in _INJECTION]
    yield "call", [distinct(params(a), params(b), why, whole=True) for a, b, why in _WHOLE]
    yield "large", [distinct(*row) for row in _LARGE]
