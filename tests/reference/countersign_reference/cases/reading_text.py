"""Reading: UTF-8, surrogates, duplicates, and which of several faults is told."""

from ..casebook import admits, numbered, refuses, repeat, reply

_ENCODING = [
    ("a mark alone", b"\xef\xbb\xbf@@", ""),
    ("a mark before an object", b"\xef\xbb\xbf@@{}", ""),
    ("a mark before anything worse", b"\xef\xbb\xbf@@\xff{", ""),
    ("two marks", b"\xef\xbb\xbf@@\xef\xbb\xbf{}", ""),
    ("a UTF-16 mark", b"\xff@@\xfe{\x00}\x00", ""),
    ("a big-endian UTF-16 mark", b"\xfe@@\xff\x00{\x00}", ""),
    ("a lone continuation byte", b'["\x80@@"]', "/0"),
    ("the last continuation byte", b'["\xbf@@"]', "/0"),
    ("C0", b'["\xc0@@\x80"]', "/0"),
    ("C1", b'["\xc1@@\xbf"]', "/0"),
    ("F5", b'["\xf5@@\x80\x80\x80"]', "/0"),
    ("FE", b'["\xfe@@"]', "/0"),
    ("FF", b'["a\xff@@"]', "/0"),
    ("an overlong of two more bytes", b'["\xe0\x80@@\x80"]', "/0"),
    ("the highest overlong of three bytes", b'["\xe0\x9f@@\xbf"]', "/0"),
    ("an overlong of four bytes", b'["\xf0\x80@@\x80\x80"]', "/0"),
    ("the highest overlong of four bytes", b'["\xf0\x8f@@\xbf\xbf"]', "/0"),
    ("a surrogate in UTF-8", b'["\xed\xa0@@\x80"]', "/0"),
    ("the last surrogate in UTF-8", b'["\xed\xbf@@\xbf"]', "/0"),
    ("a pair in CESU-8", b'["\xed\xa0@@\xbd\xed\xb8\x80"]', "/0"),
    ("beyond U+10FFFF", b'["\xf4\x90@@\x80\x80"]', "/0"),
    ("a two-byte sequence cut by a quote", b'["\xc3"@@]', "/0"),
    ("a three-byte sequence cut by a quote", b'["\xe2\x82"@@]', "/0"),
    ("a four-byte sequence cut by a quote", b'["\xf0\x9f\x98"@@]', "/0"),
    ("a sequence cut by another", b'["\xe2\x82\xe2@@\x82\xac"]', "/0"),
    ("a sequence cut by a letter", b'["\xc3a@@"]', "/0"),
    ("a sequence cut by a raw control character", b'["\xc3\n@@"]', "/0"),
    ("a sequence cut by a backslash", b'["\xc3\\@@n"]', "/0"),
    ("Latin-1", b'["caf\xe9"@@]', "/0"),
    ("a bad byte in a name is judged in the object", b'{"x":{"\xff@@":1}}', "/x"),
    ("a bad byte in a deep value", b'{"a":[{"b":"\xff@@"}]}', "/a/0/b"),
    ("a bad byte after a backslash", b'["\\\xff@@"]', "/0"),
    ("a bad byte for a hex digit", b'["\\u00\xff@@0"]', "/0"),
    ("a continuation byte for a hex digit", b'["\\u\x80@@"]', "/0"),
    ("a bad byte where a value belongs", b'{"x":\xff@@}', ""),
    ("a bad byte where a name belongs", b"{\xff@@:1}", ""),
    ("a bad byte after a number is judged in the container", b"[1\xff@@]", ""),
    ("a bad byte after a minus is judged in the number", b"[-\xff@@]", "/0"),
    ("a bad byte in a fraction is judged in the number", b"[1.\xff@@]", "/0"),
    ("a bad byte in a literal", b"[tr\x80@@]", "/0"),
    ("a bad byte after a literal", b"[true\x80@@]", ""),
    ("a bad byte at the root", b"\xff@@", ""),
    ("a bad byte after the root", b'{"x":1}\xff@@', ""),
    ("a lone continuation byte after the root", b"{}\x80@@", ""),
    ("the end within a two-byte sequence", b'["\xc3@@', "/0"),
    ("the end within a three-byte sequence", b'["a\xe2\x82@@', "/0"),
    ("the end within a four-byte sequence", b'["\xf0\x9f\x98@@', "/0"),
    ("the end within a sequence in a name", b'{"a":1,"\xc3@@', ""),
    ("the end within a sequence of the root string", b'"\xc3@@', ""),
]

_SURROGATE = [
    ("a high one alone", '["\\ud800"@@]', "/0"),
    ("the last high one alone", '["\\udbff"@@]', "/0"),
    ("upper-case digits", '["\\uDBFF"@@]', "/0"),
    ("a low one alone", '["\\udc@@00"]', "/0"),
    ("the last low one alone", '["\\uDF@@FF"]', "/0"),
    ("a low one is certain before its last digits", '["\\uDe@@ZZ"]', "/0"),
    ("a low one is certain before the end", '["\\udd@@', "/0"),
    ("U+DEAD", '{"x":"\\uDE@@AD"}', "/x"),
    ("two high ones", '["\\ud800\\ud8@@00"]', "/0"),
    ("a pair the wrong way round", '["\\ude@@00\\ud83d"]', "/0"),
    ("a high one and a letter", '["\\ud800a@@"]', "/0"),
    ("a high one and a short escape", '["\\ud800\\n@@"]', "/0"),
    ("a high one and an escaped backslash", '["\\ud800\\\\@@udc00"]', "/0"),
    ("a high one and an escape that cannot be a low one, at its first digit", '["\\uD800\\u0@@041"]', "/0"),
    ("a high one and an escape that cannot be a low one, at its second digit", '["\\ud800\\ud7@@ff"]', "/0"),
    ("a high one and an escape that begins with e", '["\\ud800\\ue@@000"]', "/0"),
    ("a high one and a letter outside ASCII", b'["\\ud800\xc3@@\xa9"]', "/0"),
    ("a high one and the UTF-8 of a pair", b'["\\ud83d\xf0@@\x9f\x98\x80"]', "/0"),
    ("a high one and a lead byte at the end", b'["\\ud83d\xf0@@', "/0"),
    ("a pair and a high one", '["\\ud83d\\ude00\\ud83d"@@]', "/0"),
    ("a pair and a low one", '["\\ud83d\\ude00\\ude@@00"]', "/0"),
    ("a high one at the end of a name is judged in the object", '{"x":{"\\ud800"@@:1}}', "/x"),
    ("a low one in a name", '{"a":1,"a\\udc@@00":2}', ""),
    ("a high one at the end of the root string", '"\\ud800"@@', ""),
    ("the last byte of the message", '["\\ud800x@@', "/0"),
]

_SURROGATE_IS_OTHERS = [
    ("a high one and a raw control character is syntax", b'["\\ud800\n@@"]', "syntax", "/0"),
    ("a high one and a bad escape letter is syntax", '["\\ud800\\x@@"]', "syntax", "/0"),
    ("a high one and a bad hex digit is syntax", '["\\ud800\\ug@@"]', "syntax", "/0"),
    ("a high one and a bad second hex digit is syntax", '["\\ud800\\udg@@"]', "syntax", "/0"),
    ("a high one and a bad third hex digit is syntax", '["\\ud800\\udcg@@"]', "syntax", "/0"),
    ("a high one and a bad byte is encoding", b'["\\ud800\xff@@"]', "encoding", "/0"),
    ("a high one, a backslash and a bad byte is encoding", b'["\\ud800\\\xff@@"]', "encoding", "/0"),
    ("\\ud and a bad hex digit is syntax", '["\\udg@@"]', "syntax", "/0"),
    ("a high one before its own digits end is syntax", '["\\ud8"@@]', "syntax", "/0"),
    ("a high one with a bad last digit is syntax", '["\\ud80g@@"]', "syntax", "/0"),
]

_DUPLICATE = [
    ("side by side", '{"a":1,"a"@@:2}', ""),
    ("far apart", '{"a":1,"b":2,"c":{"a":3},"a"@@:4}', ""),
    ("equal values too", '{"a":1,"a"@@:1}', ""),
    ("three times, told at the second", '{"x":1,"x"@@:"1","x":null}', ""),
    ("empty names", '{"":1,""@@:2}', ""),
    ("one escaped", '{"a":1,"\\u0061"@@:2}', ""),
    ("both escaped, in two ways", '{"\\u000a":1,"\\n"@@:2}', ""),
    ("an escaped solidus", '{"/":1,"\\/"@@:2}', ""),
    ("hex digits in two cases", '{"\\u00E9":1,"\\u00e9"@@:2}', ""),
    ("escaped and plain outside ASCII", '{"\\u00e9":1,"é"@@:2}', ""),
    ("a pair and its UTF-8", b'{"\xf0\x9f\x98\x80":1,"\\ud83d\\ude00"@@:2}', ""),
    ("escaped quotes", '{"\\"":1,"\\u0022"@@:2}', ""),
    ("with a NUL", '{"a\\u0000":1,"a\\u0000"@@:2}', ""),
    ("__proto__", '{"__proto__":1,"__proto__"@@:2}', ""),
    ("in an inner object", '{"x":{"a":1,"a"@@:2}}', "/x"),
    ("in an object in an array", '{"x":[0,{"a":1,"a"@@:2}]}', "/x/1"),
    ("in a deep object", '{"a":{"b":{"c":{"d":1,"d"@@:2}}}}', "/a/b/c"),
    ("in an object whose name needs escapes", '{"a/b~c":{"d":1,"d"@@:2}}', "/a~1b~0c"),
    ("in the first of two objects", '[{"a":1,"a"@@:1},{"b":1,"b":1}]', "/0"),
    ("an inner one before an outer one", '{"x":{"a":1,"a"@@:2},"x":3}', "/x"),
    ("an outer one before an inner one", '{"x":1,"x"@@:{"a":1,"a":2}}', ""),
    ("members of the envelope", '{"jsonrpc":"2.0","id":1,"id"@@:2,"method":"ping"}', ""),
    ("the method", '{"jsonrpc":"2.0","id":1,"method":"ping","method"@@:"tools/call"}', ""),
    ("before a syntax fault in the same object", '{"a":1,"a"@@:x}', ""),
    ("before a syntax fault at the next byte", '{"a":1,"a"@@x', ""),
    ("before a bad byte at the next byte", b'{"a":1,"a"@@\xff', ""),
    ("in an open object, before a fault deep inside it", '{"a":1,"a"@@:[{"b":[}', ""),
    ("in a closed object, before a fault after it", '{"x":{"a":1,"a"@@:2},"y":}', "/x"),
    ("before a lone surrogate", '{"a":1,"a"@@:"\\ud800"}', ""),
    ("before a bad envelope", '[{"a":1,"a"@@:2}]', "/0"),
    ("when the end comes after the colon", '{"a":1,"a"@@:', ""),
]

_EARLIER = [
    ("a syntax fault before a duplicate", '{"a":1,x@@"a":2}', "syntax", ""),
    ("a name whose quote has not closed is no duplicate", '{"a":1,"a@@', "syntax", ""),
    ("a name that breaks before its quote is no duplicate", b'{"a":1,"a\n@@":2}', "syntax", ""),
    ("a name with a bad byte is no duplicate", b'{"a\xff@@":1,"a\xff":2}', "encoding", ""),
    ("a name with a lone surrogate is no duplicate", '{"\\ud800"@@:1,"\\ud800":2}', "surrogate", ""),
    ("encoding after syntax", b'{"a":tx@@,"b":"\xff"}', "syntax", "/a"),
    ("syntax after encoding", b'{"a":"\xff@@","b":tx}', "encoding", "/a"),
    ("a surrogate before a bad escape", '["\\ud800x@@\\q"]', "surrogate", "/0"),
    ("a bad escape before a surrogate", '["\\q@@\\ud800"]', "syntax", "/0"),
    ("a surrogate before a raw line feed", b'["\\udc@@00\n"]', "surrogate", "/0"),
    ("a surrogate before a bad byte", b'["\\ud800x@@\xff"]', "surrogate", "/0"),
    ("a surrogate before the end", '["\\ud800 @@', "surrogate", "/0"),
    ("a fault in reading before one of the envelope", '{"jsonrpc":"1.0","id":1,"method":"x",}@@', "syntax", ""),
    ("a duplicate before one of the envelope", '{"jsonrpc":"1.0","id":1,"jsonrpc"@@:"1.0"}', "duplicate-member", ""),
]

_NOT_DUPLICATE = [
    ("names in different objects", '{"a":{"a":{"a":1}}}', '{"a":{"a":{"a":1}}}'),
    ("names in two items", '[{"a":1},{"a":1}]', '[{"a":1},{"a":1}]'),
    ("case variants", '{"a":1,"A":2}', '{"A":2,"a":1}'),
    ("NFC and NFD", '{"\u00e9":1,"e\u0301":2}', '{"e\u0301":2,"\u00e9":1}'),
    ("a name and the same with a NUL", '{"a":1,"a\\u0000":2}', '{"a":1,"a\\u0000":2}'),
    ("a name and the same with a space", '{"a":1,"a ":2}', '{"a":1,"a ":2}'),
    ("a name and its escapes' text", '{"\\u0061":1,"\\\\u0061":2}', '{"\\\\u0061":2,"a":1}'),
    ("look-alikes", '{"a":1,"\u0430":2}', '{"a":1,"\u0430":2}'),
    ("the empty name and a space", '{"":1," ":2}', '{"":1," ":2}'),
]


def cases():
    for title, code, table in (
        ("encoding", "encoding", _ENCODING),
        ("surrogate", "surrogate", _SURROGATE),
        ("duplicate", "duplicate-member", _DUPLICATE),
    ):
        for name, message, pointer in table:
            yield refuses(f"{title}: {name}", message, code, pointer)
    for name, message, code, pointer in _SURROGATE_IS_OTHERS:
        yield refuses(f"surrogate: {name}", message, code, pointer)
    for name, message, code, pointer in _EARLIER:
        yield refuses(f"the earliest fault: {name}", message, code, pointer)
    for name, value, ok in _NOT_DUPLICATE:
        yield admits(f"no duplicate: {name}", reply(value), "reply", ok=ok)
    many = numbered('"k', '":0,', 40_000)
    yield refuses(
        "duplicate: the first of 40,000 names again at the end",
        ["{", many, '"k0":0}'], "duplicate-member", "", 1 + 40_000 * 6 + sum(len(str(n)) for n in range(40_000)) + 4,
    )
    yield refuses(
        "duplicate: long names that differ from others in the last byte alone",
        [
            '{"', repeat("n", 100_000), 'a":1,"', repeat("n", 100_000), 'b":2,"',
            repeat("n", 100_000), 'a":3}',
        ],
        "duplicate-member", "", 2 + 100_000 + 6 + 100_000 + 6 + 100_000 + 2,
    )
