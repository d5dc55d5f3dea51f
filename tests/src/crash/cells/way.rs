//! Cells of the way between the caller, the gateway and the upstream, and of the
//! clock: the same on every store.

use super::super::faults::{Does, Errno, Fault, Spot};
use super::super::plan::{Call, Deed, Step};
use super::super::upstream::{Moment, Reply};
use super::super::world::{PAST_LEASE_MS, Store};
use super::{
    ANY, ASKED, BLOCKED, Cell, Found, NONE, NOTHING, ONCE, REPLAY, RESULT, Sign, TWICE, Words,
    answering, asking, at, before, found, later, left,
};

const UNKNOWN: Words = &["outcome-unknown"];
/// What a caller may be told right when the gateway is killed.
const MAYBE: Words = &["nothing", "result"];

/// What a replica may say that wakes after its lease.
const LATE: Words = &["settlement-failed", "result"];

pub(super) fn cells(store: Store) -> Vec<Cell> {
    let mut cells = Vec::new();
    sends(&mut cells);
    upstreams(&mut cells);
    deliveries(&mut cells);
    anchors(&mut cells);
    clocks(&mut cells, store);
    if store == Store::Postgres {
        pauses(&mut cells);
    }
    cells
}

type Row = (&'static str, &'static str, Does, Found);

fn sends(cells: &mut Vec<Cell>) {
    let error = Does::Fail(Errno::Io);
    let half = Does::FailHalf(Errno::Io);
    let rows: [Row; 8] = [
        (
            "before",
            "kill",
            Does::KillBefore,
            found(NOTHING, BLOCKED, NONE),
        ),
        (
            "within",
            "kill",
            Does::KillHalf,
            found(NOTHING, BLOCKED, NONE),
        ),
        (
            "after",
            "kill",
            Does::KillAfter,
            found(NOTHING, BLOCKED, ANY),
        ),
        ("before", "i/o error", error, found(UNKNOWN, REPLAY, NONE)),
        ("within", "i/o error", half, found(UNKNOWN, REPLAY, NONE)),
        (
            "after",
            "lost acknowledgement",
            Does::Unacknowledged,
            found(UNKNOWN, REPLAY, ANY),
        ),
        (
            "before",
            "pause",
            Does::PauseBefore(300),
            found(RESULT, REPLAY, ONCE),
        ),
        (
            "after",
            "pause",
            Does::PauseAfter(300),
            found(RESULT, REPLAY, ONCE),
        ),
    ];
    for (moment, fault, does, found) in rows {
        // The reservation, and after it the first byte.
        let call = before(Deed::Arm(Fault::next(Spot::Send, does)));
        cells.push(Cell {
            boundary: "send",
            moment,
            fault,
            steps: vec![Step::Call(call)],
            sign: Sign::Replica,
            found,
        });
    }
}

/// The upstream's moments, as boundaries.
pub(super) const REMOTE: [(&str, &str, Moment); 6] = [
    ("invoke", "before", Moment::Arriving),
    ("invoke", "within", Moment::Read),
    ("invoke", "after", Moment::Effect),
    ("answer", "before", Moment::Effect),
    ("answer", "within", Moment::Half),
    ("answer", "after", Moment::Answered),
];

fn upstreams(cells: &mut Vec<Cell>) {
    for (boundary, moment, when) in REMOTE {
        let arrivals = if when == Moment::Arriving { ANY } else { ONCE };
        let then: Words = match when {
            Moment::Answered => &["blocked", "replay"],
            _ => BLOCKED,
        };
        for (fault, deed, found) in [
            ("kill", Deed::Kill, found(MAYBE, then, arrivals)),
            ("pause", Deed::Pause(300), found(RESULT, REPLAY, ONCE)),
        ] {
            cells.push(Cell {
                boundary,
                moment,
                fault,
                steps: vec![Step::Call(at(when, deed))],
                sign: Sign::Moment(when),
                found,
            });
        }
    }
    for (boundary, moment, reply) in [
        ("invoke", "within", Reply::Refuse),
        ("answer", "before", Reply::HangUp),
        ("answer", "within", Reply::HalfResult),
    ] {
        let call = Call {
            reply,
            ..Call::new(0)
        };
        cells.push(Cell {
            boundary,
            moment,
            fault: "cut connection",
            steps: vec![Step::Call(call)],
            sign: Sign::CutOff,
            found: found(UNKNOWN, REPLAY, ONCE),
        });
    }
}

fn deliveries(cells: &mut Vec<Cell>) {
    let error = Does::Fail(Errno::Io);
    let half = Does::FailHalf(Errno::Io);
    // An answer that is waited for begins with the head of a stream, which may
    // leave before the outcome is durable.
    let killed = |told| found(told, &["replay", "blocked"], ONCE);
    let lost = found(NOTHING, REPLAY, ONCE);
    let maybe = found(MAYBE, REPLAY, ONCE);
    let late = found(RESULT, REPLAY, ONCE);
    let rows: [Row; 8] = [
        ("before", "kill", Does::KillBefore, killed(NOTHING)),
        ("within", "kill", Does::KillHalf, killed(NOTHING)),
        ("after", "kill", Does::KillAfter, killed(MAYBE)),
        ("before", "cut connection", error, lost),
        ("within", "cut connection", half, lost),
        ("after", "lost acknowledgement", Does::Unacknowledged, maybe),
        ("before", "pause", Does::PauseBefore(300), late),
        ("after", "pause", Does::PauseAfter(300), late),
    ];
    for (moment, fault, does, found) in rows {
        let arm = Deed::Arm(Fault::next(Spot::Deliver, does));
        cells.push(Cell {
            boundary: "deliver",
            moment,
            fault,
            steps: vec![Step::Call(at(Moment::Effect, arm))],
            sign: Sign::Replica,
            found,
        });
    }
}

/// Where others share the database, a pause may outlast the lease.
fn pauses(cells: &mut Vec<Cell>) {
    let fault = "pause past the lease";
    for (boundary, moment, when) in REMOTE {
        cells.push(Cell {
            boundary,
            moment,
            fault,
            steps: vec![Step::Call(at(when, Deed::Pause(PAST_LEASE_MS)))],
            sign: Sign::Moment(when),
            found: found(LATE, &["blocked", "replay"], ONCE),
        });
    }
    // The window that remains: stopped between the check of the lease and the
    // first byte, it sends when it wakes. Nobody sends again.
    let window = Fault::next(Spot::Send, Does::PauseBefore(PAST_LEASE_MS));
    cells.push(Cell {
        boundary: "send",
        moment: "before",
        fault,
        steps: vec![Step::Call(before(Deed::Arm(window)))],
        sign: Sign::Replica,
        found: found(LATE, &["blocked", "replay"], ONCE),
    });
}

/// A checkpoint moves the anchor, which is a file whatever the store is.
fn anchors(cells: &mut Vec<Cell>) {
    let (error, full) = (Does::Fail(Errno::Io), Does::Fail(Errno::Full));
    let rows = [
        ("within", "kill", Spot::AnchorSync, Does::KillBefore),
        ("within", "kill", Spot::AnchorRename, Does::KillBefore),
        ("after", "kill", Spot::AnchorRename, Does::KillAfter),
        ("within", "i/o error", Spot::AnchorSync, error),
        ("within", "disk full", Spot::AnchorWrite, full),
        (
            "after",
            "lost acknowledgement",
            Spot::AnchorRename,
            Does::Unacknowledged,
        ),
        ("within", "pause", Spot::AnchorWrite, Does::PauseBefore(300)),
        ("after", "pause", Spot::AnchorRename, Does::PauseAfter(300)),
    ];
    for row in rows {
        cells.push(later("checkpoint", row, Step::Until(0, 60_000)));
    }
}

fn clocks(cells: &mut Vec<Cell>, store: Store) {
    for seconds in [-86_400, 86_400] {
        let jump = || Deed::Clock(seconds);
        let during = || at(Moment::Effect, jump());
        // Whoever blocks what is left: whoever starts, or another replica.
        let blocks = usize::from(store == Store::Postgres);
        let start = |jumps| vec![left(), Step::Do(jumps, jump()), Step::Start(0, None)];
        let effect = Sign::Moment(Moment::Effect);
        let result = found(RESULT, REPLAY, ONCE);
        let blocked = found(NOTHING, BLOCKED, ONCE);
        let first = Step::Call;
        let rows = [
            (
                "reserve",
                vec![Step::Call(before(jump()))],
                Sign::Step,
                result,
            ),
            ("settle", vec![Step::Call(during())], effect, result),
            (
                "ask",
                vec![Step::Call(asking(during()))],
                effect,
                found(ASKED, ASKED, ONCE),
            ),
            (
                "claim",
                vec![
                    first(asking(Call::new(0))),
                    Step::Call(answering(before(jump()))),
                ],
                Sign::Step,
                found(RESULT, REPLAY, TWICE),
            ),
            (
                "refuse",
                vec![first(Call::new(0)), Step::Call(before(jump()))],
                Sign::Step,
                found(REPLAY, REPLAY, ONCE),
            ),
            ("open", start(0), effect, blocked),
            ("block", start(blocks), effect, blocked),
        ];
        for (boundary, steps, sign, found) in rows {
            cells.push(Cell {
                boundary,
                moment: "before",
                fault: "clock jump",
                steps,
                sign,
                found,
            });
        }
    }
}
