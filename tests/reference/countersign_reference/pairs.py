"""How pairs of the equivalence vectors are stated, and what a relation demands."""

from .casebook import Disagreement, by_profile, bytes_of, call, marked, outcomes, spell

EQUAL, DISTINCT = "must-bind-equal", "must-not-bind-equal"
EITHER, REFUSED = "either-refuse-or-distinct", "must-refuse"


def pair(relation, a, b, why, a_admit="must", b_admit="must", whole=False):
    """A pair of arguments, or with `whole` of messages."""
    return {"relation": relation, "a": a, "b": b, "admit": (a_admit, b_admit), "why": why, "whole": whole}


def equal(a, b, why, admit="must", whole=False):
    return pair(EQUAL, a, b, why, admit, admit, whole)


def distinct(a, b, why, a_admit="must", b_admit="must", whole=False):
    return pair(DISTINCT, a, b, why, a_admit, b_admit, whole)


def spelled(a, b, why, a_admit="must", b_admit="may"):
    """Two spellings that some reader takes for one."""
    return pair(EITHER, a, b, why, a_admit, b_admit)


def refused(a, b, why, whole=False):
    """`a` is refused; `b` is what a lenient reader would have made of it."""
    return pair(REFUSED, a, b, why, "must-not", "must", whole)


def short(outcome):
    """An outcome as pairs hold it: the binding, the refusal, or the kind."""
    if "refused" in outcome:
        return outcome
    return {"binding": outcome["call"]["binding"]} if "call" in outcome else {"admitted": next(iter(outcome))}


def side(text, whole, admit):
    data, _, parts = marked(text)
    if not whole:
        # A recipe of arguments is wrapped piece by piece.
        parts = parts and [call("@").decode().split("@")[0], *parts, call("@").decode().split("@")[1]]
        data = call(data)
    results = {profile: short(found) for profile, found in outcomes(data).items()}
    return {**spell("message", data, parts), "admit": admit, "expect": by_profile(results)}


def holds(vector, results):
    """Why `results` (for `a` and `b`, one profile's) break the relation, or None."""
    admitted = {}
    for name in ("a", "b"):
        got = results[name]
        admitted[name] = "refused" not in got
        must = vector[name]["admit"]
        if must == "must-not" and admitted[name]:
            return f"`{name}` must be refused"
        if must == "must" and not admitted[name] and got["refused"]["code"] != "number":
            return f"`{name}` must be admitted"
    if admitted["a"] and admitted["b"]:
        same = results["a"] == results["b"]
        if vector["relation"] == EQUAL and not same:
            return "both are admitted and differ"
        if vector["relation"] in (DISTINCT, EITHER) and same:
            return "both are admitted and bind equal"
    if vector["relation"] == REFUSED and "must-not" not in (vector["a"]["admit"], vector["b"]["admit"]):
        return "nothing is to be refused"
    return None


def vector(kind, number, stated):
    """The vector of a stated pair; raises `Disagreement` where it does not hold."""
    made = {
        "id": f"{kind}-{number:03}",
        "kind": kind,
        "relation": stated["relation"],
        "why": stated["why"],
        "a": side(stated["a"], stated["whole"], stated["admit"][0]),
        "b": side(stated["b"], stated["whole"], stated["admit"][1]),
    }
    found = [{name: short(each) for name, each in zip("ab", both)} for both in zip(
        outcomes(bytes_of(made["a"])).values(), outcomes(bytes_of(made["b"])).values()
    )]
    for results in found:
        broken = holds(made, results)
        if broken:
            raise Disagreement(f"{made['id']} ({stated['why']}): {broken}: {results}")
    return made
