//! The Merkle tree of RFC 9162, section 2.1, grown at its right edge.
//!
//! A [`Frontier`] holds the roots of the complete subtrees that make up the
//! log so far, at most 64 hashes: enough to append and to compute the root,
//! and small enough to be stored with every commit. Leaves are the hashes of
//! entries, which are leaf hashes already. Proofs live in [`crate::proof`].

use sha2::{Digest as _, Sha256};

/// A node of the tree: 32 bytes.
pub type Hash = [u8; 32];

/// The hash of a leaf's bytes: `SHA-256(0x00 ‖ bytes)`.
#[must_use]
pub fn leaf_hash(bytes: &[u8]) -> Hash {
    Sha256::new_with_prefix([0])
        .chain_update(bytes)
        .finalize()
        .into()
}

/// The hash of an inner node: `SHA-256(0x01 ‖ left ‖ right)`.
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new_with_prefix([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

/// The root of a tree without leaves: `SHA-256("")`.
#[must_use]
pub fn empty_root() -> Hash {
    Sha256::digest([]).into()
}

/// The right edge of a tree: the roots of its complete subtrees, the largest
/// first, one for each bit that is set in the size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    // INVARIANT: as many as `size` has ones.
    peaks: Vec<Hash>,
}

impl Frontier {
    /// The tree without leaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes up a tree of `size` leaves again; `None` where the number of
    /// hashes does not fit the size.
    #[must_use]
    pub fn from_parts(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (usize::try_from(size.count_ones()) == Ok(peaks.len())).then_some(Self { size, peaks })
    }

    /// How many leaves the tree has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the complete subtrees, the largest first.
    #[must_use]
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Adds a leaf, given its hash. Two subtrees of one size become one, as
    /// often as the size's binary form carries: less than one hash on average.
    pub fn append(&mut self, leaf: Hash) {
        let mut hash = leaf;
        for _ in 0..self.size.trailing_ones() {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(&left, &hash);
        }
        self.peaks.push(hash);
        self.size = self.size.saturating_add(1);
    }

    /// The root of the tree as it is now.
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else {
            return empty_root();
        };
        peaks.fold(*last, |right, left| node_hash(left, &right))
    }
}
