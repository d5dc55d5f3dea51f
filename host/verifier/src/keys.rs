//! Which key may sign which checkpoints of one log.
//!
//! The keys that the verifier trusts are in force from the log's beginning; a
//! `key-rotated` entry whose statement a key in force signed hands over to the
//! next one. A trusted key that only took over later says nothing of what its
//! predecessor signed, and nothing against it.

use countersign_evidence::KeyRotation;
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;

/// How many changes of the key that no trusted key stated are followed.
pub(crate) const FOLLOWED: usize = 1_024;

/// The keys of one log.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    in_force: Vec<Term>,
    /// Predecessors of trusted keys, with the size up to which they signed.
    before: Vec<(VerifyingKey, u64)>,
    /// Rotations that no key in force stated, in the order of the log.
    earlier: Vec<(KeyRotation, u64)>,
    /// Whether any rotation leads to no trusted key.
    pub(crate) foreign_rotation: bool,
    /// Whether there are more of them than are followed, so that it is not known who
    /// the predecessors are.
    pub(crate) too_many: bool,
}

#[derive(Debug)]
struct Term {
    key: VerifyingKey,
    /// The sizes of the checkpoints that it may sign.
    from: u64,
    to: u64,
}

/// What a checkpoint's signature shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signed {
    /// A trusted key signed it, while it was in force.
    Trusted,
    /// The predecessor of a trusted key did.
    Before,
    /// No trusted key did, and a predecessor might have that was not followed to.
    Unknown,
    /// No trusted key did, though there is one for this log.
    Other,
    /// No key is trusted for this log.
    NoKey,
}

impl Keys {
    /// A key that the verifier trusts.
    pub(crate) fn trust(&mut self, key: VerifyingKey) {
        self.in_force.push(Term {
            key,
            from: 0,
            to: u64::MAX,
        });
    }

    /// A rotation that stands at `sequence` of the log.
    pub(crate) fn rotate(&mut self, rotation: &KeyRotation, sequence: u64) {
        let size = sequence.saturating_add(1);
        let mut handed = None;
        // A key may be in force twice: it is trusted, and took over from a trusted one.
        for term in self.in_force.iter_mut().filter(|term| term.to == u64::MAX) {
            if let Some(next) = term.key.follow(rotation) {
                term.to = size;
                handed = Some(next);
            }
        }
        if let Some(key) = handed {
            self.in_force.push(Term {
                key,
                from: size,
                to: u64::MAX,
            });
        } else if self.earlier.len() < FOLLOWED {
            self.earlier.push((rotation.clone(), size));
        } else {
            self.too_many = true;
        }
    }

    /// All rotations are there: those that no trusted key stated lead to one, from
    /// the last to the first, or are foreign. Of too many nothing is said.
    pub(crate) fn settle(&mut self) {
        let earlier = std::mem::take(&mut self.earlier);
        if self.too_many {
            return;
        }
        for (rotation, size) in earlier.into_iter().rev() {
            let leads = |key: &VerifyingKey| key.to_string() == rotation.next;
            let known = self.in_force.iter().map(|term| &term.key);
            let known = known.chain(self.before.iter().map(|(key, _)| key));
            let stated = VerifyingKey::parse(&rotation.previous).ok();
            let stated = stated.filter(|previous| previous.follow(&rotation).is_some());
            match stated {
                Some(previous) if known.into_iter().any(leads) => {
                    self.before.push((previous, size));
                }
                _ => self.foreign_rotation = true,
            }
        }
    }

    /// Whether any key is trusted for this log.
    pub(crate) fn any(&self) -> bool {
        !self.in_force.is_empty()
    }

    /// Who signed a checkpoint.
    pub(crate) fn signed(&self, note: &SignedCheckpoint) -> Signed {
        let size = note.unverified().size;
        let in_force = |term: &&Term| (term.from..=term.to).contains(&size);
        if self.in_force.is_empty() {
            Signed::NoKey
        } else if self
            .in_force
            .iter()
            .filter(in_force)
            .any(|term| note.verify(&term.key))
        {
            Signed::Trusted
        } else if self
            .before
            .iter()
            .any(|(key, to)| size <= *to && note.verify(key))
        {
            Signed::Before
        } else if self.too_many {
            Signed::Unknown
        } else {
            Signed::Other
        }
    }
}
