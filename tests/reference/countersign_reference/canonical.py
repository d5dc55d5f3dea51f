"""The canonical form: RFC 8785, with every number as it was written."""

import re

from .values import Num

_ESCAPE = re.compile('["\\\\\x00-\x1f]')
_SHORT = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
}


def _escape(match):
    char = match[0]
    return _SHORT.get(char) or f"\\u{ord(char):04x}"


def string(text):
    """`text` as RFC 8785 writes it."""
    return '"' + _ESCAPE.sub(_escape, text) + '"'


def by_utf16(name):
    """The sorting key of a member name: its UTF-16 code units."""
    return name.encode("utf-16-be")


def names(members):
    """The names of an object, in canonical order."""
    if all(map(str.isascii, members)):
        return sorted(members)
    return sorted(members, key=by_utf16)


def _text(value):
    kind = type(value)
    if kind is str:
        return string(value)
    if kind is Num:
        return value
    if kind is list:
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(string(name) + ":" + _text(value[name]) for name in names(value)) + "}"
    return "null" if value is None else "true" if value else "false"


def write(value):
    """The canonical bytes of `value`, which is at most 64 deep."""
    return _text(value).encode()
