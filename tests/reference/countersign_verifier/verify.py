"""Puts the parts together: one bundle, and whatever its verifier holds."""

from countersign_reference import digests
from countersign_reference.reading import read
from countersign_reference.values import Obj, Refusal

from . import blinds, chains, container, logs, requests
from .entries import Malformed, absent_or, digest, log_id, number, parse, shape, text, time
from .notes import Key
from .verdict import CLAIMS, Findings

_paths = lambda value: type(value) is list and len(value) <= 65 and all(map(digest, value))
INCLUSION = shape(log_id=log_id, path=_paths, sequence=number, size=number)
CONSISTENCY = shape(**{"from": number}, log_id=log_id, path=_paths, to=number)
_extent = shape(key=absent_or(text), log_id=log_id, size=number)
_filter = shape(
    by=lambda word: word in ("execution", "workflow", "session", "agent", "time"), value=text
)
MANIFEST = shape(
    exported=absent_or(time),
    filter=absent_or(_filter),
    format=lambda value: value == "countersign.bundle.v1",
    logs=lambda value: type(value) is list and all(map(_extent, value)),
)
RECEIPT = ("binding", "call_id", "execution_id", "profile")


def _manifest(content):
    try:
        manifest = read(content)
    except Refusal:
        raise container.Unusable("no manifest") from None
    names = [log["log_id"] for log in manifest["logs"]] if MANIFEST(manifest) else None
    if names is None or len(set(names)) != len(names):
        raise container.Unusable("no manifest of this format")
    return manifest


def verify(data, trust=(), requests_=(), receipts=(), since=(), approved=frozenset()):
    """The status of each claim; raises `Unusable` for what is no bundle.

    `approved` holds (profile, component digest) pairs whose rules are the
    reference's own.
    """
    members = container.members(data)
    manifest = _manifest(members[0][1])
    findings = Findings()
    entries, proofs, consistencies, salts, notes, carried = [], [], [], [], [], []
    for name, content in members[1:]:
        match container.sort(name):
            case "entries":
                for line in container.lines(content):
                    try:
                        entries.append(parse(line))
                    except Malformed as malformed:
                        findings.contradict("integrity", f"{name}: {malformed}")
            case "proofs":
                for line in container.lines(content):
                    _proof(line, proofs, consistencies, findings)
            case "salts":
                salts += container.lines(content)
            case "checkpoints":
                notes.append(content.decode("utf-8", "replace"))
            case "profiles":
                profile = name.removeprefix("profiles/").removesuffix(".wasm")
                carried.append((profile, digests.plain(content)))
    whole = manifest["filter"] is None
    keys = [Key(text) for text in trust]
    logs.check(manifest, entries, notes, proofs, consistencies, keys, since, findings)
    _receipts(entries, receipts, whole, findings)
    held = [read(text_.encode()) for text_ in receipts]
    opened = blinds.opened(entries, salts, held, findings)
    chains.Replay({pair: True for pair in approved}, opened, findings).run(entries, whole)
    requests.check(entries, list(requests_), approved, opened, carried, findings)
    if findings.status("completeness") != "verified":
        findings.leave_open("ordering", "whether more follows is not known")
    return {claim: findings.status(claim) for claim in CLAIMS}, findings


def _proof(line, proofs, consistencies, findings):
    try:
        value = read(line)
    except Refusal:
        value = None
    if type(value) is Obj and INCLUSION(value):
        proofs.append(value)
    elif type(value) is Obj and CONSISTENCY(value):
        consistencies.append(value)
    else:
        findings.contradict("integrity", "a line is no proof")


def _receipts(entries, receipts, whole, findings):
    for text_ in receipts:
        receipt = read(text_.encode())
        place = receipt["log_id"], receipt["sequence"]
        found = [e for e in entries if (e["log_id"], e["sequence"]) == place]
        if not found and whole:
            findings.contradict("completeness", "the entry of a receipt is missing")
        elif not found:
            findings.leave_open("completeness", "the entry of a receipt is not in it")
        elif found[0]["hash"] != receipt["entry_hash"] or any(
            found[0][name] != receipt[name] for name in RECEIPT
        ):
            findings.contradict("integrity", "a receipt names another entry")
