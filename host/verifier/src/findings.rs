//! What speaks for and against each claim, collected while a bundle is read.
//!
//! A contradiction stays one whatever is found after it. Only the first of
//! many are kept in words, so that a hostile bundle cannot fill memory with
//! its faults; all are counted.

use std::fmt;

use countersign_evidence::{Entry, LogId};

use crate::claim::{Claim, Status};

/// How many findings of one sort are kept in words.
const KEPT: usize = 16;

/// Where in which log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The log.
    pub log_id: LogId,
    /// The entry's sequence in it.
    pub sequence: u64,
}

/// One reason, with the first entry that gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The entry, where it is about one.
    pub place: Option<Place>,
    /// The reason.
    pub reason: String,
    /// How many times it was given.
    pub count: u64,
}

/// Reasons of one sort for one claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reasons {
    pub(crate) kept: Vec<Finding>,
    pub(crate) count: u64,
}

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    claims: [Side; 8],
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) against: Reasons,
    pub(crate) open: Reasons,
    pub(crate) shown: Vec<String>,
}

impl Place {
    /// Where an entry stands.
    pub(crate) fn of(entry: &Entry) -> Self {
        Self {
            log_id: entry.log_id().clone(),
            sequence: entry.sequence(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.log_id, self.sequence)
    }
}

impl Reasons {
    fn add(&mut self, place: Option<&Place>, reason: impl FnOnce() -> String) {
        self.count = self.count.saturating_add(1);
        let reason = reason();
        if let Some(known) = self.kept.iter_mut().find(|known| known.reason == reason) {
            known.count = known.count.saturating_add(1);
        } else if self.kept.len() < KEPT {
            self.kept.push(Finding {
                place: place.cloned(),
                reason,
                count: 1,
            });
        }
    }
}

impl Findings {
    fn side(&mut self, claim: Claim) -> Option<&mut Side> {
        Claim::ALL
            .iter()
            .position(|other| *other == claim)
            .and_then(|at| self.claims.get_mut(at))
    }

    /// The opposite of `claim` was shown.
    pub(crate) fn contradict(
        &mut self,
        claim: Claim,
        place: Option<&Place>,
        reason: impl FnOnce() -> String,
    ) {
        if let Some(side) = self.side(claim) {
            side.against.add(place, reason);
        }
    }

    /// Something that `claim` needs could not be shown.
    pub(crate) fn leave_open(
        &mut self,
        claim: Claim,
        place: Option<&Place>,
        reason: impl FnOnce() -> String,
    ) {
        if let Some(side) = self.side(claim) {
            side.open.add(place, reason);
        }
    }

    /// Something that `claim` says was shown.
    pub(crate) fn show(&mut self, claim: Claim, what: String) {
        if let Some(side) = self.side(claim) {
            side.shown.push(what);
        }
    }

    /// How far a claim holds, by what was found so far.
    pub(crate) fn status(&mut self, claim: Claim) -> Status {
        self.side(claim)
            .map_or(Status::NotEstablished, |side| side.status())
    }

    /// All claims with what was found.
    pub(crate) fn into_sides(self) -> impl Iterator<Item = (Claim, Side)> {
        Claim::ALL.into_iter().zip(self.claims)
    }
}

impl Side {
    pub(crate) fn status(&self) -> Status {
        if self.against.count > 0 {
            Status::Contradicted
        } else if self.open.count > 0 || self.shown.is_empty() {
            Status::NotEstablished
        } else {
            Status::Verified
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sixteen_reasons_are_kept_in_words_and_every_one_is_counted() {
        let mut reasons = Reasons::default();
        for number in 0..40 {
            reasons.add(None, || format!("reason {number}"));
            assert_eq!(reasons.kept.len(), KEPT.min(number + 1));
        }
        // One of those that are told, and one that is not.
        for again in ["reason 3", "reason 30"] {
            reasons.add(None, || again.to_owned());
        }
        assert_eq!(reasons.count, 42);
        for (number, kept) in reasons.kept.iter().enumerate() {
            assert_eq!(kept.reason, format!("reason {number}"));
            assert_eq!(kept.count, if number == 3 { 2 } else { 1 });
        }
    }
}
