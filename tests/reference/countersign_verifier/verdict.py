"""What speaks for and against each claim."""

CLAIMS = ("integrity", "completeness", "admission", "classification", "ordering")


class Findings:
    """Contradictions, gaps and what was shown, by claim."""

    def __init__(self):
        self.against = {claim: [] for claim in CLAIMS}
        self.gaps = {claim: [] for claim in CLAIMS}
        self.shown = {claim: False for claim in CLAIMS}

    def contradict(self, claim, why):
        self.against[claim].append(why)

    def leave_open(self, claim, why):
        self.gaps[claim].append(why)

    def show(self, claim):
        self.shown[claim] = True

    def status(self, claim):
        if self.against[claim]:
            return "contradicted"
        if self.gaps[claim] or not self.shown[claim]:
            return "not established"
        return "verified"
