"""Strict reading: bytes to a value, or the earliest fault with its place.

The work is split by what can be wrong, not byte by byte. Python's own UTF-8
decoder finds the first byte that no text can have; the message before that
byte is cut into tokens by one regular expression; a small grammar says which
token may follow which. A piece that is no token is handed to `faults`, which
says at which of its bytes that became certain. Whatever comes first wins.
"""

import re

from . import faults
from .values import CODES, DEPTH, MESSAGE_BYTES, NODES, NUMBER_BYTES, Num, Obj, Refusal, pointer

_TOKEN = re.compile(
    rb'[ \t\n\r]*+(?:'
    rb'("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")'
    rb'|(-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++|(?!\.))(?:[eE][+-]?[0-9]++|(?![eE])))'
    rb'|([\[{])|([\]}])|([,:])|(true|false|null)|(\Z)|(.))',
    re.DOTALL,
)
_STRING, _NUMBER, _OPEN, _CLOSE, _MARK, _WORD, _END, _PIECE = range(1, 9)

# What may come next.
_VALUE, _ITEM_OR_END, _NAME_OR_END, _NAME, _COLON, _AFTER, _DONE = range(7)

_WORDS = {b"true": True, b"false": False, b"null": None}
_BEGINS_VALUE = frozenset(b'"-0123456789tfn')


def read(message):
    """The root value of `message`; raises `Refusal`."""
    size = len(message)
    if size > MESSAGE_BYTES:
        raise Refusal("limit", MESSAGE_BYTES + 1, "")
    if message.startswith(b"\xef\xbb\xbf"):
        raise Refusal("encoding", 3, "")
    text, end_code, end_offset = message, "syntax", size
    try:
        message.decode("utf-8")
    except UnicodeDecodeError as error:
        at = faults.bad_utf8(error)
        end_code = "encoding"
        if at < size:
            text, end_offset = message[:at], at + 1
    try:
        root = _structure(text)
    except faults.Fault as fault:
        # The end of the message is no byte of it: only a duplicate, which an
        # open object is checked for afterwards, can tie with it.
        if (
            fault.code == "duplicate-member"
            and fault.offset == end_offset
            and CODES.index(end_code) < CODES.index(fault.code)
        ):
            raise Refusal(end_code, end_offset, pointer(fault.steps)) from None
        raise Refusal(fault.code, fault.offset, pointer(fault.steps)) from None
    except faults.End as end:
        raise Refusal(end_code, end_offset, pointer(end.steps)) from None
    if end_code == "encoding":
        raise Refusal(end_code, end_offset, "")
    return root


def _structure(text):
    """Builds the value of `text`; raises `Fault` at a byte, or `End`."""
    root = None
    stack = []  # open containers
    keys = []  # beside each: the name whose value is being read, if any
    top = None
    key = None
    expect = _VALUE
    count = 0

    def container():
        """Steps to the innermost open container."""
        steps = []
        for holder, name in zip(stack[:-1], keys):
            steps.append(str(len(holder) - 1) if type(holder) is list else name)
        return steps

    def value():
        """Steps to the value that begins here."""
        if top is None:
            return []
        return container() + [str(len(top)) if type(top) is list else key]

    for match in _TOKEN.finditer(text):
        kind = match.lastindex
        at = match.start(kind)

        if kind == _MARK:
            mark = text[at]
            if mark == 0x2C and expect == _AFTER:
                expect = _VALUE if type(top) is list else _NAME
            elif mark == 0x3A and expect == _COLON:
                expect = _VALUE
            else:
                raise faults.Fault("syntax", at, container())
            continue

        if kind == _STRING and (expect == _NAME or expect == _NAME_OR_END):
            key = faults.text_of(text, at, match.end(), container)
            if key in top:
                raise faults.Fault("duplicate-member", match.end() - 1, container())
            expect = _COLON
            continue

        if kind == _CLOSE:
            of_list = text[at] == 0x5D
            if top is None or of_list != (type(top) is list) or not (
                expect == _AFTER or expect == (_ITEM_OR_END if of_list else _NAME_OR_END)
            ):
                raise faults.Fault("syntax", at, container())
            stack.pop()
            keys.pop()
            if stack:
                top = stack[-1]
                expect = _AFTER
            else:
                top = None
                expect = _DONE
            continue

        if kind == _END:
            if expect == _DONE:
                return root
            raise faults.End(container())

        if expect > _ITEM_OR_END or (kind == _PIECE and text[at] not in _BEGINS_VALUE):
            if kind == _PIECE and text[at] == 0x22 and expect in (_NAME, _NAME_OR_END):
                faults.in_string(text, at, container)
            raise faults.Fault("syntax", at, container())

        # A value begins here, whatever becomes of it.
        count += 1
        if count > NODES:
            raise faults.Fault("limit", at, value())
        if kind == _STRING:
            item = faults.text_of(text, at, match.end(), value)
        elif kind == _NUMBER:
            if match.end() - at > NUMBER_BYTES:
                raise faults.Fault("limit", at + NUMBER_BYTES, value())
            item = Num(match[_NUMBER].decode())
        elif kind == _OPEN:
            if len(stack) == DEPTH:
                raise faults.Fault("limit", at, value())
            item = Obj(at) if text[at] == 0x7B else []
        elif kind == _WORD:
            item = _WORDS[match[_WORD]]
        else:
            faults.in_value(text, at, value)

        if top is None:
            root = item
        elif type(top) is list:
            top.append(item)
        else:
            top[key] = item
            top.at[key] = at
        if kind == _OPEN:
            if keys:
                keys[-1] = key
            stack.append(item)
            keys.append(None)
            top = item
            expect = _NAME_OR_END if type(item) is Obj else _ITEM_OR_END
        else:
            expect = _DONE if top is None else _AFTER
    raise AssertionError("the tokens end with the end")
