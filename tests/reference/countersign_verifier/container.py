"""The container: a tar file with exactly one form (evidence.md, section 4).

Python's own `tarfile` is generous, which a verifier must not be: two readers
of one file would see different bundles. So headers are written again and
compared.
"""

import re

BLOCK = 512
CHUNK = 4 << 20
_PLAIN = re.compile(rb"(?:[A-Za-z0-9@_-][A-Za-z0-9@._-]*)(?:/[A-Za-z0-9@_-][A-Za-z0-9@._-]*)*\Z")
_NUMBERED = re.compile(r"(entries|proofs|salts)/[0-9]{6,}\.jsonl\Z|(checkpoints)/[0-9]{6,}\.txt\Z")


class Unusable(Exception):
    """A file of which nothing can be said."""


def _header(name, size):
    """The one header of a member."""
    prefix, short = b"", name
    if len(name) > 100:
        # The split that leaves the longest name after it, within 100 bytes.
        at = name.rfind(b"/", 0, 156)
        prefix, short = name[:at], name[at + 1:]
    fields = [
        (short, 100), (b"0000644\0", 8), (b"0000000\0", 8), (b"0000000\0", 8),
        (b"%011o\0" % size, 12), (b"00000000000\0", 12), (b"        ", 8), (b"0", 1),
        (b"", 100), (b"ustar\0", 6), (b"00", 2), (b"", 32), (b"", 32), (b"", 8), (b"", 8),
        (prefix, 155), (b"", 12),
    ]
    block = b"".join(value.ljust(width, b"\0") for value, width in fields)
    return block


def _same(found, name, size):
    """Whether a header is the one that is written, its checksum apart.

    Zero fields may be written as zeros or left empty, as writers of ustar do.
    """
    if found[156:157] != b"0" or found[257:265] != b"ustar\x0000":
        return False
    number = lambda low, high: int(found[low:high].rstrip(b"\0 ") or b"0", 8)
    try:
        zeros = [number(108, 116), number(116, 124), number(136, 148)]
        sound = number(100, 108) == 0o644 and number(124, 136) == size and not any(zeros)
        checksum = number(148, 156)
    except ValueError:
        return False
    total = sum(found[:148]) + 8 * 32 + sum(found[156:])
    rest = found[157:257] + found[265:297] + found[297:329] + found[500:]
    return sound and checksum == total and not any(rest)


def members(data):
    """The members, as (name, content) in the order of the file."""
    found, at = [], 0
    while True:
        block = data[at:at + BLOCK]
        if len(block) < BLOCK:
            raise Unusable("cut off")
        if not any(block):
            break
        short, prefix = block[:100].rstrip(b"\0"), block[345:500].rstrip(b"\0")
        name = prefix + b"/" + short if prefix else short
        digits = block[124:135]
        if not re.fullmatch(rb"[0-7]{11}", digits) or not _PLAIN.match(name):
            raise Unusable(f"no member at byte {at}")
        size = int(digits, 8)
        if not _same(block, name, size):
            raise Unusable(f"another header at byte {at}")
        begin = at + BLOCK
        at = begin + -(-size // BLOCK) * BLOCK
        if at > len(data):
            raise Unusable("cut off")
        if any(data[begin + size:at]):
            raise Unusable(f"bytes between members at byte {begin + size}")
        found.append((name.decode(), data[begin:begin + size]))
    if len(data) != at + 2 * BLOCK or any(data[at:]):
        raise Unusable("bytes after the end")
    names = [name for name, _ in found]
    if len(set(names)) != len(names):
        raise Unusable("a member occurs twice")
    if not found or names[0] != "manifest.json":
        raise Unusable("no manifest")
    return found


def sort(name):
    """What a member is: `entries`, `proofs`, `salts`, `checkpoints`, `profiles`, `policies` or None."""
    numbered = _NUMBERED.match(name)
    if numbered:
        return numbered[1] or numbered[2]
    folder = name.split("/", 1)[0]
    return folder if folder in ("profiles", "policies") and "/" in name else None


def lines(content):
    """The lines of a member; the last one ends with a line feed too."""
    if not content:
        return []
    return content[:-1].split(b"\n") if content.endswith(b"\n") else content.split(b"\n")
