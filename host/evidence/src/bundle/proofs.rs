//! Proofs as lines of a bundle: that an entry stands in a log, and that an
//! earlier head of a log is the beginning of a later one.

use countersign_canon::document::{Document, Item, Kind};
use countersign_canon::{Digest, Limits};

use crate::LogId;
use crate::member::{Member, member};
use crate::tree::Hash;

const LIMITS: Limits = Limits {
    message_bytes: 16_384,
    depth: 3,
    number_bytes: 20,
    nodes: 128,
};

/// A longer path than any tree's has: a consistency path has one hash more
/// than an inclusion path.
const LONGEST_PATH: usize = 65;

/// The proof that an entry stands in a log of a certain size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The log.
    pub log_id: LogId,
    /// The entry's place in it.
    pub sequence: u64,
    /// The size of the tree that the path leads to.
    pub size: u64,
    /// The inclusion path.
    pub path: Vec<Hash>,
}

/// The proof that a log of one size is the beginning of the same log at a later
/// size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consistency {
    /// The log.
    pub log_id: LogId,
    /// The size of the earlier head.
    pub from: u64,
    /// The size of the later one.
    pub to: u64,
    /// The consistency path.
    pub path: Vec<Hash>,
}

impl Proof {
    /// One line of a member with proofs, without its line feed.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        member(&mut out, "log_id", &self.log_id);
        member(&mut out, "path", &digests(&self.path));
        member(&mut out, "sequence", &self.sequence);
        member(&mut out, "size", &self.size);
        out.push(b'}');
        out
    }

    /// Reads such a line.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let document = Document::read(json, LIMITS).ok()?;
        let root = document.root();
        if root.kind() != Kind::Object || root.count() != 4 {
            return None;
        }
        Some(Self {
            log_id: Member::read(root.get("log_id")?)?,
            sequence: Member::read(root.get("sequence")?)?,
            size: Member::read(root.get("size")?)?,
            path: read_path(root)?,
        })
    }
}

impl Consistency {
    /// One line of a member with proofs, without its line feed.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        member(&mut out, "from", &self.from);
        member(&mut out, "log_id", &self.log_id);
        member(&mut out, "path", &digests(&self.path));
        member(&mut out, "to", &self.to);
        out.push(b'}');
        out
    }

    /// Reads such a line.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let document = Document::read(json, LIMITS).ok()?;
        let root = document.root();
        if root.kind() != Kind::Object || root.count() != 4 {
            return None;
        }
        Some(Self {
            log_id: Member::read(root.get("log_id")?)?,
            from: Member::read(root.get("from")?)?,
            to: Member::read(root.get("to")?)?,
            path: read_path(root)?,
        })
    }
}

fn digests(path: &[Hash]) -> Vec<Digest> {
    path.iter().copied().map(Digest::from_bytes).collect()
}

fn read_path(root: Item<'_>) -> Option<Vec<Hash>> {
    let path: Vec<Digest> = Member::read(root.get("path")?)?;
    (path.len() <= LONGEST_PATH).then(|| path.into_iter().map(Digest::to_bytes).collect())
}
