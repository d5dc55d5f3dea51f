//! Inclusion and consistency proofs of RFC 9162, sections 2.1.3 and 2.1.4.
//!
//! A proof is a list of hashes of ranges of leaves. Which ranges follows from
//! sizes and indices alone, so one pass over a log collects the proofs of any
//! number of its entries ([`Collector`]), however long the log is. The ledger
//! makes them; verifiers check them with nothing else at hand.

use std::collections::HashMap;

use crate::tree::{Hash, node_hash};

/// Leaves from `start` up to but not including `end`; not empty, and as RFC
/// 9162 divides trees: `start` is a multiple of a power of two not below the
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Range {
    start: u64,
    end: u64,
}

impl Range {
    fn len(self) -> u64 {
        self.end - self.start
    }

    /// Divides it at the largest power of two below its length; `None` for a
    /// single leaf.
    fn split(self) -> Option<(Self, Self)> {
        let below = self.len().checked_sub(1)?.checked_ilog2()?;
        let middle = self.start + (1 << below);
        Some((
            Self {
                end: middle,
                ..self
            },
            Self {
                start: middle,
                ..self
            },
        ))
    }

    /// The complete subtrees that make it up, the largest first.
    fn complete(self) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut rest = self;
        while !rest.len().is_power_of_two() {
            let Some((left, right)) = rest.split() else {
                break;
            };
            parts.push(left);
            rest = right;
        }
        parts.push(rest);
        parts
    }
}

/// The ranges of the proof that leaf `index` is in the tree of `size` leaves,
/// from the leaf up.
fn inclusion_ranges(index: u64, size: u64) -> Option<Vec<Range>> {
    if index >= size {
        return None;
    }
    let mut ranges = Vec::new();
    let mut rest = Range {
        start: 0,
        end: size,
    };
    while let Some((left, right)) = rest.split() {
        let (inside, beside) = if index < left.end {
            (left, right)
        } else {
            (right, left)
        };
        ranges.push(beside);
        rest = inside;
    }
    ranges.reverse();
    Some(ranges)
}

/// The ranges of the proof that the tree of `old` leaves is the beginning of
/// that of `new` leaves.
fn consistency_ranges(old: u64, new: u64) -> Option<Vec<Range>> {
    if old > new {
        return None;
    }
    if old == 0 || old == new {
        return Some(Vec::new());
    }
    let mut ranges = Vec::new();
    let mut rest = Range { start: 0, end: new };
    let mut whole = true;
    while rest.end != old {
        let (left, right) = rest.split()?;
        if old <= left.end {
            ranges.push(right);
            rest = left;
        } else {
            ranges.push(left);
            rest = right;
            whole = false;
        }
    }
    if !whole {
        ranges.push(rest);
    }
    ranges.reverse();
    Some(ranges)
}

/// Collects, in one pass over the leaves of a log, what a set of proofs needs.
///
/// Memory grows with the number of proofs, not with that of leaves.
#[derive(Clone, Debug)]
pub struct Collector {
    size: u64,
    seen: u64,
    /// Complete subtrees on the right edge, the largest first.
    edge: Vec<(Range, Hash)>,
    wanted: HashMap<Range, Option<Hash>>,
}

impl Collector {
    /// Prepares for proofs within the tree of the first `size` leaves.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self {
            size,
            seen: 0,
            edge: Vec::new(),
            wanted: HashMap::new(),
        }
    }

    /// Asks for the inclusion proof of the leaf at `index`; before the first
    /// [`Collector::leaf`].
    pub fn want_inclusion(&mut self, index: u64) {
        self.want(inclusion_ranges(index, self.size));
    }

    /// Asks for the consistency proof from the first `old` leaves; before the
    /// first [`Collector::leaf`].
    pub fn want_consistency(&mut self, old: u64) {
        self.want(consistency_ranges(old, self.size));
    }

    fn want(&mut self, ranges: Option<Vec<Range>>) {
        for range in ranges.into_iter().flatten().flat_map(Range::complete) {
            self.wanted.insert(range, None);
        }
    }

    /// Takes the next leaf's hash. Leaves beyond the size are left aside.
    pub fn leaf(&mut self, leaf: Hash) {
        if self.seen == self.size {
            return;
        }
        let mut node = (
            Range {
                start: self.seen,
                end: self.seen + 1,
            },
            leaf,
        );
        self.seen += 1;
        self.keep(&node);
        while let Some((left, hash)) = self.edge.pop_if(|(left, _)| left.len() == node.0.len()) {
            node = (
                Range {
                    start: left.start,
                    end: node.0.end,
                },
                node_hash(&hash, &node.1),
            );
            self.keep(&node);
        }
        self.edge.push(node);
    }

    fn keep(&mut self, node: &(Range, Hash)) {
        if let Some(place) = self.wanted.get_mut(&node.0) {
            *place = Some(node.1);
        }
    }

    /// The inclusion proof of the leaf at `index`; `None` where it was not
    /// asked for, or not all leaves were seen.
    #[must_use]
    pub fn inclusion(&self, index: u64) -> Option<Vec<Hash>> {
        self.hashes(inclusion_ranges(index, self.size)?)
    }

    /// The consistency proof from the first `old` leaves; `None` as above.
    #[must_use]
    pub fn consistency(&self, old: u64) -> Option<Vec<Hash>> {
        self.hashes(consistency_ranges(old, self.size)?)
    }

    fn hashes(&self, ranges: Vec<Range>) -> Option<Vec<Hash>> {
        let hash = |range: Range| {
            let mut parts = range.complete().into_iter().rev();
            let get = |part: Range| *self.wanted.get(&part)?;
            let last = get(parts.next()?)?;
            parts.try_fold(last, |right, part| Some(node_hash(&get(part)?, &right)))
        };
        ranges.into_iter().map(hash).collect()
    }
}

/// Whether `path` proves that `leaf` stands at `index` in the tree of `size`
/// leaves with that `root` (RFC 9162, section 2.1.3.2).
#[must_use]
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for beside in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node_hash(beside, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, beside);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// Whether `path` proves that the tree of `old` leaves is the beginning of that
/// of `new` leaves (RFC 9162, section 2.1.4.2). A tree without leaves is the
/// beginning of every tree.
#[must_use]
pub fn verify_consistency(old: (u64, &Hash), new: (u64, &Hash), path: &[Hash]) -> bool {
    let ((old, old_root), (new, new_root)) = (old, new);
    if old == 0 {
        return path.is_empty() && *old_root == crate::tree::empty_root();
    }
    if old == new {
        return path.is_empty() && old_root == new_root;
    }
    if old > new {
        return false;
    }
    let (mut at, mut last) = (old - 1, new - 1);
    let shift = at.trailing_ones();
    at >>= shift;
    last >>= shift;
    let mut path = path.iter();
    let first = if old.is_power_of_two() {
        Some(old_root)
    } else {
        path.next()
    };
    let Some(first) = first else { return false };
    let (mut left, mut right) = (*first, *first);
    for beside in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            left = node_hash(beside, &left);
            right = node_hash(beside, &right);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            right = node_hash(&right, beside);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && left == *old_root && right == *new_root
}
