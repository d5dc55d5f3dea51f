"""How cases are written down, and how they look in `vectors/`.

A case states by hand what must come out; the reference must agree before a
vector is written, so each proves the other. In a message `@@` marks the place
right after the byte that makes a fault certain, and is taken out.
"""

import base64
import json

from . import digests
from .admission import finish, parse
from .batch import plain, refused
from .interpretation import interpret
from .values import EXACT, JCS_INTEGER, PROFILES, Refusal

MARK = b"@@"
LONG = 1_024
CANONICAL = ("action", "params", "ok", "err", "client", "transport", "canonical")


class Disagreement(Exception):
    """A case and the reference say different things."""


def repeat(text, times):
    return {"repeat": text, "times": times}


def numbered(before, after, times):
    """`before`, a number counting from 0, `after`; `times` times."""
    return {"numbered": [before, after], "times": times}


def expand(parts):
    """The bytes of a recipe."""
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part.encode())
        elif "repeat" in part:
            out.append(part["repeat"].encode() * part["times"])
        elif "numbered" in part:
            before, after = part["numbered"]
            out.append("".join(f"{before}{n}{after}" for n in range(part["times"])).encode())
        else:
            out.append(base64.b64decode(part["base64"]))
    return b"".join(out)


def spell(name, data, parts=None):
    """The members that carry `data` in a vector: text, base64 or a recipe."""
    if parts is not None:
        return {f"{name}_parts": parts}
    try:
        text = data.decode()
        if all(char.isprintable() or char in "\t\n\r" for char in text):
            return {name: text}
    except UnicodeDecodeError:
        pass
    return {f"{name}_base64": base64.b64encode(data).decode()}


def bytes_of(case, name="message"):
    """The bytes that a vector carries; the inverse of `spell`."""
    if name in case:
        return case[name].encode()
    if f"{name}_parts" in case:
        return expand(case[f"{name}_parts"])
    return base64.b64decode(case[f"{name}_base64"])


def marked(message):
    """(bytes, offset of the mark or None, recipe or None) of a message as cases write it."""
    parts = None
    if isinstance(message, list):
        parts, message = message, expand(message)
    if isinstance(message, str):
        message = message.encode()
    before, mark, after = message.partition(MARK)
    return before + after, len(before) if mark else None, parts


def by_digest(text):
    """A text of more than 1,024 bytes by its digest and length; a shorter one as it is."""
    data = text.encode()
    if len(data) <= LONG:
        return text
    return {"sha256": digests.plain(data), "bytes": len(data)}


def brief(outcome):
    """An outcome as vectors hold it: a long canonical text by its digest and length."""
    def shorten(name, value):
        if isinstance(value, dict):
            return {key: shorten(key, item) for key, item in value.items()}
        return by_digest(value) if name in CANONICAL and isinstance(value, str) else value

    return shorten("", outcome)


def outcomes(message):
    """What each profile makes of `message`, read once."""
    results = {}
    try:
        parsed = parse(message)
    except Refusal as refusal:
        return {profile: refused(refusal) for profile in PROFILES}
    for profile in PROFILES:
        try:
            results[profile] = brief(plain(finish(parsed, profile)))
        except Refusal as refusal:
            results[profile] = refused(refusal)
    return results


def by_profile(results):
    """`{"*": result}` where all profiles agree, else one for each."""
    first, *others = results.values()
    return {"*": first} if all(other == first for other in others) else results


def check(name, want, got):
    if want != got:
        raise Disagreement(f"{name}\n  case:      {json.dumps(want)}\n  reference: {json.dumps(got)}")


def refuses(name, message, code, pointer="", offset=None):
    """A message that every profile refuses: at the mark, at `offset`, or as a whole."""
    data, mark, parts = marked(message)
    if mark is None:
        mark = len(data) if offset is None else offset
    want = {"refused": {"code": code, "offset": mark, "pointer": pointer}}
    results = outcomes(data)
    for profile in PROFILES:
        check(f"{name} ({profile})", want, results[profile])
    return {"name": name, **spell("message", data, parts), "expect": by_profile(results)}


def admits(name, message, kind, number=None, **fields):
    """A message that is admitted; `fields` are those stated by hand.

    `number` is the pointer at which `jcs-integer` refuses it instead.
    """
    data, _, parts = marked(message)
    results = outcomes(data)
    for profile in PROFILES:
        got = results[profile]
        if number is not None and profile == JCS_INTEGER:
            want = {"refused": {"code": "number", "offset": len(data), "pointer": number}}
            check(f"{name} ({profile})", want, got)
            continue
        check(f"{name} ({profile})", kind, next(iter(got)))
        for field, want in fields.items():
            check(f"{name} ({profile}, {field})", want, got[kind][field])
    return {"name": name, **spell("message", data, parts), "expect": by_profile(results)}


def interpretations(action):
    """What each profile makes of `action` as an action."""
    results = {}
    for profile in PROFILES:
        try:
            found = interpret(profile, action)
            results[profile] = {
                "view": {
                    "binding": found["binding"],
                    "tool": found["tool"],
                    "nodes": [node(*each) for each in found["view"]],
                }
            }
            if len(found["view"]) > LONG:
                results[profile]["view"]["nodes"] = {"count": len(found["view"])}
        except Refusal as refusal:
            results[profile] = refused(refusal)
    return results


def node(name, kind, value):
    """A node as vectors hold it: `name` and `value` only where there is one."""
    found = {"kind": kind}
    if name is not None:
        found = {"name": name} | found
    if value is not None:
        found["value"] = by_digest(value) if kind == "text" else value
    return found


def interprets(name, action, nodes, number=None):
    """An action and its whole view, if given by hand."""
    data, _, parts = marked(action)
    results = interpretations(data)
    for profile in PROFILES:
        got = results[profile]
        if number is not None and profile == JCS_INTEGER:
            want = {"refused": {"code": "number", "offset": len(data), "pointer": number}}
            check(f"{name} ({profile})", want, got)
            continue
        check(f"{name} ({profile})", "view", next(iter(got)))
        if nodes is not None:
            check(f"{name} ({profile})", nodes, got["view"]["nodes"])
    return {"name": name, **spell("action", data, parts), "expect": by_profile(results)}


def rejects(name, action, code, pointer="", offset=None, number=None):
    """Bytes that `interpret` refuses under every profile."""
    data, mark, parts = marked(action)
    if mark is None:
        mark = len(data) if offset is None else offset
    results = interpretations(data)
    for profile in PROFILES:
        want = {"code": code, "offset": mark, "pointer": pointer}
        if number is not None and profile == JCS_INTEGER:
            want = {"code": "number", "offset": len(data), "pointer": number}
        check(f"{name} ({profile})", {"refused": want}, results[profile])
    return {"name": name, **spell("action", data, parts), "expect": by_profile(results)}


def call(arguments, name="t"):
    """A `tools/call` with these arguments."""
    if isinstance(arguments, str):
        arguments = arguments.encode()
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + name.encode()
        + b'","arguments":' + arguments + b"}}"
    )


def params(text):
    """A `tools/call` with these params."""
    return '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + text + "}"


def reply(text):
    return '{"jsonrpc":"2.0","id":1,"result":' + text + "}"


__all__ = [
    "EXACT", "JCS_INTEGER", "PROFILES", "admits", "by_profile", "bytes_of", "call", "check",
    "expand", "interpretations", "interprets", "numbered", "outcomes", "params", "refuses",
    "rejects", "repeat", "reply", "spell",
]
