//! The cells of the matrix: for each boundary, moment and fault what is done,
//! and what must be found afterwards.
//!
//! [`sqlite`] and [`postgres`] have what happens to the stores, each with faults
//! of its own; [`way`] has what happens between the gateway, the upstream and the
//! caller, which is the same on both; [`impossible`] says why a place is empty.
//! Which write, sync or commit belongs to which boundary is not guessed: a fault
//! is armed while nothing else is going on (before a call, or while the upstream
//! has it), so that the next one is that boundary's own.

mod impossible;
mod postgres;
mod sqlite;
mod way;

pub(super) use impossible::impossible;
pub(super) use sqlite::first_writes;

use super::faults::{Does, Fault, Spot};
use super::plan::{Call, Deed, Round, Step};
use super::upstream::{Moment, Reply};
use super::world::Store;

/// When.
pub(super) const MOMENTS: [&str; 3] = ["before", "within", "after"];

/// How it is known that the fault really happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// The preloaded library says so, or the proxy before the database.
    Replica,
    /// The same, of the replica beside the one that is called.
    Beside,
    /// The upstream did it at this moment.
    Moment(Moment),
    /// The call arrived, and its answer was cut off.
    CutOff,
    /// The step itself fails where it did not.
    Step,
}

/// One cell.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Where.
    pub(super) boundary: &'static str,
    /// When.
    pub(super) moment: &'static str,
    /// What.
    pub(super) fault: &'static str,
    /// How it is done; the last call is the one that it is done to.
    pub(super) steps: Vec<Step>,
    /// How it is known that it was.
    pub(super) sign: Sign,
    /// What must be found.
    pub(super) found: Found,
}

type Words = &'static [&'static str];

/// What must be found after a fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// What the call may be told.
    pub(super) told: Words,
    /// What its repeat may be told once everything is well.
    pub(super) then: Words,
    /// How often the upstream may have been asked by then.
    pub(super) arrivals: &'static [usize],
}

const fn found(told: Words, then: Words, arrivals: &'static [usize]) -> Found {
    Found {
        told,
        then,
        arrivals,
    }
}

const NOTHING: Words = &["nothing"];
const RESULT: Words = &["result"];
const BLOCKED: Words = &["blocked"];
const REPLAY: Words = &["replay"];
const ASKED: Words = &["asked"];
const NONE: &[usize] = &[0];
const ONCE: &[usize] = &[1];
const TWICE: &[usize] = &[2];
const ANY: &[usize] = &[0, 1];

/// Every cell of a store. `first_writes` is how many writes to the WAL the first
/// transaction of a start makes, as it was recorded; PostgreSQL has none.
#[must_use]
pub(super) fn of(store: Store, first_writes: u32) -> Vec<Cell> {
    let mut cells = match store {
        Store::Sqlite => sqlite::cells(first_writes),
        Store::Postgres => postgres::cells(),
    };
    cells.extend(way::cells(store));
    cells
}

/// The boundaries, as `docs/spec/executions.md` §4 has them.
#[must_use]
pub fn boundaries(store: Store) -> &'static [&'static str] {
    match store {
        Store::Sqlite => &[
            "open",
            "block",
            "reserve",
            "send",
            "invoke",
            "answer",
            "settle",
            "ask",
            "claim",
            "deliver",
            "refuse",
            "checkpoint",
            "write back",
        ],
        Store::Postgres => &[
            "open",
            "reconnect",
            "block",
            "reserve",
            "send",
            "invoke",
            "answer",
            "settle",
            "ask",
            "claim",
            "deliver",
            "refuse",
            "checkpoint",
        ],
    }
}

/// What goes wrong.
#[must_use]
pub fn faults(store: Store) -> &'static [&'static str] {
    match store {
        Store::Sqlite => &[
            "kill",
            "power loss",
            "i/o error",
            "disk full",
            "lost acknowledgement",
            "pause",
            "cut connection",
            "clock jump",
            "restored backup",
            "second process",
        ],
        Store::Postgres => &[
            "kill",
            "i/o error",
            "disk full",
            "lost acknowledgement",
            "pause",
            "pause past the lease",
            "cut connection",
            "back end killed",
            "server crash",
            "outage",
            "cut off",
            "silence",
            "clock jump",
            "restored backup",
            "second process",
        ],
    }
}

/// A call before which something happens.
fn before(deed: Deed) -> Call {
    Call {
        before: Some(deed),
        ..Call::new(0)
    }
}

/// A call during which something happens.
fn at(moment: Moment, deed: Deed) -> Call {
    Call {
        meanwhile: Some((moment, deed)),
        ..Call::new(0)
    }
}

/// A call that is left in flight by a replica that is killed.
fn left() -> Step {
    Step::Call(at(Moment::Effect, Deed::Kill))
}

/// A call whose upstream asks.
fn asking(call: Call) -> Call {
    Call {
        reply: Reply::Ask("s1".to_owned()),
        ..call
    }
}

/// The answer to that question.
fn answering(call: Call) -> Call {
    let round = Round {
        state: Some("s1".to_owned()),
        answer: 1,
    };
    Call {
        round: Some(round),
        ..call
    }
}

/// After a call nothing is written until something else is due.
fn later(
    boundary: &'static str,
    (moment, fault, at, does): (&'static str, &'static str, Spot, Does),
    due: Step,
) -> Cell {
    let arm = Step::Do(0, Deed::Arm(Fault::next(at, does)));
    Cell {
        boundary,
        moment,
        fault,
        steps: vec![Step::Call(Call::new(0)), arm, due],
        sign: Sign::Replica,
        found: found(RESULT, REPLAY, ONCE),
    }
}

/// The transactions of a call, each with something that happens to it.
fn of_each_transaction(deed: &Deed) -> [(&'static str, Vec<Step>); 5] {
    let meanwhile = || at(Moment::Effect, deed.clone());
    let next = || before(deed.clone());
    let first = Step::Call;
    [
        ("reserve", vec![Step::Call(next())]),
        ("settle", vec![Step::Call(meanwhile())]),
        ("ask", vec![Step::Call(asking(meanwhile()))]),
        (
            "claim",
            vec![first(asking(Call::new(0))), Step::Call(answering(next()))],
        ),
        ("refuse", vec![first(Call::new(0)), Step::Call(next())]),
    ]
}
