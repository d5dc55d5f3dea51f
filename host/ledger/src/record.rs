//! What is known of one execution, as far as the state machine moves it.
//!
//! A [`Record`] holds the state, the effect boundary, the owner with its fence
//! and the rounds (`docs/spec/executions.md` §1–2). What was admitted and never
//! changes lives in [`crate::Facts`]; who writes rows is the store's business.

use std::fmt;

use countersign_canon::{Digest, Outcome, RecordedState};
use countersign_evidence::EffectBoundary;

use crate::identity::{Fence, Incarnation, TaskId};

/// The most rounds that one execution may claim (`docs/spec/executions.md` §6).
pub const MAX_ROUNDS: usize = 32;

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Reserved by an owner that may send or has sent.
    InFlight,
    /// The upstream asked for another round; nothing is running.
    AwaitingInput,
    /// The upstream runs a task that it minted; there is no owner.
    TaskOpen,
    /// The owner is gone and what left is not known.
    Blocked,
    /// An outcome is known, or known to be unknowable.
    Settled(Outcome),
}

/// The part of an execution that events move.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Whether there is an `execution_id`, so that later attempts can meet it.
    pub identified: bool,
    /// Where it stands.
    pub state: State,
    /// How far its request came; within one round it only rises.
    pub boundary: EffectBoundary,
    /// The incarnation that may, or did, write last as owner.
    pub owner: Incarnation,
    /// Rises with each owner, and when an owner is given up.
    pub fence: Fence,
    /// Digests of the continuations claimed so far, at most [`MAX_ROUNDS`].
    pub claimed: Vec<Digest>,
    /// Digest of the `requestState` that the upstream issued last, if it did.
    pub issued: Option<Digest>,
    /// The task that the upstream minted.
    pub task: Option<TaskId>,
}

impl State {
    /// The stable text that stores and callers see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InFlight => "in-flight",
            Self::AwaitingInput => "awaiting-input",
            Self::TaskOpen => "task-open",
            Self::Blocked => "blocked",
            Self::Settled(_) => "settled",
        }
    }

    /// The outcome, once settled.
    #[must_use]
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Settled(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Reads the pair of columns that a store keeps; `None` for any other pair.
    #[must_use]
    pub fn parse(state: &str, outcome: Option<&str>) -> Option<Self> {
        match (state, outcome) {
            ("in-flight", None) => Some(Self::InFlight),
            ("awaiting-input", None) => Some(Self::AwaitingInput),
            ("task-open", None) => Some(Self::TaskOpen),
            ("blocked", None) => Some(Self::Blocked),
            ("settled", Some(outcome)) => parse_outcome(outcome).map(Self::Settled),
            _ => None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Record {
    /// The state in the words of the classification table.
    #[must_use]
    pub fn recorded_state(&self) -> RecordedState<'_> {
        match self.state {
            State::InFlight => RecordedState::InFlight,
            State::AwaitingInput => {
                RecordedState::AwaitingInput(self.issued.as_ref().map(Digest::as_str))
            }
            State::TaskOpen => RecordedState::TaskOpen,
            State::Blocked => RecordedState::Blocked,
            State::Settled(outcome) => RecordedState::Settled(outcome),
        }
    }
}

/// The stable text of an outcome (`docs/spec/executions.md` §2).
#[must_use]
pub fn outcome_str(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::ToolError => "tool-error",
        Outcome::UpstreamError => "upstream-error",
        Outcome::NotAttempted => "not-attempted",
        Outcome::OutcomeUnknown => "outcome-unknown",
    }
}

/// All outcomes, in the order of the specification.
pub const OUTCOMES: [Outcome; 5] = [
    Outcome::Succeeded,
    Outcome::ToolError,
    Outcome::UpstreamError,
    Outcome::NotAttempted,
    Outcome::OutcomeUnknown,
];

/// Reads the stable text of an outcome.
#[must_use]
pub fn parse_outcome(text: &str) -> Option<Outcome> {
    OUTCOMES
        .into_iter()
        .find(|outcome| outcome_str(*outcome) == text)
}
