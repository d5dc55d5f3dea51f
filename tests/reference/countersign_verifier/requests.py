"""Admission (evidence.md, section 5): the requests at hand, read again."""

from countersign_reference import admission, digests
from countersign_reference.values import Refusal

from .blinds import blinded


def _reading(profile, message):
    """What the entry of a request must say; None where it is no call."""
    try:
        call = admission.admit(profile, message).get("call")
    except Refusal:
        return None
    if call is None:
        return None
    rounds = call["continuation"]
    state = rounds and rounds["request_state"]
    bound = call["binding"]
    return {
        "execution_id": call["execution_id"],
        "binding": bound,
        "tool": admission.read(message)["params"]["name"],
        "workflow_id": call["workflow_id"],
        "continuation": rounds and digests.continuation(profile, bound, rounds["canonical"]),
        "request_state_presented": None if state is None else digests.request_state(state),
        "client_digest": digests.client_context(call["client"]),
    }


def check(entries, requests, approved, opened, carried, findings):
    """Judges the requests at hand, and the components that a bundle carries."""
    attempts = []
    named = {}
    for entry in entries:
        text = entry["client"]
        if text is not None and entry["client_digest"] != digests.client_context(text.encode()):
            findings.contradict("admission", "a client context with another digest")
        if entry["profile"] is not None and entry["component"] is not None:
            named.setdefault(entry["profile"], set()).add(entry["component"])
        bound = None not in (entry["profile"], entry["component"], entry["binding"])
        if bound and entry["kind"] in ("admission", "refusal", "round"):
            attempts.append(entry)
    for profile, component in carried:
        if profile in named and component not in named[profile]:
            findings.contradict("admission", f"another component is called {profile}")
    if not requests:
        findings.leave_open("admission", "no request")
    for message in requests:
        readings = {profile: _reading(profile, message) for profile, _ in approved}
        matched = differs = unread = False
        for entry in attempts:
            if (entry["profile"], entry["component"]) not in approved:
                unread = True
                continue
            reading = readings[entry["profile"]]
            if reading is not None and entry.get("blind"):
                if entry["hash"] not in opened:
                    unread = True
                    continue
                salt = opened[entry["hash"]][0]
                hidden = ("binding", "continuation")
                reading = reading | {name: blinded(salt, reading[name]) for name in hidden}
            if reading is None:
                unread = True
            elif entry["execution_id"] == reading["execution_id"]:
                if entry["binding"] != reading["binding"]:
                    differs |= entry["execution_id"] is not None
                elif _agrees(entry, reading):
                    matched = True
                else:
                    differs = True
        if matched:
            findings.show("admission")
        elif differs:
            findings.contradict("admission", "an entry says something else")
        else:
            findings.leave_open("admission", "unread" if unread else "no entry is about it")


def _agrees(entry, reading):
    same = ["tool", "workflow_id", "continuation", "request_state_presented"]
    # With sessions the request does not carry the client context alone.
    if entry["client"] is None and entry["client_digest"] is not None:
        same.append("client_digest")
    return all(entry[name] == reading[name] for name in same)
