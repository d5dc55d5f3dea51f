//! What an event leaves behind, or why it may not happen.

use countersign_canon::Outcome;
use countersign_evidence::EffectBoundary;

use super::table::{At, On};
use crate::record::Record;

/// Which entry an event leaves, and what that entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effects {
    /// The entry to append on the execution's chain.
    pub entry: Leaves,
    /// The outcome that the entry states, if any.
    pub outcome: Option<Outcome>,
    /// The effect boundary that the entry states, if any.
    pub boundary: Option<EffectBoundary>,
    /// Whether the entry is the execution's one terminal.
    pub terminal: bool,
}

/// The kind of entry that a transition leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the entry kinds of `docs/spec/evidence.md` §1")]
pub enum Leaves {
    Admission,
    Terminal,
    RoundAsked,
    RoundClaimed,
    Task,
    Blocked,
    LateAnswer,
    Resolution,
    Refusal,
}

/// Why an event may not happen to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Illegal {
    /// The table has no such transition.
    #[error("`{on:?}` is not legal at `{at:?}`")]
    Transition {
        /// The state before.
        at: At,
        /// The event.
        on: On,
    },
    /// The writer is not the owner, or not any more.
    #[error("the writer was fenced")]
    Fenced,
    /// The continuation was claimed before.
    #[error("the round was claimed before")]
    Claimed,
    /// All [`MAX_ROUNDS`](crate::MAX_ROUNDS) rounds are used up.
    #[error("no round is left")]
    Rounds,
    /// The outcome contradicts what is known of the effect boundary.
    #[error("the outcome contradicts what is known")]
    Outcome,
}

impl Effects {
    /// What an entry says that only states where the execution now stands.
    pub(super) fn says(entry: Leaves, record: &Record) -> Self {
        Self {
            entry,
            outcome: record.state.outcome(),
            boundary: Some(record.boundary),
            terminal: entry == Leaves::Terminal,
        }
    }
}
