//! What opens the blinded executions of a bundle, found by execution.
//!
//! It is held in memory, as little as possible of each. Whether a salt fits is
//! shown by the entry that reserved its execution: it holds the blinded form of
//! the binding that stands beside the salt.

use std::collections::HashMap;
use std::io::{Read, Seek};

use countersign_canon::Digest;

use super::{Bundle, BundleError, ExecutionName, Opening};
use crate::{Blinding, Draft, Salt};

/// The most that are held: some 500 MB.
const MOST: usize = 1 << 22;

/// Of all executions that a bundle discloses.
#[derive(Debug, Default)]
pub struct Openings {
    all: HashMap<ExecutionName, Held>,
    /// Lines that are none, or that open once more what was opened.
    pub faulty: u64,
    /// Whether there were more than are held.
    pub overflowed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    salt: Salt,
    binding: [u8; 32],
    met: bool,
}

/// What opens one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// What its values were blinded with.
    pub salt: Salt,
    /// The binding that was admitted, as far as it is known.
    pub binding: Option<Digest>,
}

impl Openings {
    /// Reads those that a bundle carries.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read<R: Read + Seek>(bundle: &mut Bundle<R>) -> Result<Self, BundleError> {
        let mut openings = Self::default();
        let mut lines = bundle.openings();
        while let Some(line) = lines.next()? {
            let opening = Opening::parse(line);
            let named = opening.and_then(|opening| Some((opening.name()?, opening)));
            let Some((name, opening)) = named else {
                openings.faulty = openings.faulty.saturating_add(1);
                continue;
            };
            if openings.all.len() == MOST {
                openings.overflowed = true;
                break;
            }
            let held = Held {
                salt: opening.salt,
                binding: opening.binding.to_bytes(),
                met: false,
            };
            if openings.all.insert(name, held).is_some() {
                openings.faulty = openings.faulty.saturating_add(1);
            }
        }
        Ok(openings)
    }

    /// What opens the execution of a blinded entry; it counts as met.
    pub fn of(&mut self, said: &Draft) -> Option<Opened> {
        if said.blind != Blinding::Salted || self.all.is_empty() {
            return None;
        }
        let held = self.all.get_mut(&ExecutionName::of(said)?)?;
        held.met = true;
        Some(Opened {
            salt: held.salt,
            binding: Some(Digest::from_bytes(held.binding)),
        })
    }

    /// How many there are, and how many of them no entry met.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let unmet = self.all.values().filter(|held| !held.met).count();
        (self.all.len(), unmet)
    }
}

impl Opened {
    /// Whether it opens an entry that holds the binding of its execution.
    #[must_use]
    pub fn opens(&self, said: &Draft) -> bool {
        let blinded = self.binding.map(|binding| self.salt.blind(&binding));
        said.blind == Blinding::Salted && blinded.is_some() && blinded == said.binding
    }
}
