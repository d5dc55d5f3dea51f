"""What was read: plain Python values, with the two things Python forgets.

A number is its lexeme, never a machine number, and an object remembers where
in the message each of its members' values began. Strings, lists, booleans and
None stand for themselves. Refusals and pointers live here too, because every
other room speaks in them.
"""

# The order decides ties between faults at one offset (docs/spec/action-binding.md, section 1).
CODES = (
    "encoding", "syntax", "surrogate", "duplicate-member", "limit",
    "envelope", "params", "correlation", "number", "value",
)

MESSAGE_BYTES = 10_485_760
DEPTH = 64
NUMBER_BYTES = 1_024
NODES = 262_144
POINTER_BYTES = 256

LIMITS = {
    "message_bytes": MESSAGE_BYTES,
    "depth": DEPTH,
    "number_bytes": NUMBER_BYTES,
    "nodes": NODES,
}

EXACT = "exact@1.0.0"
JCS_INTEGER = "jcs-integer@1.0.0"
PROFILES = (EXACT, JCS_INTEGER)


class Num(str):
    """A number, as it was written."""

    __slots__ = ()


class Obj(dict):
    """An object: members in the order of the message, none of them twice.

    `start` is the index of its `{`; `at` maps a name to the index of the
    first byte of its value.
    """

    __slots__ = ("start", "at")

    def __init__(self, start):
        self.start = start
        self.at = {}


class Refusal(Exception):
    """A message that is not admitted, and why."""

    def __init__(self, code, offset, pointer):
        super().__init__(code, offset, pointer)
        self.code = code
        self.offset = offset
        self.pointer = pointer


def pointer(steps):
    """The JSON Pointer of `steps`, cut after the last whole step within 256 bytes."""
    text = ""
    length = 0
    for step in steps:
        part = "/" + step.replace("~", "~0").replace("/", "~1")
        length += len(part.encode())
        if length > POINTER_BYTES:
            break
        text += part
    return text
