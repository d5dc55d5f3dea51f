"""`interpret`: an action as a flat list of typed nodes, or why it is none."""

import re

from . import canonical, digests
from .admission import Faults, first_unsafe, is_action_meta, valid_name
from .reading import read
from .values import JCS_INTEGER, Num, Obj, Refusal, pointer

_LONG = re.compile(r"(?:0|-?[1-9][0-9]{0,18})\Z")


def interpret(profile, action):
    """The view of `action` under `profile`; raises `Refusal`."""
    root = read(action)
    size = len(action)
    _form(root).settle("params", size)
    if profile == JCS_INTEGER:
        steps = first_unsafe(root, ())
        if steps is not None:
            raise Refusal("number", size, pointer(steps))
    if canonical.write(root) != action:
        raise Refusal("value", size, "")
    return {
        "binding": digests.binding(profile, action),
        "tool": root["name"],
        "view": list(view(root)),
    }


def view(value, name=None):
    """Every value of `value`, in canonical order, as (name, kind, payload)."""
    if value is None:
        yield name, "null", None
    elif type(value) is bool:
        yield name, "boolean", value
    elif type(value) is Num:
        if _LONG.match(value) and -(2**63) <= int(value) < 2**63:
            yield name, "integer", str(value)
        else:
            yield name, "number", str(value)
    elif type(value) is str:
        yield name, "text", value
    elif type(value) is list:
        yield name, "array", len(value)
        for item in value:
            yield from view(item)
    else:
        yield name, "object", len(value)
        for key in canonical.names(value):
            yield from view(value[key], key)


def _form(root):
    faults = Faults()
    if type(root) is not Obj:
        faults.at(0)
        return faults
    if "method" not in root or "name" not in root:
        faults.at(root.start)
    for name, value in root.items():
        if name == "method":
            sound = type(value) is str and value == "tools/call"
        elif name == "name":
            sound = valid_name(value)
        elif name in ("arguments", "task"):
            sound = type(value) is Obj
        else:
            sound = name == "_meta" and type(value) is Obj and len(value) > 0
        if not sound:
            faults.member(root, name)
    meta = root.get("_meta")
    if type(meta) is Obj:
        for name in meta:
            if not is_action_meta(name):
                faults.member(meta, name, "_meta")
    return faults
