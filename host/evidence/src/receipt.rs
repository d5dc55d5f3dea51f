//! What the caller holds: a pointer from an answer into the log.
//!
//! The gateway puts it into the result's `_meta` under [`RECEIPT_KEY`]. It is
//! no proof by itself: it says which entry must stand where, so that a bundle
//! in which it does not is found out.

use countersign_canon::document::{Document, Item, Kind as JsonKind};
use countersign_canon::{Digest, Limits};

use crate::member::{Member, member};
use crate::{CallId, Entry, ExecutionId, LogId, Salt};

/// The key in a result's `_meta`, or in an error's `data`.
pub const RECEIPT_KEY: &str = "countersign.dev/receipt";

const LIMITS: Limits = Limits {
    message_bytes: 4_096,
    depth: 2,
    number_bytes: 20,
    nodes: 32,
};

/// Where the entry of an answer stands, and what it was bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The attempt.
    pub call_id: CallId,
    /// The caller's name of the execution, if there was one.
    pub execution_id: Option<ExecutionId>,
    /// The binding of the action, as the entry has it.
    pub binding: Option<Digest>,
    /// The profile under which it was bound.
    pub profile: Option<String>,
    /// The log.
    pub log_id: LogId,
    /// The entry's place in the log.
    pub sequence: u64,
    /// The entry's hash.
    pub entry_hash: Digest,
    /// Where the entry is blinded, what the binding was blinded with: its owner
    /// can show by it what was admitted.
    pub salt: Option<Salt>,
}

/// A text that is not a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a receipt: a JSON object with `binding`, `call_id`, `entry_hash`, `execution_id`, `log_id`, `profile`, `sequence` and, where the binding is blinded, `salt`"
)]
pub struct MalformedReceipt;

impl Receipt {
    /// The receipt for an entry that names a call; without a salt, which no
    /// entry holds.
    #[must_use]
    pub fn of(entry: &Entry) -> Option<Self> {
        let said = entry.said();
        Some(Self {
            call_id: said.call_id.clone()?,
            execution_id: said.execution_id.clone(),
            binding: said.binding,
            profile: said.profile.clone(),
            log_id: entry.log_id().clone(),
            sequence: entry.sequence(),
            entry_hash: entry.hash(),
            salt: None,
        })
    }

    /// Whether it says the same as another of what both say; a salt is no part
    /// of any entry.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        let without = |receipt: &Self| Self {
            salt: None,
            ..receipt.clone()
        };
        without(self) == without(other)
    }

    /// The canonical JSON object.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        member(&mut out, "binding", &self.binding);
        member(&mut out, "call_id", &self.call_id);
        member(&mut out, "entry_hash", &self.entry_hash);
        member(&mut out, "execution_id", &self.execution_id);
        member(&mut out, "log_id", &self.log_id);
        member(&mut out, "profile", &self.profile);
        if self.salt.is_some() {
            member(&mut out, "salt", &self.salt);
        }
        member(&mut out, "sequence", &self.sequence);
        out.push(b'}');
        out
    }

    /// Reads the object, however it is spaced and ordered.
    ///
    /// # Errors
    /// Any other text.
    pub fn parse(json: &[u8]) -> Result<Self, MalformedReceipt> {
        let document = Document::read(json, LIMITS).map_err(|_| MalformedReceipt)?;
        Self::read(document.root()).ok_or(MalformedReceipt)
    }

    /// Reads the object where it stands in a larger text, for example in an
    /// answer's `_meta`.
    #[must_use]
    pub fn read(item: Item<'_>) -> Option<Self> {
        let salt = match item.get("salt") {
            Some(salt) => Some(Salt::read(salt)?),
            None => None,
        };
        let members = if salt.is_some() { 8 } else { 7 };
        if item.kind() != JsonKind::Object || item.count() != members {
            return None;
        }
        Some(Self {
            call_id: Member::read(item.get("call_id")?)?,
            execution_id: Member::read(item.get("execution_id")?)?,
            binding: Member::read(item.get("binding")?)?,
            profile: Member::read(item.get("profile")?)?,
            log_id: Member::read(item.get("log_id")?)?,
            sequence: Member::read(item.get("sequence")?)?,
            entry_hash: Member::read(item.get("entry_hash")?)?,
            salt,
        })
    }
}
