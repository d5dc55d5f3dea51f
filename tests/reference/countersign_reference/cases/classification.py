"""Classification: every combination of the finite table, each row stated by hand."""

from itertools import product

from .. import digests
from ..casebook import EXACT, JCS_INTEGER, check
from ..classification import classify

_OUTCOMES = ("succeeded", "tool-error", "upstream-error", "not-attempted", "outcome-unknown")
_STATES = (
    "in-flight", {"awaiting-input": None}, {"awaiting-input": "A"}, "task-open",
    *({"settled": outcome} for outcome in _OUTCOMES), "blocked",
)
# Continuation `new` or `old` (claimed before), and its request state.
_ROUNDS = (None, *product(("new", "old"), (None, "A", "B")))
_SAME = (True, False)


def _digest(text):
    return digests.plain(text.encode())


_TARGETS = ("ledger@" + _digest("one") + "/transfer", "ledger@" + _digest("two") + "/transfer")


def _expected(profile, binding, target, state, round_):
    """What the page says, by what is seen and not by the order of its list."""
    if not target or (profile and not binding):
        return {"collision": [name for name, differs in (("binding", profile and not binding), ("target", not target)) if differs]}
    if not profile:
        return "incomparable"
    known = {"blocked": "blocked"} | {f"settled {outcome}": {"replay": outcome} for outcome in _OUTCOMES}
    label = state if isinstance(state, str) else " ".join(str(part) for item in state.items() for part in item)
    table = {
        # state: no round, new/none, new/A, new/B, old (any)
        "in-flight": ("in-flight", "in-flight", "in-flight", "in-flight", "round-replay"),
        "task-open": ("in-flight", "in-flight", "in-flight", "in-flight", "round-replay"),
        "awaiting-input None": ("round-replay", "continuation", "continuation-mismatch", "continuation-mismatch", "round-replay"),
        "awaiting-input A": ("round-replay", "continuation-mismatch", "continuation", "continuation-mismatch", "round-replay"),
    }
    if label in known:
        return known[label]
    if round_ is None:
        return table[label][0]
    if round_[0] == "old":
        return table[label][4]
    return table[label][{None: 1, "A": 2, "B": 3}[round_[1]]]


def _said(state):
    if isinstance(state, str):
        return state
    (kind, detail), = state.items()
    if kind == "settled":
        return f"settled as {detail}"
    return "awaiting input " + ("without a state" if detail is None else "with a state")


def _round(round_):
    if round_ is None:
        return None
    return {
        "continuation": _digest("continuation " + round_[0]),
        "request_state": None if round_[1] is None else _digest("state " + round_[1]),
    }


def _presented(round_):
    return {"profile": EXACT, "binding": _digest("binding"), "target": _TARGETS[0], "round": _round(round_)}


def cases():
    for round_ in _ROUNDS:
        want = "fresh" if round_ is None else "continuation-mismatch"
        presented = _presented(round_)
        check(f"no record, {round_}", want, classify(presented, None))
        said = "no round" if round_ is None else f"a round ({round_[0]}, state {round_[1]})"
        yield {"name": f"no record: {said}", "presented": presented, "recorded": None, "expect": want}
    for profile, binding, target, state, round_ in product(_SAME, _SAME, _SAME, _STATES, _ROUNDS):
        presented = _presented(round_)
        held = state
        if state == {"awaiting-input": "A"}:
            held = {"awaiting-input": _digest("state A")}
        claimed = [_digest("continuation older")]
        if round_ is not None and round_[0] == "old":
            claimed.append(_digest("continuation old"))
        recorded = {
            "profile": EXACT if profile else JCS_INTEGER,
            "binding": _digest("binding" if binding else "another binding"),
            "target": _TARGETS[0 if target else 1],
            "state": held,
            "claimed": claimed,
        }
        want = _expected(profile, binding, target, state, round_)
        differing = [what for what, same in (("profile", profile), ("binding", binding), ("target", target)) if not same]
        said = "no round" if round_ is None else f"a round ({'claimed before' if round_[0] == 'old' else 'new'}, state {round_[1] or 'absent'})"
        name = f"{_said(state)}, {said}, " + ("everything the same" if not differing else "another " + " and ".join(differing))
        check(name, want, classify(presented, recorded))
        yield {"name": name, "presented": presented, "recorded": recorded, "expect": want}
    for name, recorded in (
        ("another version of one profile is incomparable", {"profile": "exact@1.0.1"}),
        ("a target that differs in case is another", {"target": _TARGETS[0].replace("ledger", "Ledger")}),
        ("a binding that differs in case is another", {"binding": _digest("binding").upper()}),
        ("nothing claimed yet", {"claimed": []}),
    ):
        base = {
            "profile": EXACT, "binding": _digest("binding"), "target": _TARGETS[0],
            "state": {"awaiting-input": None}, "claimed": [],
        } | recorded
        presented = _presented(("new", None))
        want = {
            "profile": "incomparable", "target": {"collision": ["target"]},
            "binding": {"collision": ["binding"]}, "claimed": "continuation",
        }[next(iter(recorded))]
        check(name, want, classify(presented, base))
        yield {"name": name, "presented": presented, "recorded": base, "expect": want}
