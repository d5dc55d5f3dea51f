"""The oracle of differential tests: one message a line in, one verdict a line out.

The format stands in tests/reference/README.md.
"""

import base64
import json

from .admission import finish, parse
from .second import exact_key
from .values import PROFILES, Refusal


def refused(refusal):
    """A refusal as the vectors and the batch write it."""
    return {
        "refused": {"code": refusal.code, "offset": refusal.offset, "pointer": refusal.pointer}
    }


def plain(value):
    """An outcome with its canonical bytes as text, ready for JSON."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value.decode() if isinstance(value, bytes) else value


def verdict(message):
    """Both profiles' outcomes of one message, and the second reader's key."""
    try:
        parsed = parse(message)
    except Refusal as refusal:
        return {profile: refused(refusal) for profile in PROFILES} | {"key": None}
    line = {}
    for profile in PROFILES:
        try:
            line[profile] = plain(finish(parsed, profile))
        except Refusal as refusal:
            line[profile] = refused(refusal)
    line["key"] = exact_key(message) if "call" in parsed else None
    return line


def run(lines, out):
    """Answers each line `id TAB base64(message)` with one JSON line."""
    for line in lines:
        name, _, encoded = line.rstrip("\n").partition("\t")
        answer = {"id": name} | verdict(base64.b64decode(encoded, validate=True))
        out.write(json.dumps(answer, separators=(",", ":")) + "\n")
        out.flush()
