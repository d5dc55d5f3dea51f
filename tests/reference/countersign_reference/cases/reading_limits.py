"""Reading: the limits, each on both sides, and pointers cut within 256 bytes."""

from ..casebook import admits, numbered, refuses, repeat, reply

MIB10 = 10_485_760
_HEAD, _TAIL = '{"jsonrpc":"2.0","id":1,"result":', "}"


def _depth():
    yield admits(
        "depth: 64 containers are admitted",
        [_HEAD, repeat("[", 63), repeat("]", 63), _TAIL], "reply", ok="[" * 63 + "]" * 63,
    )
    yield refuses(
        "depth: the 65th container, at its bracket",
        [_HEAD, repeat("[", 64), repeat("]", 64), _TAIL],
        "limit", "/result" + "/0" * 63, len(_HEAD) + 64,
    )
    yield refuses(
        "depth: the 65th container, at its brace",
        [repeat('{"a":', 64), '{"b":1}', repeat("}", 64)], "limit", "/a" * 64, 5 * 64 + 1,
    )
    yield refuses(
        "depth: 65 brackets and nothing more", [repeat("[", 65)], "limit", "/0" * 64, 65,
    )
    yield refuses("depth: 64 brackets and nothing more are cut short", [repeat("[", 64)], "syntax", "/0" * 63, 64)
    yield refuses("depth: a hundred thousand brackets", [repeat("[", 100_000)], "limit", "/0" * 64, 65)
    yield refuses(
        "depth: a hundred thousand objects", [repeat('{"a":', 100_000)], "limit", "/a" * 64, 5 * 64 + 1,
    )
    yield refuses(
        "depth: arrays and objects count alike",
        [repeat('[{"a":', 33)], "limit", "/0/a" * 32, 6 * 32 + 1,
    )
    yield refuses(
        "depth: a scalar in the 64th container is no container, what follows it is judged",
        [repeat("[", 64), "1,x"], "syntax", "/0" * 63, 64 + 3,
    )
    yield refuses(
        "depth: siblings do not add up",
        ["[", repeat("[],", 1_000), "x"], "syntax", "", 1 + 3_000 + 1,
    )
    yield refuses(
        "depth: a closed container makes room again",
        [repeat("[", 64), "],", "[", "],[["], "limit", "/0" * 62 + "/2/0", 64 + 7,
    )


def _numbers():
    zeros = "0" * 1_023
    yield admits(
        "a number of 1,024 digits is admitted", [_HEAD, "1", repeat("0", 1_023), _TAIL],
        "reply", ok="1" + zeros,
    )
    yield refuses(
        "a number of 1,025 digits, at the last",
        [_HEAD, "1", repeat("0", 1_024), _TAIL], "limit", "/result", len(_HEAD) + 1_025,
    )
    yield refuses(
        "a number of a million digits, at the 1,025th byte",
        ['{"x":', repeat("9", 1_000_000), "}"], "limit", "/x", 5 + 1_025,
    )
    yield refuses(
        "the minus counts", [_HEAD, "-1", repeat("0", 1_023), _TAIL], "limit", "/result", len(_HEAD) + 1_025,
    )
    yield admits(
        "a long fraction within the limit", [_HEAD, "0.", repeat("0", 1_022), _TAIL],
        "reply", ok="0." + zeros[1:],
    )
    yield refuses(
        "a long fraction beyond it", ["[0.", repeat("0", 1_023), "]"], "limit", "/0", 1 + 1_025,
    )
    yield admits(
        "a long exponent within the limit", [_HEAD, "1e", repeat("9", 1_022), _TAIL],
        "reply", ok="1e" + "9" * 1_022,
    )
    yield refuses(
        "a long exponent beyond it", ["[1e+", repeat("0", 1_022), "]"], "limit", "/0", 1 + 1_025,
    )
    yield refuses(
        "a point as the 1,025th byte continues the number",
        ["[1", repeat("0", 1_023), ".x"], "limit", "/0", 1 + 1_025,
    )
    yield refuses(
        "an exponent's e as the 1,025th byte continues the number",
        ["[1", repeat("0", 1_023), "e"], "limit", "/0", 1 + 1_025,
    )
    yield refuses(
        "an exponent's sign as the 1,025th byte continues the number",
        ["[1", repeat("0", 1_022), "e-x"], "limit", "/0", 1 + 1_025,
    )
    yield refuses(
        "a letter as the 1,025th byte does not continue the number, and is judged in the array",
        ["[1", repeat("0", 1_023), "x]"], "syntax", "", 1 + 1_025,
    )
    yield refuses(
        "a letter as the 1,025th byte after a point is judged in the number",
        ["[1", repeat("0", 1_022), ".x]"], "syntax", "/0", 1 + 1_025,
    )
    yield refuses(
        "a leading zero is seen before any length", ["[0", repeat("0", 2_000), "]"], "syntax", "", 3,
    )
    yield refuses(
        "1,024 digits and the end are cut short in the array",
        ["[1", repeat("0", 1_023)], "syntax", "", 1 + 1_024,
    )
    yield refuses(
        "the 1,025th digit as the last byte is the limit",
        ["[1", repeat("0", 1_024)], "limit", "/0", 1 + 1_025,
    )
    yield refuses(
        "a long number at the root", ["1", repeat("0", 1_024)], "limit", "", 1_025,
    )
    yield refuses(
        "a long number that no profile would ever look at",
        ['{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":-', repeat("1", 2_000), "}}"],
        "limit", "/params/n", 51 + 1_025,
    )


def _nodes():
    # The envelope's object, its version, its id and the array are four values.
    yield admits(
        "values: 262,144 are admitted",
        [_HEAD, "[0", repeat(",0", 262_139), "]", _TAIL], "reply",
    )
    yield refuses(
        "values: the 262,145th, at its first byte",
        [_HEAD, "[0", repeat(",0", 262_140), "]", _TAIL],
        "limit", "/result/262140", len(_HEAD) + 2 + 2 * 262_140,
    )
    yield refuses(
        "values: a comma does not foretell one more",
        ["[0", repeat(",0", 262_142), ",x"], "syntax", "", 2 + 2 * 262_142 + 2,
    )
    for first, what in (('"', "a string"), ("-", "a number"), ("t", "a literal"), ("{", "an object")):
        yield refuses(
            f"values: one too many, certain at the first byte of {what}",
            ["[0", repeat(",0", 262_142), ",", first], "limit", "/262143", 2 + 2 * 262_142 + 2,
        )
    yield refuses(
        "values: one too many that is no value at all is syntax, in the array",
        ["[0", repeat(",0", 262_142), ",+1]"], "syntax", "", 2 + 2 * 262_142 + 2,
    )
    yield refuses(
        "values: one too many that would break later is still the limit",
        ["[0", repeat(",0", 262_142), ",tx]"], "limit", "/262143", 2 + 2 * 262_142 + 2,
    )
    yield refuses(
        "values: names do not count, values do",
        ["{", numbered('"k', '":0,', 262_143), '"last":1}'], "limit", "/last",
        1 + 262_143 * 6 + sum(len(str(n)) for n in range(262_143)) + 8,
    )
    yield refuses(
        "values: empty containers count",
        ["[[]", repeat(",[]", 262_143), "]"], "limit", "/262143", 1 + 2 + 3 * 262_142 + 2,
    )
    yield refuses(
        "values: a duplicate before the limit is told instead",
        ['{"a":0,"a":[0', repeat(",0", 262_143), "]}"], "duplicate-member", "", 10,
    )


def _size():
    yield admits(
        "size: a message of exactly 10 MiB is admitted",
        [_HEAD, '"', repeat("a", MIB10 - len(_HEAD) - 3), '"', _TAIL], "reply",
    )
    yield refuses(
        "size: one byte more", [_HEAD, '"', repeat("a", MIB10 - len(_HEAD) - 2), '"', _TAIL], "limit", "", MIB10 + 1,
    )
    yield refuses(
        "size: before the mark", [{"base64": "77u/"}, repeat(" ", MIB10)], "limit", "", MIB10 + 1,
    )
    yield refuses(
        "size: before any other fault", ["{,", repeat(" ", MIB10)], "limit", "", MIB10 + 1,
    )
    yield refuses(
        "size: far over it, the offset is the same", [repeat("[", MIB10 + 1_048_576)], "limit", "", MIB10 + 1,
    )
    yield refuses("size: 10 MiB of white space are cut short", [repeat(" ", MIB10)], "syntax", "", MIB10)


def _pointers():
    yield refuses("pointer: a tilde and a solidus", '{"~":{"/":x@@}}', "syntax", "/~0")
    yield refuses("pointer: a solidus in the last step", '{"~":{"/":"\\q@@"}}', "syntax", "/~0/~1")
    yield refuses("pointer: ~1 as a name", '{"~1":"\\q@@"}', "syntax", "/~01")
    yield refuses("pointer: the empty name", '{"":{"":"\\q@@"}}', "syntax", "//")
    yield refuses("pointer: a name's escapes are undone", '{"\\u0061\\n":"\\q@@"}', "syntax", "/a\n")
    yield refuses("pointer: a pair in a name", '{"\\ud83d\\ude00":"\\q@@"}', "syntax", "/\U0001f600")
    yield refuses("pointer: a quote in a name", '{"a\\"b":"\\q@@"}', "syntax", '/a"b')
    yield refuses("pointer: an index of three digits", ["[", repeat("0,", 100), "tx"], "syntax", "/100", 1 + 200 + 2)
    yield refuses("pointer: a numeric name", '{"0":["\\q@@"]}', "syntax", "/0/0")
    yield refuses(
        "pointer: 256 bytes are kept", ['{"', repeat("a", 255), '":tx}'], "syntax", "/" + "a" * 255, 2 + 255 + 2 + 2,
    )
    yield refuses(
        "pointer: a first step over 256 bytes is cut whole", ['{"', repeat("a", 256), '":tx}'], "syntax", "", 2 + 256 + 2 + 2,
    )
    yield refuses(
        "pointer: it is cut after the last whole step",
        ['{"b":{"', repeat("a", 254), '":tx}}'], "syntax", "/b", 7 + 254 + 2 + 2,
    )
    yield refuses(
        "pointer: a short step after the cut is not added",
        ['{"b":{"', repeat("a", 254), '":{"c":tx}}}'], "syntax", "/b", 7 + 254 + 2 + 5 + 2,
    )
    yield refuses(
        "pointer: exactly 256 in two steps",
        ['{"b":{"', repeat("a", 253), '":tx}}'], "syntax", "/b/" + "a" * 253, 7 + 253 + 2 + 2,
    )
    yield refuses(
        "pointer: escapes count as they are written",
        ['{"', repeat("~", 128), '":tx}'], "syntax", "", 2 + 128 + 2 + 2,
    )
    yield refuses(
        "pointer: 127 tildes fit", ['{"', repeat("~", 127), '":tx}'], "syntax", "/" + "~0" * 127, 2 + 127 + 2 + 2,
    )
    yield refuses(
        "pointer: bytes count, not characters", ['{"', repeat("é", 128), '":tx}'], "syntax", "", 2 + 256 + 2 + 2,
    )
    yield refuses(
        "pointer: 127 letters of two bytes fit", ['{"', repeat("é", 127), '":tx}'], "syntax", "/" + "é" * 127, 2 + 254 + 2 + 2,
    )
    yield refuses(
        "pointer: a name of 5 MiB over a long array",
        ['{"', repeat("n", 5_242_880), '":[', repeat("0,", 100_000), "]}"], "syntax", "", 2 + 5_242_880 + 3 + 200_000 + 1,
    )


def cases():
    yield from _depth()
    yield from _numbers()
    yield from _nodes()
    yield from _size()
    yield from _pointers()
