//! Blinding: entries that can be compared, and not guessed.
//!
//! The binding, the continuation and the answer of an entry are digests of what
//! a caller or a server wrote; where that is one of a few texts, whoever holds
//! the log can try them all. A blinded entry holds `SHA-256(salt ‖ value)`
//! instead, where `value` is the digest as it is written (`sha256:` and 64
//! digits). The salt is random, one for each execution, and stays in its row
//! (`docs/spec/evidence.md`, section 6).

use std::fmt;
use std::str::FromStr;

use countersign_canon::Digest;
use countersign_canon::document::{Item, Kind as JsonKind};

use crate::Draft;
use crate::member::Member;

/// What was done to an entry's binding, continuation and answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Blinding {
    /// Nothing: they stand in it as they are. Written as `null`, and read from
    /// entries that are older than blinding.
    #[default]
    Plain,
    /// Each of them that is there was blinded with its execution's salt.
    Salted,
    /// There is no row that could keep a salt, so those that there were are
    /// left out.
    Withheld,
}

impl Blinding {
    const SALTED: &str = "salted";
    const WITHHELD: &str = "withheld";
}

impl Member for Blinding {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Plain => out.extend_from_slice(b"null"),
            Self::Salted => Self::SALTED.to_owned().write(out),
            Self::Withheld => Self::WITHHELD.to_owned().write(out),
        }
    }

    fn read(item: Item<'_>) -> Option<Self> {
        match item.kind() {
            JsonKind::Null => Some(Self::Plain),
            _ if item.is_text(Self::SALTED) => Some(Self::Salted),
            _ if item.is_text(Self::WITHHELD) => Some(Self::Withheld),
            _ => None,
        }
    }

    fn absent() -> Option<Self> {
        Some(Self::Plain)
    }
}

/// The salt of one execution: 32 random bytes, written as 64 lowercase
/// hexadecimal digits. Whoever has it can try out what was blinded.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Salt([u8; 32]);

/// A text that is not a salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a salt: 64 lowercase hexadecimal digits")]
pub struct MalformedSalt;

impl Salt {
    /// A salt of random bytes.
    #[must_use]
    pub const fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// The bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// `SHA-256(salt ‖ value)`
    #[must_use]
    pub fn blind(&self, value: &Digest) -> Digest {
        Digest::of(&[&self.0, value.as_str().as_bytes()])
    }
}

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Both are 32 bytes in hexadecimal digits.
        f.write_str(
            Digest::from_bytes(self.0)
                .as_str()
                .trim_start_matches("sha256:"),
        )
    }
}

impl FromStr for Salt {
    type Err = MalformedSalt;

    fn from_str(text: &str) -> Result<Self, MalformedSalt> {
        let digits: Digest = format!("sha256:{text}")
            .parse()
            .map_err(|_| MalformedSalt)?;
        Ok(Self(digits.to_bytes()))
    }
}

/// A salt is shown to nobody by accident.
impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(not shown)")
    }
}

impl Member for Salt {
    fn write(&self, out: &mut Vec<u8>) {
        self.to_string().write(out);
    }

    fn read(item: Item<'_>) -> Option<Self> {
        item.text()?.parse().ok()
    }
}

impl Draft {
    /// Blinds what is there with the salt of the row that the entry is about.
    pub fn blind(&mut self, salt: &Salt) {
        if self.has_values() {
            for value in self.values() {
                *value = value.map(|value| salt.blind(&value));
            }
            self.blind = Blinding::Salted;
        }
    }

    /// Leaves out what there is, for an entry that no row is about.
    pub fn withhold(&mut self) {
        if self.has_values() {
            for value in self.values() {
                *value = None;
            }
            self.blind = Blinding::Withheld;
        }
    }

    /// Whether any of the three that are blinded is there.
    #[must_use]
    pub fn has_values(&self) -> bool {
        self.binding.is_some() || self.continuation.is_some() || self.answer_digest.is_some()
    }

    fn values(&mut self) -> [&mut Option<Digest>; 3] {
        [
            &mut self.binding,
            &mut self.continuation,
            &mut self.answer_digest,
        ]
    }
}
