"""Writes `vectors/` from the cases: the same cases give the same bytes."""

import json
import sys

from .casebook import Disagreement
from .cases import (
    bindings, canonical, classification, context, correlation, envelope, equivalence_distinct,
    equivalence_equal, equivalence_refused, numbers, params, reading_limits, reading_syntax,
    reading_text, views,
)
from .pairs import vector
from .values import LIMITS, PROFILES


def _equivalence():
    for subject in (equivalence_equal, equivalence_distinct, equivalence_refused):
        for kind, pairs in subject.cases():
            for number, stated in enumerate(pairs, 1):
                yield vector(kind, number, stated)


def _profiles():
    for profile in PROFILES:
        yield {"name": profile, "limits": LIMITS}


def _many(*subjects):
    for subject in subjects:
        yield from subject.cases()


# file name, what a case gives and what is to come out, its cases
SUBJECTS = (
    ("reading", "admit", lambda: _many(reading_syntax, reading_text, reading_limits)),
    ("canonical", "admit", canonical.cases),
    ("bindings", "admit", bindings.cases),
    ("envelope", "admit", envelope.cases),
    ("params", "admit", params.cases),
    ("correlation", "admit", correlation.cases),
    ("context", "admit", context.cases),
    ("views", "interpret", views.cases),
    ("interpret-refusals", "interpret", views.refusals),
    ("numbers", "numbers", numbers.cases),
    ("classification", "classify", classification.cases),
    ("equivalence", "equivalence", _equivalence),
    ("profiles", "describe", _profiles),
)


def _written(subject, kind, cases):
    """One file: a head, then one case a line, in ASCII."""
    names = set()
    lines = []
    for case in cases:
        name = case.get("name") or case.get("id") or case["lexeme"]
        if name in names:
            raise Disagreement(f"{subject}: `{name}` is there twice")
        names.add(name)
        lines.append(json.dumps(case, separators=(",", ":")))
    head = f'{{"subject":{json.dumps(subject)},"kind":{json.dumps(kind)},"version":1,"cases":[\n'
    return head + ",\n".join(lines) + "\n]}\n"


def run(folder, check):
    """Writes every file, or with `check` says which differ; the exit status."""
    stale = []
    for subject, kind, cases in SUBJECTS:
        try:
            text = _written(subject, kind, cases())
        except Disagreement as disagreement:
            print(f"{subject}: {disagreement}", file=sys.stderr)
            return 1
        path = folder / f"{subject}.json"
        if path.exists() and path.read_text(encoding="ascii") == text:
            continue
        if check:
            stale.append(path.name)
        else:
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="ascii")
            print(f"wrote {path.name}: {text.count(chr(10)) - 2} cases")
    if stale:
        print("not what the cases give: " + ", ".join(stale), file=sys.stderr)
        return 1
    return 0
