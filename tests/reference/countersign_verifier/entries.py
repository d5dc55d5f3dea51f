"""One entry: its form, member by member, and its hash (evidence.md, section 1).

The form is a table from names to tests of values. Whatever a test refuses is
never written, so an entry that holds it is not one of a gateway's.
"""

import datetime
import hashlib
import re

from countersign_reference import canonical
from countersign_reference.reading import read
from countersign_reference.values import Num, Obj, Refusal

MOST = 262_144
SAFE = 2**53 - 1


class Malformed(Exception):
    """A line that is no entry."""


def text(value):
    return type(value) is str


def matching(pattern):
    whole = re.compile(pattern + r"\Z", re.ASCII)
    return lambda value: type(value) is str and whole.match(value) is not None


def number(value):
    return type(value) is Num and value.isascii() and value.isdigit() and int(value) <= SAFE


def small(value):
    return number(value) and int(value) < 2**32


def boolean(value):
    return type(value) is bool


def one_of(*words):
    return lambda value: type(value) is str and value in words


def time(value):
    if not _TIME(value):
        return False
    try:
        datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ")
    except ValueError:
        return False
    return True


def texts(value):
    return type(value) is list and all(map(text, value))


def absent_or(test):
    return lambda value: value is None or test(value)


def shape(**members):
    """An object with exactly these members."""
    def test(value):
        return (
            type(value) is Obj
            and value.keys() == members.keys()
            and all(check(value[name]) for name, check in members.items())
        )
    return test


_TIME = matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
digest = matching(r"sha256:[0-9a-f]{64}")
OUTCOMES = ("succeeded", "tool-error", "upstream-error", "not-attempted", "outcome-unknown")
outcome = one_of(*OUTCOMES)
PLAIN_VERDICTS = (
    "fresh", "in-flight", "continuation", "continuation-mismatch", "round-replay", "blocked",
    "incomparable",
)
DIFFERENCES = (["binding"], ["target"], ["binding", "target"], ["not-admissible"])


def classification(value):
    loose = shape(difference=texts, outcome=absent_or(outcome), verdict=text)
    if not loose(value):
        return False
    said, settled, difference = value["verdict"], value["outcome"], value["difference"]
    if said == "replay":
        return settled is not None and not difference
    if said == "collision":
        return settled is None and difference in DIFFERENCES
    return said in PLAIN_VERDICTS and settled is None and not difference


agent = shape(issuer=text, method=text, subject=text)
log_id = matching(r"(?:(?!\+)[\x21-\x7e]){1,128}")

# Members that may not be null.
ALWAYS = {
    "catalog": shape(
        approved=absent_or(digest), attributed=absent_or(digest), discovered=absent_or(digest)
    ),
    "hash": digest,
    "kind": text,
    "log_id": log_id,
    "sequence": number,
    "time": time,
}
OTHERS = {
    "agent": agent,
    "agent_before": agent,
    "answer_bytes": number,
    "answer_digest": digest,
    "authority": text,
    "binding": digest,
    "call_id": matching(r"[\x21-\x7e]{1,64}"),
    "classification": classification,
    "client": text,
    "client_digest": digest,
    "component": digest,
    "continuation": digest,
    "decision": shape(allow=boolean, determining=texts, reason=text),
    "effect_boundary": one_of("pre-transport", "transport-may-have-started", "response-received"),
    "evaluator": text,
    "execution_id": matching(r"[\x21-\x7e]{1,200}"),
    "execution_id_status": one_of("absent", "present", "malformed", "unread"),
    "execution_previous": digest,
    "execution_seq": number,
    "fence": number,
    "incarnation": text,
    "key": shape(next=text, previous=text, signature=text),
    "outcome": outcome,
    "policy_digest": digest,
    "policy_inputs": shape(audience=absent_or(text), **{"class": text}, proof_key=absent_or(text)),
    "previous": digest,
    "profile": text,
    "refusal": matching(r"[A-Za-z0-9-]{1,64}"),
    "represented_user": text,
    "request_state_issued": digest,
    "request_state_presented": digest,
    "resolution": shape(evidence=absent_or(digest), operator=text, reason=text),
    "revision": text,
    "round": shape(number=small, says=one_of("asked", "claimed")),
    "server": matching(r"[A-Za-z0-9._-]{1,64}"),
    "server_digest": digest,
    "session_id": matching(r"[\x21-\x7e]{1,64}"),
    "suppressed": shape(count=number, **{"from": time}, to=time),
    "task": shape(id=digest, status=text),
    "tool": text,
    "workflow_id": matching(r"[\x21-\x7e]{1,200}"),
    "world": text,
}


def parse(line):
    """The entry in a line, as an object of its members; raises `Malformed`."""
    if len(line) > MOST:
        raise Malformed("too long")
    try:
        value = read(line)
    except Refusal as refusal:
        raise Malformed(refusal.code) from None
    if type(value) is not Obj or canonical.write(value) != line:
        raise Malformed("not canonical")
    for name, test in ALWAYS.items():
        if name not in value or not test(value[name]):
            raise Malformed(name)
    for name, test in OTHERS.items():
        if name not in value or not (value[name] is None or test(value[name])):
            raise Malformed(name)
    # Entries that are older than blinding do not have it.
    if value.get("blind") not in (None, "salted", "withheld"):
        raise Malformed("blind")
    seq, previous = value["execution_seq"], value["execution_previous"]
    if (seq is None and previous is not None) or (seq is not None and (seq == "0") != (previous is None)):
        raise Malformed("execution_seq")
    if leaf(value) != value["hash"]:
        raise Malformed("hash")
    return value


def leaf(value):
    """SHA-256 of a zero byte and the canonical bytes without `hash`."""
    without = {name: item for name, item in value.items() if name != "hash"}
    return "sha256:" + hashlib.sha256(b"\0" + canonical.write(without)).hexdigest()
