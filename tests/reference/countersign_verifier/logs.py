"""Integrity and completeness (evidence.md, section 5): links, trees, heads."""

from .notes import Key, Note
from .trees import Tree, consistent, included


def raw(digest):
    return bytes.fromhex(digest.removeprefix("sha256:"))


# How many changes of a log's key that no trusted key stated are followed.
FOLLOWED = 1024


class Terms:
    """Which keys may sign the heads of one log, and for which sizes."""

    def __init__(self, trusted):
        self.terms = [[key, 0, None] for key in trusted]
        self.before = []
        self.earlier = []
        self.foreign = False
        self.too_many = False

    def rotate(self, rotation, size):
        following = None
        for term in self.terms:
            if term[2] is None and term[0].text == rotation["previous"]:
                named = term[0].follow(rotation)
                if named:
                    following, term[2] = named, size
        if following:
            self.terms.append([following, size, None])
        else:
            self.earlier.append((rotation, size))

    def settle(self):
        """Follows the changes that no trusted key stated back from a trusted key."""
        self.too_many = len(self.earlier) > FOLLOWED
        if self.too_many:
            return
        for rotation, size in reversed(self.earlier):
            try:
                previous = Key(rotation["previous"])
            except ValueError:
                previous = None
            known = [term[0].text for term in self.terms] + [key.text for key, _ in self.before]
            if previous and previous.follow(rotation) and rotation["next"] in known:
                self.before.append((previous, size))
            else:
                self.foreign = True

    def signer(self, note):
        """`trusted`, `before`, `nobody` (no key is trusted), `other`, or `unknown`
        where it might be a predecessor of the trusted key that was not followed to."""
        if not self.terms:
            return "nobody"
        for key, low, high in self.terms:
            if low <= note.size and (high is None or note.size <= high) and note.signed_by(key):
                return "trusted"
        if any(note.size <= high and note.signed_by(key) for key, high in self.before):
            return "before"
        return "unknown" if self.too_many else "other"


def positions(log, entries, whole, findings):
    """Walks one log's entries; answers whether each is where it should be,
    up to the first that is not, and the size after the last."""
    following, last, sound = 0, None, []
    broken = False
    for entry in entries:
        sequence = int(entry["sequence"])
        if sequence < following:
            broken = True
            findings.contradict("integrity", f"{log}#{sequence} stands twice or behind")
            continue
        follows = sequence == following
        if not follows and whole:
            broken = True
            findings.contradict("completeness", f"{log}: entries from {following} on are missing")
        linked = follows and (last is not None or sequence == 0)
        first = entry["previous"] is None
        if (linked and entry["previous"] != last) or (sequence == 0) != first:
            broken = True
            findings.contradict("integrity", f"{log}#{sequence} does not link")
        last, following = entry["hash"], sequence + 1
        if not broken:
            sound.append(entry)
    return sound, following, broken


def check(manifest, entries, notes, proofs, consistencies, trust, since, findings):
    """Judges all logs of a bundle."""
    whole = manifest["filter"] is None
    if not whole:
        findings.leave_open("completeness", "filtered")
    logs = {log["log_id"]: int(log["size"]) for log in manifest["logs"]}
    if not logs:
        findings.leave_open("integrity", "no log is named")
        findings.leave_open("completeness", "no log is named")
    mine = {log: [] for log in logs}
    for key in trust:
        if key.name not in logs:
            findings.leave_open("completeness", f"{key.name} is trusted, and not there")
    for entry in entries:
        if entry["log_id"] in mine:
            mine[entry["log_id"]].append(entry)
        else:
            findings.contradict("completeness", f"the log of {entry['log_id']} is not named")
    seen = []
    for text in notes:
        try:
            seen.append((Note(text), False))
        except ValueError as error:
            findings.contradict("integrity", str(error))
    seen += [(Note(text), True) for text in since]
    signed = {}
    state = {}
    for log, held in mine.items():
        keys = Terms([key for key in trust if key.name == log])
        for entry in held:
            if entry["kind"] == "key-rotated" and entry["key"] is not None:
                keys.rotate(entry["key"], int(entry["sequence"]) + 1)
        keys.settle()
        sound, following, broken = positions(log, held, whole, findings)
        tree = Tree([raw(entry["hash"]) for entry in sound]) if whole else None
        state[log] = (keys, held, len(sound), following, broken, tree)
    roots = _roots(seen, state, findings)
    for note, kept in seen:
        if note.log not in state:
            findings.contradict("completeness", f"a head of {note.log}, which is not named")
            continue
        keys, held, length, following, broken, tree = state[note.log]
        signer = keys.signer(note)
        if signer == "other":
            findings.contradict("integrity", f"a head of {note.log} by another key")
            continue
        if signer == "unknown" and not kept:
            continue
        size = following if whole else logs[note.log]
        if note.size > size:
            findings.contradict("completeness", f"{note.log} was longer: {note.size}")
            continue
        known = whole and note.size <= length
        if known and tree.root(note.size) != note.root:
            findings.contradict("integrity", f"another root of {note.log} at {note.size}")
            continue
        if not whole and (kept or signer in ("trusted", "nobody")):
            if not _continues(note, roots.get(note.log, {}), consistencies, findings):
                findings.leave_open("integrity", f"a head of {note.log} is not the beginning of it")
                continue
        if signer == "trusted" and (known or not whole):
            signed.setdefault(note.log, set()).add(note.size)
    unproven = {} if whole else _unproven(mine, roots, signed, proofs, findings)
    for log, (keys, held, length, following, broken, tree) in state.items():
        if whole and len(held) < logs[log]:
            findings.contradict("completeness", f"{log} should have {logs[log]} entries")
        if following > logs[log]:
            findings.contradict("completeness", f"{log} goes on to {following}")
        if keys.foreign and keys.terms:
            findings.contradict("integrity", f"a key of {log} was replaced by nobody")
        if keys.too_many and keys.terms:
            findings.leave_open("integrity", f"more changes of the key of {log} than are followed")
        if not keys.terms:
            findings.leave_open("integrity", f"no key is trusted for {log}")
            findings.leave_open("completeness", f"no key is trusted for {log}")
            continue
        if log not in signed or (whole and not broken and max(signed[log]) < following):
            findings.leave_open("integrity", f"the end of {log} is unsigned")
            findings.leave_open("completeness", f"the end of {log} is unsigned")
        if unproven.get(log):
            findings.leave_open("integrity", f"{unproven[log]} entries of {log} are not proven")
    findings.show("integrity")
    findings.show("completeness")


def _roots(seen, state, findings):
    """The root at each size of each log, by the heads that count."""
    roots = {}
    for note, _ in seen:
        if note.log not in state or state[note.log][0].signer(note) not in ("trusted", "nobody"):
            continue
        sizes = roots.setdefault(note.log, {})
        if sizes.setdefault(note.size, note.root) != note.root:
            findings.contradict("integrity", f"two heads of {note.log} at {note.size} differ")
    return roots


def _unproven(mine, roots, signed, proofs, findings):
    left = {log: {} for log in mine}
    for log, held in mine.items():
        following = 0
        for entry in held:
            if int(entry["sequence"]) >= following:
                following = int(entry["sequence"]) + 1
                left[log][int(entry["sequence"])] = raw(entry["hash"])
    under = {log: {} for log in mine}
    for proof in proofs:
        log, sequence, size = proof["log_id"], int(proof["sequence"]), int(proof["size"])
        root = roots.get(log, {}).get(size)
        if root is None or sequence not in left.get(log, ()):
            continue
        path = [raw(hash_) for hash_ in proof["path"]]
        if included(left[log][sequence], sequence, size, path) == root:
            under[log][sequence] = max(size, under[log].get(sequence, 0))
        else:
            findings.contradict("integrity", f"{log}#{sequence} is not where its path says")
    proven = {
        log: {at for at, size in under[log].items() if size in signed.get(log, ())} for log in mine
    }
    return {log: len(left[log].keys() - proven[log]) for log in mine}


def _continues(note, roots, consistencies, findings):
    """Whether a head is the newest of its log that counts, or its beginning."""
    if not roots:
        return False
    newest = max(roots)
    if note.size == newest:
        return note.root == roots[newest]
    shown = note.size == 0 and note.root == Tree([]).root(0)
    for proof in consistencies:
        its = proof["log_id"] == note.log and int(proof["from"]) == note.size > 0
        if not its or int(proof["to"]) != newest:
            continue
        path = [raw(hash_) for hash_ in proof["path"]]
        shown = consistent(note.size, note.root, newest, path) == roots[newest]
        if not shown:
            findings.contradict("integrity", f"{note.log} at {newest} is no continuation")
    return shown
