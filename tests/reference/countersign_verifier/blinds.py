"""Blinding (evidence.md, section 6): salts, and which entries they open."""

import hashlib

from countersign_reference.reading import read
from countersign_reference.values import Obj, Refusal

from .chains import key
from .entries import OTHERS, absent_or, agent, digest, matching, shape

VALUES = ("binding", "continuation", "answer_digest")
SALT = matching(r"[0-9a-f]{64}")
OPENING = shape(
    agent=agent,
    binding=digest,
    call_id=absent_or(OTHERS["call_id"]),
    execution_id=absent_or(OTHERS["execution_id"]),
    salt=SALT,
)


def blinded(salt, value):
    """A digest as a blinded entry has it."""
    return value and "sha256:" + hashlib.sha256(bytes.fromhex(salt) + value.encode()).hexdigest()


def _opening(line):
    try:
        value = read(line)
    except Refusal:
        return None
    if type(value) is not Obj or not OPENING(value):
        return None
    return value if (value["call_id"] is None) != (value["execution_id"] is None) else None


def _fault(entry):
    """What an entry says of its blinding that its members do not show."""
    holds = any(entry[name] is not None for name in VALUES)
    linked = entry["execution_seq"] is not None
    return {
        "salted": not linked or not holds,
        "withheld": linked or holds,
    }.get(entry.get("blind"), False)


def opened(entries, lines, receipts, findings):
    """By hash, the (salt, binding or None) that opens an entry."""
    against = lambda why: findings.contradict("integrity", why)
    openings, met, found = {}, set(), {}
    for line in lines:
        opening = _opening(line)
        if opening is None or key(opening) in openings:
            against("a line with a salt is none, or opens an execution twice")
        if opening is not None:
            openings[key(opening)] = opening
    shown = {(held["log_id"], held["sequence"]): held["salt"] for held in receipts if held.get("salt")}
    for entry in entries:
        if _fault(entry):
            against("its blinding is not what its members show")
        if entry.get("blind") != "salted":
            continue
        opening = openings.get(key(entry))
        salt = shown.get((entry["log_id"], entry["sequence"]))
        if opening:
            met.add(key(entry))
            own = entry["kind"] != "refusal" and entry["binding"] is not None
            if own and blinded(opening["salt"], opening["binding"]) != entry["binding"]:
                against("a salt does not open its execution")
            if salt and salt != opening["salt"]:
                against("a receipt and the bundle carry different salts")
            found[entry["hash"]] = opening["salt"], opening["binding"]
        elif salt:
            found[entry["hash"]] = salt, None
    if len(met) < len(openings):
        against("a salt for an execution that is not there")
    return found
