"""At which byte a piece that is no token stopped being the start of one.

Each kind of piece has a grammar; the longest start of it that the bytes have
says where the fault is. Surrogates are judged apart, on a string whose
escapes are otherwise sound: the page's order of codes then settles the ties.
"""

import re

from .values import NUMBER_BYTES


class Fault(Exception):
    """Something that the byte at `at` makes certain."""

    def __init__(self, code, at, steps):
        super().__init__(code, at)
        self.code = code
        self.offset = at + 1
        self.steps = steps


class End(Exception):
    """Nothing is wrong but that the text is over."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps


def bad_utf8(error):
    """The first byte that cannot be where it is; the length if one is lacking."""
    if error.reason == "invalid start byte":
        return error.start
    return error.end


_STRING_START = re.compile(
    rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
)
_ESCAPE_START = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
_NUMBER_START = re.compile(
    rb"-?(?:(?:0|[1-9][0-9]*+)"
    rb"(?:\.(?:[0-9]++(?:[eE][+-]?[0-9]*+)?+)?+|[eE][+-]?[0-9]*+)?+)?+"
)


def in_string(text, at, steps):
    """Raises what is wrong with the unfinished string at `at`."""
    stop = _STRING_START.match(text, at).end()
    escape = _ESCAPE_START.match(text, stop)
    if escape:
        stop = escape.end()
    alone = lone_surrogate(text, at + 1, stop)
    if alone is not None:
        raise Fault("surrogate", alone, steps())
    if stop == len(text):
        raise End(steps())
    raise Fault("syntax", stop, steps())


def in_value(text, at, steps):
    """Raises what is wrong with the unfinished string, number or literal at `at`."""
    first = text[at]
    if first == 0x22:
        in_string(text, at, steps)
    if first in b"tfn":
        word = {0x74: b"true", 0x66: b"false", 0x6E: b"null"}[first]
        stop = at
        while text[stop:stop + 1] == word[stop - at:stop - at + 1]:
            stop += 1
    else:
        stop = _NUMBER_START.match(text, at).end()
        if stop - at > NUMBER_BYTES:
            raise Fault("limit", at + NUMBER_BYTES, steps())
    if stop == len(text):
        raise End(steps())
    raise Fault("syntax", stop, steps())


_UNITS = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair
    rb"|(\\u[dD][89abAB][0-9a-fA-F]{2})"  # a high one without its low one
    rb"|(\\u[dD][c-fC-F])"  # a low one without its high one
    rb"|\\.",
    re.DOTALL,
)
_LOW = (b"\\", b"u", b"dD", b"cdefCDEF", b"0123456789abcdefABCDEF", b"0123456789abcdefABCDEF")


def lone_surrogate(text, start, stop):
    """The first byte before `stop` that leaves a surrogate escape alone, or None."""
    for unit in _UNITS.finditer(text, start, stop):
        if unit[2] is not None:
            return unit.end() - 1
        if unit[1] is not None:
            for at, allowed in enumerate(_LOW, unit.end()):
                if at >= stop:
                    return None
                if text[at] not in allowed:
                    return at
    return None


_ESCAPED = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(.))')
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


def _plain(match):
    return chr(int(match[1], 16)) if match[1] else _SHORT[match[2]]


def text_of(text, at, end, steps):
    """The string whose quotes are at `at` and `end - 1`, unescaped."""
    body = text[at + 1:end - 1]
    if b"\\" not in body:
        return body.decode("utf-8")
    # The closing quote can itself be the byte that leaves a surrogate alone.
    alone = lone_surrogate(text, at + 1, end)
    if alone is not None:
        raise Fault("surrogate", alone, steps())
    plain = _ESCAPED.sub(_plain, body.decode("utf-8"))
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
