"""Classification and ordering (evidence.md, section 5): every execution, replayed."""

from countersign_reference.classification import classify

ATTEMPTS = ("admission", "refusal", "round")
FACTS = ("profile", "component", "binding", "server", "server_digest", "tool")

# (kind, state before) -> state after; `same` stays, what is not here may not follow.
SETTLES = "settled"
MOST_ROUNDS = 32
TABLE = {
    ("terminal", "in-flight"): SETTLES,
    ("terminal", "awaiting-input"): SETTLES,
    ("terminal", "task-open"): SETTLES,
    ("blocked", "in-flight"): "blocked",
    ("late-answer", "blocked"): "same",
    ("late-answer", "settled"): "same",
    ("resolution", "blocked"): SETTLES,
    ("resolution", "settled"): "same",
    ("task", "in-flight"): "task-open",
    ("task", "task-open"): "task-open",
    ("round asked", "in-flight"): "awaiting-input",
    ("round claimed", "awaiting-input"): "in-flight",
}
KINDS = (
    "start", "admission", "refusal", "suppressed", "terminal", "late-answer", "blocked",
    "resolution", "round", "task", "alias", "policy-loaded", "catalog-approved", "catalog-drift",
    "discovery", "profile-loaded", "profile-fault", "key-rotated", "rollback",
)


def target(entry):
    parts = entry["server"], entry["server_digest"], entry["tool"]
    return None if None in parts else "{}@{}/{}".format(*parts)


def key(entry):
    """Whose execution an entry is about, and which."""
    if entry["agent"] is None:
        return None
    agent = tuple(entry["agent"][name] for name in ("method", "issuer", "subject"))
    if entry["execution_id"] is not None:
        return agent, "execution", entry["execution_id"]
    return None if entry["call_id"] is None else (agent, "call", entry["call_id"])


def granted(entry):
    return entry["kind"] == "admission" or (
        entry["kind"] == "round" and entry["round"] is not None and entry["round"]["says"] == "claimed"
    )


class Execution:
    """The state that an execution's entries give, one after the other."""

    def __init__(self, entry):
        self.facts = {name: entry[name] for name in FACTS}
        self.target = target(entry)
        self.blinded = entry.get("blind") == "salted"
        self.state = "in-flight"
        self.outcome = None
        self.issued = None
        self.claimed = []
        self.callers = {entry["call_id"]} - {None}
        self.fence = int(entry["fence"] or 0)
        self.first = entry
        self.key = key(entry)
        self.length = 1

    def recorded(self):
        """The execution as `classify` is told of it."""
        state = {"settled": {"settled": self.outcome}, "awaiting-input": {"awaiting-input": self.issued}}
        return {
            "profile": self.facts["profile"],
            "binding": self.facts["binding"],
            "target": self.target,
            "state": state.get(self.state, self.state),
            "claimed": self.claimed,
        }

    def step(self, entry):
        """Goes on by an entry; answers why it may not follow, or None."""
        kind = entry["kind"]
        holds = any(entry[name] for name in ("binding", "continuation", "answer_digest"))
        if holds and (entry.get("blind") == "salted") != self.blinded:
            return "blinded in one entry and not in another"
        if kind != "refusal":
            fault = self._same(entry)
            if fault:
                return fault
        fence = self.fence if entry["fence"] is None else int(entry["fence"])
        if fence < self.fence and kind != "late-answer":
            return "its fence falls"
        self.fence = max(self.fence, fence)
        if kind == "resolution" and entry["outcome"] == "not-attempted":
            if entry["effect_boundary"] == "response-received":
                return "nothing attempted, and yet an answer"
        if kind not in KINDS:
            self.state = "unknown"
        if kind == "refusal" or self.state == "unknown":
            return None
        if kind == "round":
            return self._round(entry)
        after = TABLE.get((kind, self.state))
        if after is None:
            return f"a {kind} may not follow {self.state}"
        if after == SETTLES:
            if entry["outcome"] is None:
                return "it settles without an outcome"
            self.outcome = entry["outcome"]
        if after != "same":
            self.state = after
        return None

    def _same(self, entry):
        if any(entry[name] != value for name, value in self.facts.items()):
            return "it names something else than was reserved"
        says = entry["round"] and entry["round"]["says"]
        if says != "claimed" and (entry["decision"] is not None or entry["continuation"] is not None):
            return "it carries what only an attempt carries"
        if says != "claimed" and entry["call_id"] not in self.callers:
            return "its call was not permitted to invoke"
        return None

    def _round(self, entry):
        if entry["round"] is None:
            return "a round without a number"
        says = entry["round"]["says"]
        before = len(self.claimed)
        after = TABLE.get((f"round {says}", self.state))
        if after is None:
            return f"a round {says} may not follow {self.state}"
        if says == "asked":
            self.issued = entry["request_state_issued"]
            expected = before + 1
        else:
            if entry["continuation"] is None or entry["call_id"] is None:
                return "it claims without a continuation or a call"
            if before >= MOST_ROUNDS:
                return "more rounds than there can be"
            self.claimed.append(entry["continuation"])
            self.callers.add(entry["call_id"])
            expected = before + 1
        self.state = after
        return None if int(entry["round"]["number"]) == expected else "another number"


def code_fault(entry):
    """Whether refusal code, verdict and round fit together."""
    kind, code = entry["kind"], entry["refusal"]
    verdict = entry["classification"] and entry["classification"]["verdict"]
    refuses = verdict not in (None, "fresh", "continuation")
    if kind == "refusal":
        if code is None:
            return "a refusal without a code"
        if refuses and verdict != code:
            return "a refusal with another code than its verdict"
    if code is not None and granted(entry):
        return "permitted and refused"
    if (entry["round"] is not None) != (kind == "round"):
        return "a round and no number, or the other way round"
    host_said = verdict == "collision" and entry["classification"]["difference"] == ["not-admissible"]
    withheld = entry.get("blind") == "withheld"
    if not host_said and not withheld and entry["request_state_presented"] is not None and entry["continuation"] is None:
        return "a state and no continuation"
    return None


def _worded(said):
    if said["verdict"] == "replay":
        return {"replay": said["outcome"]}
    if said["verdict"] == "collision":
        return {"collision": said["difference"]}
    return said["verdict"]


class Replay:
    """All executions of a bundle."""

    def __init__(self, approved, opened, findings):
        self.approved, self.opened, self.findings = approved, opened, findings
        self.reserved = {}
        self.aliases = False

    def run(self, entries, whole):
        """Replays every chain in the order in which its links allow it."""
        tips, waiting = {}, {}
        for entry in entries:
            self.aliases |= entry["kind"] == "alias"
            if entry["execution_seq"] is None:
                self.unlinked(entry, whole)
                continue
            queue = [entry]
            while queue:
                entry = queue.pop(0)
                previous = entry["execution_previous"]
                if previous is None:
                    execution = self.begin(entry)
                elif previous in tips:
                    execution = tips.pop(previous)
                    self.follow(execution, entry)
                else:
                    waiting.setdefault(previous, []).append(entry)
                    continue
                if execution is None:
                    continue
                tips[entry["hash"]] = execution
                first, *others = waiting.pop(entry["hash"], [None])
                queue += [first] if first else []
                for other in others:
                    self.findings.contradict("ordering", "a fork")
        for entry in [entry for held in waiting.values() for entry in held]:
            if whole:
                self.findings.contradict("ordering", "it follows nothing")
            else:
                self.findings.leave_open("ordering", "it follows what is not there")
                self.findings.leave_open("classification", "it follows what is not there")
        if self.aliases:
            self.findings.leave_open("ordering", "aliases are not followed")
        self.findings.show("classification")
        self.findings.show("ordering")

    def unlinked(self, entry, whole):
        if entry["kind"] in ("admission", "terminal", "round", "blocked"):
            self.findings.contradict("ordering", f"a {entry['kind']} on no execution")
        self.classified(None, entry)
        said = entry["classification"]
        earlier = self.reserved.get(key(entry)) if key(entry) else None
        if not said or said["verdict"] not in ("fresh", "continuation-mismatch"):
            return
        if not whole:
            self.findings.leave_open("classification", "what was recorded may be left out")
        if earlier:
            first = earlier.first
            same_log = first["log_id"] == entry["log_id"]
            if same_log and int(first["sequence"]) < int(entry["sequence"]):
                self.findings.contradict("classification", "something was recorded before")

    def begin(self, entry):
        if entry["kind"] != "admission":
            self.findings.contradict("ordering", "an execution begins without an admission")
            return None
        if any(entry[name] is None for name in FACTS):
            self.findings.contradict("ordering", "an admission lacks something")
            return None
        self.classified(None, entry)
        execution = Execution(entry)
        if execution.key is None:
            self.findings.contradict("ordering", "an admission of nobody, or of nothing")
        if execution.key in self.reserved:
            self.findings.contradict("ordering", "reserved twice")
        if execution.key:
            self.reserved[execution.key] = execution
        return execution

    def follow(self, execution, entry):
        if int(entry["execution_seq"]) != execution.length:
            self.findings.contradict("ordering", "another number on its execution")
        if execution.key and execution.key != key(entry) and not self.aliases:
            self.findings.contradict("ordering", "another agent or identifier")
        self.classified(execution, entry)
        if entry["kind"] not in KINDS:
            self.findings.leave_open("ordering", "an unknown kind")
        fault = execution.step(entry)
        if fault:
            self.findings.contradict("ordering", fault)
        execution.length += 1

    def classified(self, execution, entry):
        """Compares what an attempt was told with what it is."""
        against = lambda why: self.findings.contradict("classification", why)
        fault = code_fault(entry)
        if fault:
            against(fault)
        said, kind = entry["classification"], entry["kind"]
        identified = entry["execution_id"] is not None
        bound = None not in (entry["profile"], entry["binding"], target(entry))
        if said is None:
            if granted(entry) and identified:
                against("permitted without a classification")
            elif kind == "refusal" and identified and bound:
                self.findings.leave_open("classification", "bound, refused and not classified")
            return
        if kind not in ATTEMPTS or not identified:
            against("a classification of no attempt")
            return
        if said["difference"] == ["not-admissible"]:
            recorded = execution and execution.facts["profile"] == entry["profile"]
            if recorded and entry["binding"] is None and kind == "refusal":
                self.findings.leave_open("classification", "only the request can show it")
            else:
                against("not admissible under no recorded profile")
            return
        fits = {"fresh": kind != "round", "continuation": kind != "admission"}
        if not fits.get(said["verdict"], kind == "refusal"):
            against("a verdict that does not permit this")
        if entry.get("blind") == "withheld":
            self.findings.leave_open("classification", "what it brought is left out")
            return
        if not bound:
            against("classified without a binding")
            return
        if execution and execution.state == "unknown":
            self.findings.leave_open("classification", "in an unknown state")
            return
        round_ = None
        if entry["continuation"] is not None:
            round_ = {
                "continuation": entry["continuation"],
                "request_state": entry["request_state_presented"],
            }
        presented = {
            "profile": entry["profile"], "binding": entry["binding"], "target": target(entry),
            "round": round_,
        }
        if classify(presented, execution and execution.recorded()) != _worded(said):
            against("it is something else")
        elif entry.get("blind") and not self.opened.get(entry["hash"], (None, None))[1]:
            self.findings.leave_open("classification", "no salt opens it")
        elif self.approved.get((entry["profile"], entry["component"])) is None:
            self.findings.leave_open("classification", "its component is not approved")
