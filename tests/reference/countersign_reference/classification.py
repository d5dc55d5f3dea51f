"""What an attempt is, given the record (docs/spec/executions.md, section 3).

The page gives a list to be read in order; this is the same list as rules of
(does it apply, what it says), over the shapes that the vectors are written in.
"""


def classify(presented, recorded):
    """The classification of `presented` beside `recorded`, or None for no record."""
    round_ = presented["round"]
    if recorded is None:
        return "fresh" if round_ is None else "continuation-mismatch"
    same_profile = presented["profile"] == recorded["profile"]
    difference = []
    if same_profile and presented["binding"] != recorded["binding"]:
        difference.append("binding")
    if presented["target"] != recorded["target"]:
        difference.append("target")
    if difference:
        return {"collision": difference}
    if not same_profile:
        return "incomparable"
    state = recorded["state"]
    if isinstance(state, dict) and "settled" in state:
        return {"replay": state["settled"]}
    if state == "blocked":
        return "blocked"
    if round_ is not None and round_["continuation"] in recorded["claimed"]:
        return "round-replay"
    if isinstance(state, dict):
        if round_ is None:
            return "round-replay"
        issued = state["awaiting-input"]
        return "continuation" if issued == round_["request_state"] else "continuation-mismatch"
    return "in-flight"
