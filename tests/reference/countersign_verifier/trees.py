"""Merkle trees of RFC 9162, by its recursive definitions."""

import hashlib


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def split(size):
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


class Tree:
    """The roots of the first n leaves, for any n, over shared subtrees."""

    def __init__(self, leaves):
        self.levels = [leaves]
        while len(self.levels[-1]) > 1:
            below = self.levels[-1]
            pairs = range(0, len(below) - 1, 2)
            self.levels.append([node(below[at], below[at + 1]) for at in pairs])

    def root(self, size):
        if size == 0:
            return hashlib.sha256(b"").digest()
        return self._root(0, size)

    def _root(self, begin, size):
        if size & (size - 1) == 0:
            level = size.bit_length() - 1
            return self.levels[level][begin >> level]
        half = split(size)
        return node(self._root(begin, half), self._root(begin + half, size - half))


def included(leaf, index, size, path):
    """The root to which an inclusion path leads; None where it cannot."""
    if size == 0 or index >= size:
        return None
    if size == 1:
        return leaf if not path else None
    if not path:
        return None
    half = split(size)
    if index < half:
        inner = included(leaf, index, half, path[:-1])
        return inner and node(inner, path[-1])
    inner = included(leaf, index - half, size - half, path[:-1])
    return inner and node(path[-1], inner)


def consistent(old, old_root, new, path):
    """The root of `new` leaves to which a consistency path leads; None where
    it does not begin with `old_root`."""
    if old == 0:
        return None
    if old == new:
        return old_root if not path else None
    if old > new:
        return None
    found = _grown(old, new, list(path), True, old_root)
    if found is None:
        return None
    before, after, rest = found
    return after if before == old_root and not rest else None


def _grown(old, new, path, whole, old_root):
    """(root of the old part, root of the new part, what is left of the path)."""
    if old == new:
        if whole:
            return old_root, old_root, path
        return (path[0], path[0], path[1:]) if path else None
    half = split(new)
    if old <= half:
        found = _grown(old, half, path, whole, old_root)
        if found is None or not found[2]:
            return None
        before, after, (right, *rest) = found
        return before, node(after, right), rest
    found = _grown(old - half, new - half, path, False, old_root)
    if found is None or not found[2]:
        return None
    before, after, (left, *rest) = found
    return node(left, before), node(left, after), rest
