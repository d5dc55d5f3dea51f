//! What is decided and written: every change of a row is the ledger's own
//! [`step`], and every classification is the ledger's own table.

use std::sync::LazyLock;

use countersign_canon::{Classification, Digest, Outcome, Presented, Recorded, Round, classify};
use countersign_ledger::{
    Answered, Effects, Event, Incarnation, Leaves, Owner, Record, State as Stands, step,
};

use crate::bounds::{Asks, Bounds, Fault};
use crate::state::{Broken, Entry, Row, State, Then, Word, Write};

/// The `requestState` that the upstream issues, and the continuations.
static ISSUED: LazyLock<Digest> = LazyLock::new(|| Digest::of(&[b"state"]));
static CONTINUATIONS: LazyLock<[Digest; 3]> =
    LazyLock::new(|| [b"0", b"1", b"2"].map(|text| Digest::of(&[text])));

pub fn owner(record: &Record) -> Owner {
    Owner {
        incarnation: record.owner,
        fence: record.fence,
    }
}

/// What a settlement is, on the row as it is read now.
pub enum Settling {
    Writes(Write),
    /// This very owner settled it before.
    Before,
    Fenced,
}

impl Bounds {
    /// The execution that an attempt is about.
    pub fn execution(&self, attempt: u8) -> u8 {
        let ids = self.attempts.iter().filter_map(|asks| asks.id).max();
        let ids = ids.map_or(0, |highest| highest + 1);
        self.asks(attempt).id.unwrap_or(ids + attempt)
    }

    pub fn asks(&self, attempt: u8) -> Asks {
        self.attempts[usize::from(attempt)]
    }

    /// Decides an attempt at a replica.
    pub fn decide(&self, state: &State, attempt: u8, replica: u8) -> Write {
        let asks = self.asks(attempt);
        let execution = self.execution(attempt);
        let row = state.store.rows[usize::from(execution)].as_ref();
        let by = Incarnation::new(state.replicas[usize::from(replica)].incarnation.into());
        let reserve = Event::Reserve {
            identified: asks.id.is_some(),
            by,
        };
        let record = row.map(|row| &row.record);
        let (stepped, then) = match classified(&asks, row) {
            Classification::Fresh => (step(None, &reserve), Then::Permit),
            Classification::Replay(Outcome::OutcomeUnknown)
                if self.fault == Some(Fault::ReuseUnknown) =>
            {
                (step(None, &reserve), Then::Permit)
            }
            Classification::Continuation => {
                let continuation = CONTINUATIONS[usize::from(asks.round.unwrap_or(0))];
                let event = Event::Claim { by, continuation };
                (step(record, &event), Then::Permit)
            }
            _ => (step(record, &Event::Refuse), Then::Refuse),
        };
        let (record, effects) = stepped.expect("what is classified so is legal");
        let call = row.map_or(attempt, |row| row.call);
        let action = row.map_or(asks.action, |row| row.action);
        write(
            execution,
            row,
            record,
            &effects,
            action,
            call,
            Some(attempt),
            then,
        )
    }

    /// Decides what an owner's word does.
    pub fn settle(&self, state: &State, attempt: u8, by: Owner, word: Word) -> Settling {
        let execution = self.execution(attempt);
        let Some(row) = &state.store.rows[usize::from(execution)] else {
            return Settling::Fenced;
        };
        let event = match word {
            Word::NotSent => Event::NotSent { by },
            Word::Unanswered => Event::Unanswered {
                by,
                received: false,
            },
            Word::Answered => Event::Answered {
                by,
                with: Answered::Succeeded,
            },
            Word::Asked => Event::Asked {
                by,
                issued: Some(*ISSUED),
            },
            Word::Task => Event::TaskOpened {
                by,
                task: "task".parse().expect("a task id"),
            },
        };
        let stepped = step(Some(&row.record), &event).or_else(|illegal| {
            let late = Event::LateAnswer {
                by,
                with: Answered::Succeeded,
            };
            match word {
                Word::Answered if !before(&row.record, by) => step(Some(&row.record), &late),
                _ => Err(illegal),
            }
        });
        match stepped {
            Ok((record, effects)) => {
                let (action, call) = (row.action, row.call);
                let by = Some(attempt);
                Settling::Writes(write(
                    execution,
                    Some(row),
                    record,
                    &effects,
                    action,
                    call,
                    by,
                    Then::End,
                ))
            }
            Err(_) if before(&row.record, by) => Settling::Before,
            Err(_) => Settling::Fenced,
        }
    }

    /// Whether the condition of a write holds.
    fn condition(&self, row: Option<&Row>, was: Option<(Owner, u8)>) -> bool {
        match (row, was) {
            (None, None) => true,
            (Some(row), Some((by, length))) => {
                let (fence, length) = (owner(&row.record) == by, row.length == length);
                match self.fault {
                    Some(Fault::NoFence) => true,
                    Some(Fault::NoLength) => fence,
                    Some(Fault::OnlyLength) => length,
                    _ => fence && length,
                }
            }
            _ => false,
        }
    }

    /// Commits row and entry, where the condition holds.
    pub fn commit(&self, state: &mut State, write: &Write) -> bool {
        let done = self.commit_row(state, write);
        if done {
            commit_entry(state, write);
        }
        done
    }

    /// Commits the row alone, which only the fault of two transactions does.
    pub fn commit_row(&self, state: &mut State, write: &Write) -> bool {
        let row = &state.store.rows[usize::from(write.execution)];
        if !self.condition(row.as_ref(), write.was) {
            return false;
        }
        let before = row.as_ref().and_then(|row| row.record.state.outcome());
        if before.is_some() && before != write.row.record.state.outcome() {
            state.breaks(Broken::OutcomeReplaced);
        }
        state.store.rows[usize::from(write.execution)] = Some(write.row.clone());
        true
    }

    /// Writes what an operator, a task's observer or a sweeper does, on the row
    /// as it is now.
    pub fn act(&self, state: &mut State, execution: u8, event: &Event) {
        let Some(row) = &state.store.rows[usize::from(execution)] else {
            return;
        };
        let Ok((record, effects)) = step(Some(&row.record), event) else {
            return;
        };
        let (action, call) = (row.action, row.call);
        let write = write(
            execution,
            Some(row),
            record,
            &effects,
            action,
            call,
            None,
            Then::End,
        );
        self.commit(state, &write);
    }
}

pub fn commit_entry(state: &mut State, write: &Write) {
    state.store.chains[usize::from(write.execution)].push(write.entry.clone());
}

/// Whether an owner has moved its execution out of in-flight before: nobody
/// else does without raising the fence.
pub fn before(record: &Record, by: Owner) -> bool {
    owner(record) == by && record.state != Stands::InFlight
}

fn classified(asks: &Asks, row: Option<&Row>) -> Classification {
    const BINDINGS: [&str; 2] = ["five", "six"];
    if asks.id.is_none() {
        return Classification::Fresh;
    }
    let round = asks.round.map(|round| Round {
        continuation: CONTINUATIONS[usize::from(round)].as_str(),
        request_state: Some(ISSUED.as_str()),
    });
    let presented = Presented {
        profile: "exact@1.0.0",
        binding: BINDINGS[usize::from(asks.action)],
        target: "bank",
        round,
    };
    let Some(row) = row else {
        return classify(&presented, None);
    };
    let claimed: Vec<&str> = row.record.claimed.iter().map(Digest::as_str).collect();
    let recorded = Recorded {
        profile: "exact@1.0.0",
        binding: BINDINGS[usize::from(row.action)],
        target: "bank",
        state: row.record.recorded_state(),
        claimed: &claimed,
    };
    classify(&presented, Some(&recorded))
}

#[expect(clippy::too_many_arguments, reason = "the parts of a transaction")]
fn write(
    execution: u8,
    row: Option<&Row>,
    record: Record,
    effects: &Effects,
    action: u8,
    call: u8,
    by: Option<u8>,
    then: Then,
) -> Write {
    let sequence = row.map_or(0, |row| row.length);
    Write {
        execution,
        was: row.map(|row| (owner(&row.record), row.length)),
        row: Row {
            record,
            action,
            call,
            length: sequence + 1,
        },
        entry: Entry {
            sequence,
            leaves: effects.entry,
            outcome: effects.outcome,
            terminal: effects.terminal,
            by,
        },
        then,
    }
}

/// Whether an entry says that an attempt may send.
pub fn permits(entry: &Entry) -> bool {
    matches!(entry.leaves, Leaves::Admission | Leaves::RoundClaimed)
}
