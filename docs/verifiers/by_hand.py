"""Checks a bundle's hashes and root, or a proof's path, with nothing but Python.

python3 by_hand.py bundle.tar     every entry's hash, and the root that was signed
python3 by_hand.py proof.txt      one entry's hash, and its path to the signed root

Signatures are for another tool; what they sign is printed at the end.
"""

import base64
import hashlib
import re
import sys
import tarfile


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def leaf(entry):
    """SHA-256 of a zero byte and the entry without its own hash."""
    # The names around it are `fence` and `incarnation`, so a comma stands before it.
    stated = re.search(rb',"hash":"sha256:([0-9a-f]{64})"', entry)
    computed = sha256(b"\0", entry[: stated.start()], entry[stated.end():])
    assert computed.hex() == stated[1].decode(), entry[:80]
    return computed


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1", root(leaves[:half]), root(leaves[half:]))


def climb(hash_, index, size, path):
    """RFC 9162, section 2.1.3.2."""
    last = size - 1
    for beside in path:
        if index & 1 or index == last:
            hash_ = sha256(b"\1", beside, hash_)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            hash_ = sha256(b"\1", hash_, beside)
        index, last = index >> 1, last >> 1
    assert last == 0, "the path is too short"
    return hash_


def head(note):
    log, size, root_, *_ = note.split("\n")
    return log, int(size), base64.b64decode(root_)


def bundle(path):
    with tarfile.open(path) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}
    lines = b"".join(members[name] for name in sorted(members) if name.startswith("entries/"))
    leaves = {}
    for line in lines.splitlines():
        log = re.search(rb'"log_id":"([^"]*)"', line)[1].decode()
        leaves.setdefault(log, []).append(leaf(line))
    for name in sorted(members):
        if name.startswith("checkpoints/"):
            log, size, signed = head(members[name].decode())
            assert root(leaves[log][:size]) == signed, f"{name}: another root"
            print(f"{log}: the first {size} of {len(leaves[log])} entries have the root in {name}")


def proof(text):
    lines, note = text.split("\n\n", 1)
    form, extra, index, *path = lines.split("\n")
    entry = base64.b64decode(extra.removeprefix("extra "))
    log, size, signed = head(note)
    index = int(index.removeprefix("index "))
    path = [base64.b64decode(line) for line in path]
    assert climb(leaf(entry), index, size, path) == signed, "another root"
    print(entry.decode())
    print(f"is entry {index} of the {size} that this head of {log} covers:\n{note}", end="")


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        begins = file.read(23)
    if begins == b"c2sp.org/tlog-proof@v1\n":
        with open(sys.argv[1], encoding="utf-8") as file:
            proof(file.read())
    else:
        bundle(sys.argv[1])
