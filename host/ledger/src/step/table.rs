//! The states, the kinds of events, and every legal transition between them.

use crate::record::{Record, State};

/// The state before an event, `Nothing` where there is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the states of the specification")]
pub enum At {
    Nothing,
    InFlight,
    AwaitingInput,
    TaskOpen,
    Blocked,
    Settled,
}

/// The kind of an event, without what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "documented at `Event`")]
pub enum On {
    Reserve,
    NotSent,
    Unanswered,
    Answered,
    Asked,
    TaskOpened,
    OwnerLost,
    Claim,
    Abandon,
    TaskObserved,
    TaskEnded,
    LateAnswer,
    Resolve,
    Refuse,
}

/// Every legal transition. What is not here is refused.
///
/// An execution without an identifier can be met by no later attempt, so it is
/// never blocked and awaits nothing: where two states follow, the second is
/// its, and that of an upstream that asks for more than [`MAX_ROUNDS`](crate::MAX_ROUNDS) rounds.
#[rustfmt::skip]
pub const TRANSITIONS: &[(At, On, &[At])] = &[
    (At::Nothing,       On::Reserve,      &[At::InFlight]),

    (At::InFlight,      On::NotSent,      &[At::Settled]),
    (At::InFlight,      On::Unanswered,   &[At::Settled]),
    (At::InFlight,      On::Answered,     &[At::Settled]),
    (At::InFlight,      On::Asked,        &[At::AwaitingInput, At::Settled]),
    (At::InFlight,      On::TaskOpened,   &[At::TaskOpen]),
    (At::InFlight,      On::OwnerLost,    &[At::Blocked, At::Settled]),
    (At::InFlight,      On::Refuse,       &[At::InFlight]),

    (At::AwaitingInput, On::Claim,        &[At::InFlight]),
    (At::AwaitingInput, On::Abandon,      &[At::Settled]),
    (At::AwaitingInput, On::Refuse,       &[At::AwaitingInput]),

    (At::TaskOpen,      On::TaskObserved, &[At::TaskOpen]),
    (At::TaskOpen,      On::TaskEnded,    &[At::Settled]),
    (At::TaskOpen,      On::Refuse,       &[At::TaskOpen]),

    (At::Blocked,       On::LateAnswer,   &[At::Blocked]),
    (At::Blocked,       On::Resolve,      &[At::Settled]),
    (At::Blocked,       On::Refuse,       &[At::Blocked]),

    (At::Settled,       On::LateAnswer,   &[At::Settled]),
    (At::Settled,       On::Resolve,      &[At::Settled]),
    (At::Settled,       On::Refuse,       &[At::Settled]),
];

impl At {
    /// The state of a record, if there is one.
    #[must_use]
    pub fn of(record: Option<&Record>) -> Self {
        match record.map(|record| record.state) {
            None => Self::Nothing,
            Some(State::InFlight) => Self::InFlight,
            Some(State::AwaitingInput) => Self::AwaitingInput,
            Some(State::TaskOpen) => Self::TaskOpen,
            Some(State::Blocked) => Self::Blocked,
            Some(State::Settled(_)) => Self::Settled,
        }
    }
}
