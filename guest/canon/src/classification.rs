//! What an attempt is, given the record of its execution.
//!
//! A verdict, never a permit: the permit to invoke comes from a reservation.
//! Texts are compared as whole strings, so that a component and a host that
//! hold the same strings give the same verdict.

/// The outcome of a settled execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A result without `isError`.
    Succeeded,
    /// A result with `isError`.
    ToolError,
    /// A JSON-RPC error from the upstream.
    UpstreamError,
    /// It is certain that no application byte of the request left.
    NotAttempted,
    /// Bytes may have left and no authoritative answer came.
    OutcomeUnknown,
}

/// What an attempt brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presented<'a> {
    /// `NAME@MAJOR.MINOR.PATCH`
    pub profile: &'a str,
    /// The binding of its action under that profile.
    pub binding: &'a str,
    /// `SERVER@DIGEST/TOOL`
    pub target: &'a str,
    /// Present when the attempt carries a continuation.
    pub round: Option<Round<'a>>,
}

/// The digests of a continuation and of its `requestState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round<'a> {
    /// Digest of the whole continuation.
    pub continuation: &'a str,
    /// Digest of its `requestState`, if it carries one.
    pub request_state: Option<&'a str>,
}

/// What is known of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded<'a> {
    /// `NAME@MAJOR.MINOR.PATCH`
    pub profile: &'a str,
    /// The binding that was reserved.
    pub binding: &'a str,
    /// `SERVER@DIGEST/TOOL`
    pub target: &'a str,
    /// Where the execution stands.
    pub state: RecordedState<'a>,
    /// Digests of the continuations claimed so far.
    pub claimed: &'a [&'a str],
}

/// The state of an execution, as far as classification depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedState<'a> {
    /// Reserved by an owner that may send or has sent.
    InFlight,
    /// The upstream asked for another round; with the digest of the
    /// `requestState` that it issued, if it did.
    AwaitingInput(Option<&'a str>),
    /// The upstream runs a task.
    TaskOpen,
    /// An outcome is known, or known to be unknowable.
    Settled(Outcome),
    /// An owner is gone and what left is not known.
    Blocked,
}

/// What an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Classification {
    /// Nothing is recorded under this identifier.
    Fresh,
    /// The execution is still open.
    InFlight,
    /// It answers the round that is awaited.
    Continuation,
    /// It answers a round that was never asked.
    ContinuationMismatch,
    /// A round asked before, of an execution still open.
    RoundReplay,
    /// The execution is settled.
    Replay(Outcome),
    /// The execution is blocked until an operator resolves it.
    Blocked,
    /// The identifier belongs to something else.
    Collision(Difference),
    /// The profiles differ, so the bindings cannot be compared.
    Incomparable,
}

/// In what a collision differs; at least one is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Difference {
    /// The bindings differ under one profile.
    pub binding: bool,
    /// The targets differ.
    pub target: bool,
}

/// Classifies an attempt; the order of the rules is normative.
#[must_use]
pub fn classify(presented: &Presented<'_>, recorded: Option<&Recorded<'_>>) -> Classification {
    let Some(recorded) = recorded else {
        return match presented.round {
            None => Classification::Fresh,
            Some(_) => Classification::ContinuationMismatch,
        };
    };
    let one_profile = presented.profile == recorded.profile;
    let difference = Difference {
        binding: one_profile && presented.binding != recorded.binding,
        target: presented.target != recorded.target,
    };
    if difference != Difference::default() {
        return Classification::Collision(difference);
    }
    if !one_profile {
        return Classification::Incomparable;
    }
    match recorded.state {
        RecordedState::Settled(outcome) => return Classification::Replay(outcome),
        RecordedState::Blocked => return Classification::Blocked,
        RecordedState::InFlight | RecordedState::AwaitingInput(_) | RecordedState::TaskOpen => {}
    }
    if presented
        .round
        .is_some_and(|round| recorded.claimed.contains(&round.continuation))
    {
        return Classification::RoundReplay;
    }
    match (recorded.state, presented.round) {
        (RecordedState::AwaitingInput(_), None) => Classification::RoundReplay,
        (RecordedState::AwaitingInput(issued), Some(round)) => {
            if issued == round.request_state {
                Classification::Continuation
            } else {
                Classification::ContinuationMismatch
            }
        }
        _ => Classification::InFlight,
    }
}
