//! The state machine: what may happen to an execution, and what then holds.
//!
//! [`step`] is pure and total: each pair of state and event either has a row in
//! [`TRANSITIONS`] or is [`Illegal`]. Stores persist what it decides and decide
//! nothing; the rules are `docs/spec/executions.md` §2, §4 and §6.

use countersign_canon::{Digest, Outcome};
use countersign_evidence::EffectBoundary;

use crate::identity::{Fence, Incarnation, TaskId};
use crate::record::{MAX_ROUNDS, Record, State};

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
/// its, and that of an upstream that asks for more than [`MAX_ROUNDS`] rounds.
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

/// The name under which an owner writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The incarnation that reserved or claimed.
    pub incarnation: Incarnation,
    /// The fence that it was given.
    pub fence: Fence,
}

/// An answer that says what became of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answered {
    /// A result without `isError`.
    Succeeded,
    /// A result with `isError`.
    ToolError,
    /// A JSON-RPC error from the upstream.
    UpstreamError,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// An attempt that nothing was recorded for takes the identifier.
    Reserve {
        /// Whether there is an `execution_id`.
        identified: bool,
        /// Who takes it.
        by: Incarnation,
    },
    /// The owner is certain that no application byte of this round left.
    NotSent {
        /// Who says so.
        by: Owner,
    },
    /// Bytes may have left, and no authoritative answer came.
    Unanswered {
        /// Who says so.
        by: Owner,
        /// An answer came and could not be read strictly, or was too large.
        received: bool,
    },
    /// The upstream answered.
    Answered {
        /// Who says so.
        by: Owner,
        /// What it answered.
        with: Answered,
    },
    /// The upstream asked for another round.
    Asked {
        /// Who says so.
        by: Owner,
        /// Digest of the `requestState` that it issued, if it did.
        issued: Option<Digest>,
    },
    /// The upstream minted a task.
    TaskOpened {
        /// Who says so.
        by: Owner,
        /// The task.
        task: TaskId,
    },
    /// The owner is gone: its process is dead, or its lease has run out.
    OwnerLost {
        /// Whom the observer found gone.
        lost: Owner,
    },
    /// A continuation takes the round that is awaited.
    Claim {
        /// Who takes it.
        by: Incarnation,
        /// Digest of the continuation, claimed once.
        continuation: Digest,
    },
    /// Nobody will answer the round that is awaited.
    Abandon,
    /// A state of the task that is not its last.
    TaskObserved,
    /// The last state of the task, or its time is up.
    TaskEnded {
        /// The outcome it maps to; `not-attempted` is none.
        outcome: Outcome,
    },
    /// An owner that was given up still got an answer.
    LateAnswer {
        /// Whose answer it is.
        by: Owner,
        /// What it says.
        with: Answered,
    },
    /// An operator states an outcome.
    Resolve {
        /// The outcome stated.
        outcome: Outcome,
        /// The owning incarnation is proved dead.
        owner_dead: bool,
    },
    /// Another attempt met the execution and was refused.
    Refuse,
}

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
    /// All [`MAX_ROUNDS`] rounds are used up.
    #[error("no round is left")]
    Rounds,
    /// The outcome contradicts what is known of the effect boundary.
    #[error("the outcome contradicts what is known")]
    Outcome,
}

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

impl Event {
    /// The kind of this event.
    #[must_use]
    pub fn on(&self) -> On {
        match self {
            Self::Reserve { .. } => On::Reserve,
            Self::NotSent { .. } => On::NotSent,
            Self::Unanswered { .. } => On::Unanswered,
            Self::Answered { .. } => On::Answered,
            Self::Asked { .. } => On::Asked,
            Self::TaskOpened { .. } => On::TaskOpened,
            Self::OwnerLost { .. } => On::OwnerLost,
            Self::Claim { .. } => On::Claim,
            Self::Abandon => On::Abandon,
            Self::TaskObserved => On::TaskObserved,
            Self::TaskEnded { .. } => On::TaskEnded,
            Self::LateAnswer { .. } => On::LateAnswer,
            Self::Resolve { .. } => On::Resolve,
            Self::Refuse => On::Refuse,
        }
    }
}

impl Answered {
    /// The outcome that this answer is.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Succeeded => Outcome::Succeeded,
            Self::ToolError => Outcome::ToolError,
            Self::UpstreamError => Outcome::UpstreamError,
        }
    }
}

/// Applies `event` to `record`.
///
/// # Errors
///
/// [`Illegal`] where the event may not happen; then nothing may be written.
pub fn step(record: Option<&Record>, event: &Event) -> Result<(Record, Effects), Illegal> {
    let (at, on) = (At::of(record), event.on());
    if !TRANSITIONS
        .iter()
        .any(|(before, event, _)| (*before, *event) == (at, on))
    {
        return Err(Illegal::Transition { at, on });
    }
    match (record, event) {
        (None, Event::Reserve { identified, by }) => Ok(reserve(*identified, *by)),
        (Some(record), event) => advance(record, event),
        (None, _) => Err(Illegal::Transition { at, on }),
    }
}

fn reserve(identified: bool, by: Incarnation) -> (Record, Effects) {
    let record = Record {
        identified,
        state: State::InFlight,
        boundary: EffectBoundary::PreTransport,
        owner: by,
        fence: Fence::FIRST,
        claimed: Vec::new(),
        issued: None,
        task: None,
    };
    let effects = says(Leaves::Admission, &record);
    (record, effects)
}

fn advance(record: &Record, event: &Event) -> Result<(Record, Effects), Illegal> {
    let mut next = record.clone();
    let leaves = match event {
        Event::Reserve { .. } => {
            return Err(Illegal::Transition {
                at: At::of(Some(record)),
                on: On::Reserve,
            });
        }
        Event::NotSent { by } => {
            owned(record, *by)?;
            // An earlier round reached the upstream, so "nothing was sent under
            // this identifier" would be false.
            let first = record.boundary == EffectBoundary::PreTransport;
            settle(
                &mut next,
                if first {
                    Outcome::NotAttempted
                } else {
                    Outcome::OutcomeUnknown
                },
            )
        }
        Event::Unanswered { by, received } => {
            owned(record, *by)?;
            raise(&mut next, *received);
            settle(&mut next, Outcome::OutcomeUnknown)
        }
        Event::Answered { by, with } => {
            owned(record, *by)?;
            raise(&mut next, true);
            settle(&mut next, with.outcome())
        }
        Event::Asked { by, issued } => {
            owned(record, *by)?;
            raise(&mut next, true);
            next.issued = *issued;
            if !record.identified {
                settle(&mut next, Outcome::Succeeded)
            } else if record.claimed.len() < MAX_ROUNDS {
                next.state = State::AwaitingInput;
                Leaves::RoundAsked
            } else {
                // Nobody may answer this round, so nothing may stay open for it.
                settle(&mut next, Outcome::OutcomeUnknown)
            }
        }
        Event::TaskOpened { by, task } => {
            owned(record, *by)?;
            raise(&mut next, true);
            next.task = Some(task.clone());
            next.state = State::TaskOpen;
            Leaves::Task
        }
        Event::OwnerLost { lost } => {
            owned(record, *lost)?;
            // Whether a byte left is not known, and is not guessed.
            raise(&mut next, false);
            next.fence = record.fence.next();
            if record.identified {
                next.state = State::Blocked;
                Leaves::Blocked
            } else {
                settle(&mut next, Outcome::OutcomeUnknown)
            }
        }
        Event::Claim { by, continuation } => claim(&mut next, *by, *continuation)?,
        Event::Abandon => settle(&mut next, Outcome::OutcomeUnknown),
        Event::TaskObserved => Leaves::Task,
        Event::TaskEnded {
            outcome: Outcome::NotAttempted,
        } => return Err(Illegal::Outcome),
        Event::TaskEnded { outcome } => settle(&mut next, *outcome),
        Event::LateAnswer { by, with } => {
            // Only someone who once was the owner can have sent anything.
            if by.fence > record.fence {
                return Err(Illegal::Fenced);
            }
            let effects = Effects {
                entry: Leaves::LateAnswer,
                outcome: Some(with.outcome()),
                boundary: Some(EffectBoundary::ResponseReceived),
                terminal: false,
            };
            return Ok((next, effects));
        }
        Event::Resolve {
            outcome,
            owner_dead,
        } => {
            return resolve(record, *outcome, *owner_dead);
        }
        Event::Refuse => {
            let effects = Effects {
                entry: Leaves::Refusal,
                outcome: None,
                boundary: None,
                terminal: false,
            };
            return Ok((next, effects));
        }
    };
    let effects = says(leaves, &next);
    Ok((next, effects))
}

fn owned(record: &Record, by: Owner) -> Result<(), Illegal> {
    if record.owner == by.incarnation && record.fence == by.fence {
        Ok(())
    } else {
        Err(Illegal::Fenced)
    }
}

fn raise(record: &mut Record, received: bool) {
    record.boundary = if received {
        EffectBoundary::ResponseReceived
    } else {
        record.boundary.max(EffectBoundary::TransportMayHaveStarted)
    };
}

fn settle(record: &mut Record, outcome: Outcome) -> Leaves {
    record.state = State::Settled(outcome);
    Leaves::Terminal
}

fn claim(next: &mut Record, by: Incarnation, continuation: Digest) -> Result<Leaves, Illegal> {
    if next.claimed.contains(&continuation) {
        return Err(Illegal::Claimed);
    }
    if next.claimed.len() >= MAX_ROUNDS {
        return Err(Illegal::Rounds);
    }
    next.claimed.push(continuation);
    next.owner = by;
    next.fence = next.fence.next();
    // The answer to the round before says nothing of this one.
    next.boundary = EffectBoundary::TransportMayHaveStarted;
    next.state = State::InFlight;
    Ok(Leaves::RoundClaimed)
}

fn resolve(
    record: &Record,
    outcome: Outcome,
    owner_dead: bool,
) -> Result<(Record, Effects), Illegal> {
    if outcome == Outcome::NotAttempted {
        // A round that was claimed stands on an answer that came before it.
        let answered =
            record.boundary == EffectBoundary::ResponseReceived || !record.claimed.is_empty();
        if answered || !owner_dead {
            return Err(Illegal::Outcome);
        }
    }
    let mut next = record.clone();
    // A resolution beside a terminal outcome never replaces it.
    let first = record.state == State::Blocked;
    if first {
        next.state = State::Settled(outcome);
    }
    let effects = Effects {
        entry: Leaves::Resolution,
        outcome: Some(outcome),
        boundary: Some(record.boundary),
        terminal: first,
    };
    Ok((next, effects))
}

fn says(entry: Leaves, record: &Record) -> Effects {
    Effects {
        entry,
        outcome: record.state.outcome(),
        boundary: Some(record.boundary),
        terminal: entry == Leaves::Terminal,
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
