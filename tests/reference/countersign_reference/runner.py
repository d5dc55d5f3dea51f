"""Runs `vectors/` as any implementation would: the files are the contract."""

import json

from . import canonical, digests
from .casebook import bytes_of, interpretations, outcomes
from .classification import classify
from .numbers import parts
from .pairs import holds, short
from .reading import read
from .second import exact_key
from .values import EXACT, LIMITS, PROFILES


def expected(case, profile):
    """What `case` expects under `profile`."""
    return case["expect"].get("*") or case["expect"][profile]


def _admit(case):
    message = bytes_of(case)
    found = outcomes(message)
    for profile in PROFILES:
        want = expected(case, profile)
        if found[profile] != want:
            yield f"{profile}: expected {want}, found {found[profile]}"
        yield from _again(profile, found[profile], message)
        if profile in case.get("digests", {}):
            yield from _digests(profile, found[profile]["call"], case["digests"][profile])


def _again(profile, outcome, message):
    """What holds of every call: its action is admitted again, and means itself."""
    action = outcome.get("call", {}).get("action")
    if not isinstance(action, str):
        return
    found = interpretations(action.encode())[profile]
    if found.get("view", {}).get("binding") != outcome["call"]["binding"]:
        yield f"{profile}: interpret gives {found}"
    root = read(action.encode())
    del root["method"]
    inner = canonical.write(root).decode()
    enveloped = f'{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{inner}}}'.encode()
    again = outcomes(enveloped)[profile]
    if again.get("call", {}).get("action") != action:
        yield f"{profile}: the enveloped action gives {again}"
    if profile == EXACT and exact_key(enveloped) != exact_key(message):
        yield "the second reader tells the action and its message apart"


def _digests(profile, call, want):
    found = {"client": digests.client_context(call["client"].encode())}
    rounds = call["continuation"]
    if rounds:
        state = rounds["request_state"]
        found["continuation"] = digests.continuation(profile, call["binding"], rounds["canonical"].encode())
        found["request_state"] = None if state is None else digests.request_state(state)
    if found != want:
        yield f"{profile}: expected the digests {want}, found {found}"


def _interpret(case):
    found = interpretations(bytes_of(case, "action"))
    for profile in PROFILES:
        if found[profile] != expected(case, profile):
            yield f"{profile}: expected {expected(case, profile)}, found {found[profile]}"


def _numbers(case):
    floor, ceil, decimal = parts(case["lexeme"])
    if (str(floor), str(ceil), decimal) != (case["floor"], case["ceil"], case["decimal"]):
        yield f"found {floor}, {ceil}, {decimal}"


def _classify(case):
    found = classify(case["presented"], case["recorded"])
    if found != case["expect"]:
        yield f"expected {case['expect']}, found {found}"


def _equivalence(case):
    messages = {name: bytes_of(case[name]) for name in "ab"}
    found = {name: outcomes(message) for name, message in messages.items()}
    for profile in PROFILES:
        results = {name: short(found[name][profile]) for name in "ab"}
        for name in "ab":
            if results[name] != expected(case[name], profile):
                yield f"{profile}: expected {expected(case[name], profile)} of {name}, found {results[name]}"
        broken = holds(case, results)
        if broken:
            yield f"{profile}: {broken}"
    if all("call" in found[name][EXACT] for name in "ab"):
        apart = exact_key(messages["a"]) != exact_key(messages["b"])
        if apart != (found["a"][EXACT]["call"]["action"] != found["b"][EXACT]["call"]["action"]):
            yield "the second reader sees it otherwise"


def _describe(case):
    if case["name"] not in PROFILES or case["limits"] != LIMITS:
        yield f"expected {case}"


KINDS = {
    "admit": _admit, "interpret": _interpret, "numbers": _numbers, "classify": _classify,
    "equivalence": _equivalence, "describe": _describe,
}


def run(folder):
    """Runs every file of `folder`; prints what fails, then the count; the exit status."""
    passed = failed = 0
    for path in sorted(folder.glob("*.json")):
        file = json.loads(path.read_text(encoding="ascii"))
        if file["kind"] == "protocol":
            continue  # What a gateway answers, and no reader.
        for case in file["cases"]:
            wrong = list(KINDS[file["kind"]](case))
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for line in wrong:
                print(f"{path.name}: {case.get('name') or case.get('id') or case['lexeme']}: {line}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
