//! The state machine: what may happen to an execution, and what then holds.
//!
//! [`step`] is pure and total: each pair of state and event either has a row in
//! [`TRANSITIONS`] or is [`Illegal`]. Stores persist what it decides and decide
//! nothing; the rules are `docs/spec/executions.md` §2, §4 and §6.

mod effects;
mod event;
mod table;

use countersign_canon::{Digest, Outcome};
use countersign_evidence::EffectBoundary;

use crate::identity::{Fence, Incarnation};
use crate::record::{MAX_ROUNDS, Record, State};

pub use effects::{Effects, Illegal, Leaves};
pub use event::{Answered, Event, Owner};
pub use table::{At, On, TRANSITIONS};

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
    let effects = Effects::says(Leaves::Admission, &record);
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
            // From now on nobody can state that nothing was attempted.
            raise(&mut next, true);
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
    let effects = Effects::says(leaves, &next);
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

#[cfg(test)]
mod tests;
