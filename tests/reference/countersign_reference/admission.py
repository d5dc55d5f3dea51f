"""What a message asks for: sections 1 (from `envelope` on), 2 and 3 of the page.

Each stage gathers all its faults as (where the pointed-at value begins, its
pointer); the first in the message is the one told. The next stage is looked
at only when the one before found nothing.
"""

import re

from . import canonical, digests
from .reading import read
from .values import JCS_INTEGER, Num, Obj, Refusal, pointer

CLIENT = frozenset(
    "io.modelcontextprotocol/" + name
    for name in ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel")
)
OWN = "countersign.dev/"
CORRELATION = ("execution_id", "workflow_id")
TRANSPORT = ("progressToken", "traceparent")
DROPPED = ("tracestate", "baggage")
SAFE = 2**53 - 1

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_VISIBLE = re.compile(r"[\x21-\x7e]{1,200}\Z")


class Faults(list):
    """Faults of one code. The offset is the whole message's length."""

    def at(self, start, *steps):
        self.append((start, steps))

    def member(self, holder, name, *steps):
        self.append((holder.at[name], steps + (name,)))

    def settle(self, code, size):
        if self:
            raise Refusal(code, size, pointer(min(self)[1]))


def safe_integer(lexeme):
    """Whether `jcs-integer` carries this number."""
    if not _INTEGER.match(lexeme) or lexeme == "-0":
        return False
    return len(lexeme) <= 17 and -SAFE <= int(lexeme) <= SAFE


def is_action_meta(name):
    """Whether a `_meta` member belongs to the action."""
    return not (
        name in CLIENT or name.startswith(OWN) or name in TRANSPORT or name in DROPPED
    )


def valid_name(value):
    return type(value) is str and 1 <= len(value) <= 128


def first_unsafe(value, steps):
    """Steps to the first number, in the order of the message, that is no safe integer."""
    if type(value) is Num:
        return None if safe_integer(value) else steps
    if type(value) is list:
        inside = ((str(index), item) for index, item in enumerate(value))
    elif isinstance(value, dict):
        inside = value.items()
    else:
        return None
    for step, item in inside:
        found = first_unsafe(item, steps + (step,))
        if found is not None:
            return found
    return None


def parse(message):
    """Reads and sorts a message under no profile yet: what `finish` needs of it."""
    root = read(message)
    size = len(message)
    _envelope(root).settle("envelope", size)
    if "method" not in root:
        answer = "ok" if "result" in root else "err"
        value = root["result"] if answer == "ok" else root["error"]
        return {"reply": {"id": _id(root["id"]), answer: canonical.write(value)}}
    method = root["method"]
    if method != "tools/call":
        params = canonical.write(root["params"]) if "params" in root else None
        if "id" in root:
            return {"request": {"id": _id(root["id"]), "method": method, "params": params}}
        return {"notification": {"method": method, "params": params}}
    _params(root).settle("params", size)
    params = root["params"]
    found, faults = _correlation(params)
    faults.settle("correlation", size)
    return {"call": _call(root, params, found), "params": params, "size": size}


def finish(parsed, profile):
    """`parsed` as `profile` admits it: the outcome, with the binding of a call."""
    if "call" not in parsed:
        return parsed
    if profile == JCS_INTEGER:
        for name, value in parsed["params"].items():
            if name == "_meta":
                value = {key: item for key, item in value.items() if is_action_meta(key)}
            elif name not in ("arguments", "task"):
                continue
            steps = first_unsafe(value, ("params", name))
            if steps is not None:
                raise Refusal("number", parsed["size"], pointer(steps))
    call = dict(parsed["call"])
    call["binding"] = digests.binding(profile, call["action"])
    return {"call": call}


def admit(profile, message):
    """The outcome of `message` under `profile`; raises `Refusal`."""
    return finish(parse(message), profile)


def _valid_id(value):
    if type(value) is Num:
        return safe_integer(value)
    return type(value) is str and len(value.encode()) <= 256


def _id(value):
    return {"number": int(value)} if type(value) is Num else {"text": value}


def _envelope(root):
    faults = Faults()
    if type(root) is not Obj:
        faults.at(0)
        return faults
    if "jsonrpc" not in root:
        faults.at(root.start)
    elif type(root["jsonrpc"]) is not str or root["jsonrpc"] != "2.0":
        faults.member(root, "jsonrpc")
    if "id" in root and not _valid_id(root["id"]):
        faults.member(root, "id")
    if "method" in root:
        allowed = ("jsonrpc", "id", "method", "params")
        if type(root["method"]) is not str:
            faults.member(root, "method")
        elif root["method"] == "tools/call" and "id" not in root:
            faults.at(root.start)
        if "params" in root and type(root["params"]) is not Obj:
            faults.member(root, "params")
    else:
        allowed = ("jsonrpc", "id", "result", "error")
        if "id" not in root or ("result" not in root and "error" not in root):
            faults.at(root.start)
        if "result" in root and "error" in root:
            faults.member(root, max("result", "error", key=root.at.__getitem__))
        if "error" in root and type(root["error"]) is not Obj:
            faults.member(root, "error")
    for name in root:
        if name not in allowed:
            faults.member(root, name)
    return faults


def _params(root):
    faults = Faults()
    if "params" not in root:
        faults.at(root.start)
        return faults
    params = root["params"]
    if "name" not in params:
        faults.at(params.start, "params")
    elif not valid_name(params["name"]):
        faults.member(params, "name", "params")
    for name, value in params.items():
        if name in ("arguments", "task", "_meta", "_cmcp", "inputResponses"):
            if type(value) is not Obj:
                faults.member(params, name, "params")
        elif name == "requestState":
            if type(value) is not str:
                faults.member(params, name, "params")
        elif name != "name":
            faults.member(params, name, "params")
    for holder, prefix in (("_cmcp", ""), ("_meta", OWN)):
        inside = params.get(holder)
        if type(inside) is Obj:
            for name in inside:
                if name.startswith(prefix) and name[len(prefix):] not in CORRELATION:
                    faults.member(inside, name, "params", holder)
    return faults


def _correlation(params):
    faults = Faults()
    found = {}
    for name in CORRELATION:
        sound = []
        for holder, full in (("_cmcp", name), ("_meta", OWN + name)):
            inside = params.get(holder)
            if inside is None or full not in inside:
                continue
            value = inside[full]
            if type(value) is str and _VISIBLE.match(value):
                sound.append((inside.at[full], value, ("params", holder, full)))
            else:
                faults.member(inside, full, "params", holder)
        sound.sort()
        if len(sound) == 2 and sound[0][1] != sound[1][1]:
            faults.at(sound[1][0], *sound[1][2])
        found[name] = sound[0][1] if sound else None
    return found, faults


def _call(root, params, correlation):
    meta = params.get("_meta", {})
    action = {"method": "tools/call", "name": params["name"]}
    for name in ("arguments", "task"):
        if name in params:
            action[name] = params[name]
    kept = {name: value for name, value in meta.items() if is_action_meta(name)}
    if kept:
        action["_meta"] = kept
    rounds = {name: params[name] for name in ("inputResponses", "requestState") if name in params}
    continuation = None
    if rounds:
        continuation = {
            "canonical": canonical.write(rounds),
            "request_state": rounds.get("requestState"),
        }
    return {
        "id": _id(root["id"]),
        "action": canonical.write(action),
        "execution_id": correlation["execution_id"],
        "workflow_id": correlation["workflow_id"],
        "client": canonical.write({n: v for n, v in meta.items() if n in CLIENT}),
        "continuation": continuation,
        "transport": canonical.write({n: v for n, v in meta.items() if n in TRANSPORT}),
    }
