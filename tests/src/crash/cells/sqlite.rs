//! Cells of what happens to an SQLite store: to each transaction of a call, to
//! those of a start, to checkpoints, and when the WAL is written back.

use super::super::faults::{Does, Errno, Fault, Spot};
use super::super::plan::{Call, Deed, Step};
use super::super::world::World;
use super::{
    ANY, ASKED, BLOCKED, Cell, Found, NONE, NOTHING, ONCE, REPLAY, RESULT, Sign, TWICE, Words,
    found, later, left, of_each_transaction,
};

const UNAVAILABLE: Words = &["ledger-unavailable", "shutting-down", "nothing"];
const UNSETTLED: Words = &["settlement-failed", "nothing"];
const EITHER: Words = &["blocked", "result"];

pub(super) fn cells(first_writes: u32) -> Vec<Cell> {
    let mut cells = Vec::new();
    transactions(&mut cells);
    opens(&mut cells, first_writes);
    checkpoints(&mut cells);
    write_backs(&mut cells);
    cells
}

/// What a fault leaves of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durable {
    /// Nothing, and the process is dead.
    No,
    /// Everything, and the process is dead.
    Yes,
    /// Not known, and the process ends.
    Perhaps,
    /// Nothing, and the process lives.
    Failed,
    /// Everything, later.
    Paused,
}

impl Durable {
    /// What must be found after it, at a transaction of a call.
    fn leaves(self, boundary: &str) -> Found {
        let blocked_or: Words = match boundary {
            "ask" => &["blocked", "asked"],
            _ => &["blocked", "replay"],
        };
        let (told, later) = if boundary == "ask" {
            (ASKED, ASKED)
        } else {
            (RESULT, REPLAY)
        };
        match (boundary, self) {
            ("reserve", Self::No) => found(NOTHING, RESULT, ONCE),
            ("reserve", Self::Yes) => found(NOTHING, BLOCKED, NONE),
            ("reserve", Self::Perhaps) => found(UNAVAILABLE, EITHER, ANY),
            ("reserve", Self::Failed) => found(UNAVAILABLE, RESULT, ONCE),
            ("claim", Self::No) => found(NOTHING, RESULT, TWICE),
            ("claim", Self::Yes) => found(NOTHING, BLOCKED, ONCE),
            ("claim", Self::Perhaps) => found(UNAVAILABLE, EITHER, &[1, 2]),
            ("claim", Self::Failed) => found(UNAVAILABLE, RESULT, TWICE),
            ("claim", Self::Paused) => found(RESULT, REPLAY, TWICE),
            ("refuse", Self::No | Self::Yes) => found(NOTHING, REPLAY, ONCE),
            ("refuse", Self::Perhaps | Self::Failed) => found(UNAVAILABLE, REPLAY, ONCE),
            ("refuse", Self::Paused) => found(REPLAY, REPLAY, ONCE),
            (_, Self::No) => found(NOTHING, BLOCKED, ONCE),
            (_, Self::Yes) => found(NOTHING, later, ONCE),
            (_, Self::Perhaps) => found(UNSETTLED, blocked_or, ONCE),
            (_, Self::Failed) => found(UNSETTLED, later, ONCE),
            (_, Self::Paused) => found(told, later, ONCE),
        }
    }
}

type Row = (&'static str, &'static str, Fault, Durable);

fn faults_of_a_commit() -> [Row; 14] {
    let write = |does| Fault::next(Spot::WalWrite, does);
    let second = |does| Fault::nth(Spot::WalWrite, does, 2);
    let sync = |does| Fault::next(Spot::WalSync, does);
    let (error, full) = (Does::Fail(Errno::Io), Does::Fail(Errno::Full));
    let (half, no_room) = (Does::FailHalf(Errno::Io), Does::FailHalf(Errno::Full));
    let lost = Does::Unacknowledged;
    [
        ("before", "kill", write(Does::KillBefore), Durable::No),
        ("within", "kill", second(Does::KillHalf), Durable::No),
        ("within", "kill", sync(Does::KillBefore), Durable::Perhaps),
        ("within", "power loss", sync(Does::PowerLoss), Durable::No),
        ("after", "kill", sync(Does::KillAfter), Durable::Yes),
        ("before", "i/o error", write(error), Durable::Failed),
        ("within", "i/o error", second(half), Durable::Failed),
        ("within", "i/o error", sync(error), Durable::Perhaps),
        (
            "after",
            "lost acknowledgement",
            sync(lost),
            Durable::Perhaps,
        ),
        ("before", "disk full", write(full), Durable::Failed),
        ("within", "disk full", second(no_room), Durable::Failed),
        (
            "before",
            "pause",
            write(Does::PauseBefore(300)),
            Durable::Paused,
        ),
        (
            "within",
            "pause",
            sync(Does::PauseBefore(300)),
            Durable::Paused,
        ),
        (
            "after",
            "pause",
            sync(Does::PauseAfter(300)),
            Durable::Paused,
        ),
    ]
}

fn transactions(cells: &mut Vec<Cell>) {
    for (moment, fault, what, durable) in faults_of_a_commit() {
        for (boundary, mut steps) in of_each_transaction(&Deed::Arm(what)) {
            if durable == Durable::Perhaps {
                steps.push(Step::Ended(0));
            }
            cells.push(Cell {
                boundary,
                moment,
                fault,
                steps,
                sign: Sign::Replica,
                found: durable.leaves(boundary),
            });
        }
    }
}

/// The start: the incarnation's transaction is the first, that which blocks what
/// was left in flight the second.
fn opens(cells: &mut Vec<Cell>, first_writes: u32) {
    for (moment, fault, what, _) in faults_of_a_commit() {
        let mut block = what;
        block.nth += match what.at {
            Spot::WalSync => 1,
            _ => first_writes,
        };
        for (boundary, what) in [("open", what), ("block", block)] {
            cells.push(Cell {
                boundary,
                moment,
                fault,
                steps: vec![left(), Step::Start(0, Some(what))],
                sign: Sign::Replica,
                found: found(NOTHING, BLOCKED, ONCE),
            });
        }
    }
    for (moment, fault, step) in [
        ("before", "restored backup", Step::Restore(0)),
        ("before", "second process", Step::Second(0)),
    ] {
        cells.push(Cell {
            boundary: "open",
            moment,
            fault,
            steps: vec![Step::Call(Call::new(0)), step],
            sign: Sign::Step,
            found: found(RESULT, REPLAY, ONCE),
        });
    }
}

fn checkpoints(cells: &mut Vec<Cell>) {
    let (error, full) = (Does::Fail(Errno::Io), Does::Fail(Errno::Full));
    let rows = [
        ("before", "kill", Spot::WalWrite, Does::KillBefore),
        ("within", "power loss", Spot::WalSync, Does::PowerLoss),
        ("before", "i/o error", Spot::WalWrite, error),
        ("before", "disk full", Spot::WalWrite, full),
        ("before", "pause", Spot::WalWrite, Does::PauseBefore(300)),
    ];
    for row in rows {
        cells.push(later("checkpoint", row, Step::Until(0, 60_000)));
    }
}

fn write_backs(cells: &mut Vec<Cell>) {
    let (error, full) = (Does::Fail(Errno::Io), Does::Fail(Errno::Full));
    let rows = [
        ("before", "kill", Spot::DatabaseWrite, Does::KillBefore),
        ("within", "kill", Spot::DatabaseSync, Does::KillBefore),
        ("after", "kill", Spot::DatabaseSync, Does::KillAfter),
        ("within", "i/o error", Spot::DatabaseSync, error),
        ("before", "disk full", Spot::DatabaseWrite, full),
    ];
    for row in rows {
        cells.push(later("write back", row, Step::Burst(2_000)));
    }
}

/// How many writes to the WAL the first transaction of a start makes: a start
/// with something left in flight is recorded.
pub(in super::super) async fn first_writes() -> u32 {
    let mut world = World::sqlite().await;
    if let Step::Call(left) = left() {
        let _ = world.call("recorded", &left).await;
    }
    let victim = world.victim(0);
    victim.record();
    world.start(0, None).await.unwrap();
    let recorded = victim.recorded();
    let spots = recorded.iter().filter_map(|call| call.at);
    let before = spots.take_while(|at| *at != Spot::WalSync);
    let writes = before.filter(|at| *at == Spot::WalWrite).count();
    assert!(writes > 0, "a start writes: {recorded:?}");
    u32::try_from(writes).unwrap()
}
