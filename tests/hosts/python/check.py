"""Compares what the components answer with `vectors/`, field by field.

Byte recipes and the form of an outcome are read as vectors/README.md says;
nothing of the reference is used, so that these are two readers of one page.
"""

import base64
import hashlib
import json

from host import LONG, Profile, Record, Variant, field, record

PROFILES = ("exact@1.0.0", "jcs-integer@1.0.0")


def bytes_of(case, name):
    """The bytes of a message or an action."""
    if name in case:
        return case[name].encode()
    if f"{name}_base64" in case:
        return base64.b64decode(case[f"{name}_base64"])
    out = []
    for part in case[f"{name}_parts"]:
        if isinstance(part, str):
            out.append(part.encode())
        elif "repeat" in part:
            out.append(part["repeat"].encode() * part["times"])
        elif "numbered" in part:
            before, after = part["numbered"]
            out.extend(f"{before}{number}{after}".encode() for number in range(part["times"]))
        else:
            out.append(base64.b64decode(part["base64"]))
    return b"".join(out)


def text(data):
    """Canonical bytes or a text as a vector gives them."""
    if data is None:
        return None
    if isinstance(data, str):
        data = data.encode()
    if len(data) <= LONG:
        return data.decode()
    return {"sha256": "sha256:" + hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def refused(refusal):
    return {"refused": {name: field(refusal, name) for name in ("code", "offset", "pointer")}}


def binding(profile, action):
    preimage = f"countersign.action-binding.v1\n{profile}\n".encode() + action
    return "sha256:" + hashlib.sha256(preimage).hexdigest()


def id_of(value):
    return {"number": value} if isinstance(value, int) else {"text": value}


def outcome(profile, answer):
    """What `admit` answered, as a vector gives it, and the action."""
    if isinstance(answer, Record):
        return refused(answer), None
    kind, value = answer.tag, answer.payload
    if kind == "call":
        action = value.action
        continuation = value.continuation
        return {"call": {
            "id": id_of(value.id),
            "action": text(action),
            "execution_id": field(value, "execution_id"),
            "workflow_id": field(value, "workflow_id"),
            "client": text(value.client),
            "continuation": continuation and {
                "canonical": text(continuation.canonical),
                "request_state": field(continuation, "request_state"),
            },
            "transport": text(value.transport),
            "binding": binding(profile, action),
        }}, action
    if kind == "request":
        found = {"id": id_of(value.id), "method": value.method, "params": text(value.params)}
    elif kind == "notification":
        found = {"method": value.method, "params": text(value.params)}
    else:
        found = {"id": id_of(value.id), value.answer.tag: text(value.answer.payload)}
    return {kind: found}, None


def view(answer):
    """What `interpret` answered, as a vector gives it."""
    if answer.tag == "err":
        return refused(answer.payload)
    found = answer.payload
    nodes = {"count": found.view} if isinstance(found.view, int) else [node(each) for each in found.view]
    return {"view": {"binding": found.binding, "tool": found.tool, "nodes": nodes}}


def node(found):
    kind, value = found.value.tag, found.value.payload
    made = {} if found.name is None else {"name": found.name}
    made["kind"] = kind
    if kind == "integer":
        made["value"] = str(value)
    elif kind == "text":
        made["value"] = text(value)
    elif kind != "null":
        made["value"] = value
    return made


def admit(profile, component, case):
    message = bytes_of(case, "message")
    found, action = outcome(profile, component.call("admit", message))
    yield expected(case, profile), found
    if action is not None:
        again = view(component.call("interpret", action))
        yield binding(profile, action), again.get("view", again).get("binding")


def interpret(profile, component, case):
    yield expected(case, profile), view(component.call("interpret", bytes_of(case, "action")))


def classify(_profile, component, case):
    presented = dict(case["presented"])
    if presented["round"] is not None:
        presented["round"] = record(**presented["round"])
    recorded = case["recorded"]
    if recorded is not None:
        state = recorded["state"]
        (tag, payload), = state.items() if isinstance(state, dict) else [(state, None)]
        recorded = record(**(recorded | {"state": Variant(tag, payload)}))
    answer = component.call("classify", record(**presented), recorded)
    if answer.tag == "replay":
        found = {"replay": answer.payload}
    elif answer.tag == "collision":
        found = {"collision": sorted(answer.payload)}
    else:
        found = answer.tag
    yield case["expect"], found


def equivalence(profile, component, case):
    found = {}
    for name in "ab":
        answer, _ = outcome(profile, component.call("admit", bytes_of(case[name], "message")))
        found[name] = answer if "refused" in answer else {"binding": answer["call"]["binding"]}
        yield expected(case[name], profile), found[name]
    if "binding" in found["a"] and "binding" in found["b"]:
        yield case["relation"] == "must-bind-equal", found["a"] == found["b"]
    for name in "ab":
        must = case[name]["admit"]
        if must == "must":
            yield True, "binding" in found[name] or found[name]["refused"]["code"] == "number"
        elif must == "must-not":
            yield True, "refused" in found[name]


def describe(profile, component, case):
    if case["name"] != profile:
        return
    found = component.call("describe")
    yield profile, found.id
    yield case["limits"], {name: field(found.limits, name) for name in case["limits"]}
    # What is not ambiguous to it the binding gives without a tag: a refusal has a `code`.
    refusals = [hasattr(vector.answer, "code") for vector in found.vectors]
    calls = [hasattr(vector.answer, "action") for vector in found.vectors]
    yield True, 2 <= len(refusals) <= 64 and any(refusals) and any(calls)
    for vector, is_refusal, is_call in zip(found.vectors, refusals, calls):
        got, action = outcome(profile, component.call("admit", vector.message))
        if is_refusal:
            yield refused(vector.answer), got
        elif is_call:
            yield (vector.answer.action, vector.answer.binding), (action, binding(profile, action))
        else:
            yield True, action is None and "refused" not in got


def expected(case, profile):
    return case["expect"].get("*") or case["expect"][profile]


KINDS = {
    "admit": admit, "interpret": interpret, "classify": classify, "equivalence": equivalence,
    "describe": describe,
}


def run(root):
    """Runs every vector that a component answers, under each released profile."""
    passed = failed = 0
    for profile in PROFILES:
        component = Profile(root / "guest" / "released" / f"{profile}.wasm")
        for path in sorted((root / "vectors").glob("*.json")):
            file = json.loads(path.read_text())
            check = KINDS.get(file["kind"])
            for case in file["cases"] if check else ():
                wrong = [pair for pair in check(profile, component, case) if pair[0] != pair[1]]
                passed, failed = passed + (not wrong), failed + bool(wrong)
                for want, got in wrong:
                    name = case.get("name") or case.get("id")
                    print(f"{profile}: {path.name}: {name}: expected {want}, found {got}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
