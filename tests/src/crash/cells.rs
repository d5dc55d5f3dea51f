//! The cells of the matrix on SQLite: for each boundary, moment and fault what
//! is done, and what must be found afterwards.
//!
//! Which write or sync belongs to which boundary is not guessed: a fault is armed
//! while nothing else is going on (before a call, or while the upstream has it),
//! so that the next one is that boundary's own; `recorded` shows it.

use super::faults::{Does, Errno, Fault, Spot};
use super::plan::{Call, Deed, Round, Step};
use super::upstream::{Moment, Reply};

/// A boundary, as `docs/spec/executions.md` §4 has them.
pub(super) const BOUNDARIES: [&str; 13] = [
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
];

/// What goes wrong.
pub(super) const FAULTS: [&str; 10] = [
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
];

/// When.
pub(super) const MOMENTS: [&str; 3] = ["before", "within", "after"];

/// How it is known that the fault really happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// The preloaded library says so.
    Library,
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
    /// What that call may be told.
    pub(super) told: &'static [&'static str],
    /// What its repeat may be told once everything is well.
    pub(super) then: &'static [&'static str],
    /// How often the upstream may have been asked by then.
    pub(super) arrivals: &'static [usize],
}

const NOTHING: &[&str] = &["nothing"];
const UNAVAILABLE: &[&str] = &["ledger-unavailable", "shutting-down", "nothing"];
const UNSETTLED: &[&str] = &["settlement-failed", "nothing"];
const RESULT: &[&str] = &["result"];
const FRESH: &[&str] = &["result"];
const BLOCKED: &[&str] = &["blocked"];
const REPLAY: &[&str] = &["replay"];
const UNKNOWN: &[&str] = &["outcome-unknown"];
const EITHER: &[&str] = &["blocked", "result"];
const NONE: &[usize] = &[0];
const ONCE: &[usize] = &[1];
const ANY: &[usize] = &[0, 1];

type Row = (
    &'static str,
    &'static str,
    Fault,
    &'static [&'static str],
    &'static [&'static str],
    &'static [usize],
);

fn arm(fault: Fault) -> Deed {
    Deed::Arm(fault)
}

/// Every cell on SQLite. `first_writes` is how many writes to the WAL the first
/// transaction of a start makes, as it was recorded.
#[must_use]
pub(super) fn sqlite(first_writes: u32) -> Vec<Cell> {
    let mut cells = Vec::new();
    transactions(&mut cells);
    sends(&mut cells);
    upstreams(&mut cells);
    deliveries(&mut cells);
    opens(&mut cells, first_writes);
    checkpoints(&mut cells);
    clocks(&mut cells);
    cells
}

/// Faults of one transaction: with what is told, what comes then, and how often
/// the upstream is asked, where it was not durable and where it was.
fn faults_of_a_commit() -> Vec<(&'static str, &'static str, Fault, Durable)> {
    let next = Fault::next;
    vec![
        (
            "before",
            "kill",
            next(Spot::WalWrite, Does::KillBefore),
            Durable::No,
        ),
        (
            "within",
            "kill",
            Fault::nth(Spot::WalWrite, Does::KillHalf, 2),
            Durable::No,
        ),
        (
            "within",
            "kill",
            next(Spot::WalSync, Does::KillBefore),
            Durable::Perhaps,
        ),
        (
            "within",
            "power loss",
            next(Spot::WalSync, Does::PowerLoss),
            Durable::No,
        ),
        (
            "after",
            "kill",
            next(Spot::WalSync, Does::KillAfter),
            Durable::Yes,
        ),
        (
            "before",
            "i/o error",
            next(Spot::WalWrite, Does::Fail(Errno::Io)),
            Durable::Failed,
        ),
        (
            "within",
            "i/o error",
            Fault::nth(Spot::WalWrite, Does::FailHalf(Errno::Io), 2),
            Durable::Failed,
        ),
        (
            "within",
            "i/o error",
            next(Spot::WalSync, Does::Fail(Errno::Io)),
            Durable::Perhaps,
        ),
        (
            "after",
            "lost acknowledgement",
            next(Spot::WalSync, Does::Unacknowledged),
            Durable::Perhaps,
        ),
        (
            "before",
            "disk full",
            next(Spot::WalWrite, Does::Fail(Errno::Full)),
            Durable::Failed,
        ),
        (
            "within",
            "disk full",
            Fault::nth(Spot::WalWrite, Does::FailHalf(Errno::Full), 2),
            Durable::Failed,
        ),
        (
            "before",
            "pause",
            next(Spot::WalWrite, Does::PauseBefore(300)),
            Durable::Paused,
        ),
        (
            "within",
            "pause",
            next(Spot::WalSync, Does::PauseBefore(300)),
            Durable::Paused,
        ),
        (
            "after",
            "pause",
            next(Spot::WalSync, Does::PauseAfter(300)),
            Durable::Paused,
        ),
    ]
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

fn transactions(cells: &mut Vec<Cell>) {
    for (moment, fault, what, durable) in faults_of_a_commit() {
        let mut add = |boundary, mut steps: Vec<Step>, told, then, arrivals| {
            if durable == Durable::Perhaps {
                steps.push(Step::Ended(0));
            }
            cells.push(Cell {
                boundary,
                moment,
                fault,
                steps,
                sign: Sign::Library,
                told,
                then,
                arrivals,
            });
        };
        let mut reserve = Call::new(0);
        reserve.before = Some(arm(what));
        let (told, then, arrivals) = match durable {
            Durable::No => (NOTHING, FRESH, ONCE),
            Durable::Yes => (NOTHING, BLOCKED, NONE),
            Durable::Perhaps => (UNAVAILABLE, EITHER, ANY),
            Durable::Failed => (UNAVAILABLE, FRESH, ONCE),
            Durable::Paused => (RESULT, REPLAY, ONCE),
        };
        add("reserve", vec![Step::Call(reserve)], told, then, arrivals);

        let mut settle = Call::new(0);
        settle.meanwhile = Some((Moment::Effect, arm(what)));
        let (told, then): (_, &[&str]) = match durable {
            Durable::No => (NOTHING, BLOCKED),
            Durable::Yes => (NOTHING, REPLAY),
            Durable::Perhaps => (UNSETTLED, &["blocked", "replay"]),
            Durable::Failed => (UNSETTLED, REPLAY),
            Durable::Paused => (RESULT, REPLAY),
        };
        add("settle", vec![Step::Call(settle.clone())], told, then, ONCE);

        let mut ask = settle;
        ask.reply = Reply::Ask("s1".to_owned());
        let (told, then): (&[&str], &[&str]) = match durable {
            Durable::No => (NOTHING, BLOCKED),
            Durable::Yes => (NOTHING, &["asked"]),
            Durable::Perhaps => (UNSETTLED, &["blocked", "asked"]),
            Durable::Failed => (UNSETTLED, &["asked"]),
            Durable::Paused => (&["asked"], &["asked"]),
        };
        add("ask", vec![Step::Call(ask)], told, then, ONCE);

        let mut first = Call::new(0);
        first.reply = Reply::Ask("s1".to_owned());
        let mut claim = Call::new(0);
        claim.round = Some(Round {
            state: Some("s1".to_owned()),
            answer: 1,
        });
        claim.before = Some(arm(what));
        let (told, then, arrivals): (_, _, &[usize]) = match durable {
            Durable::No => (NOTHING, FRESH, &[2]),
            Durable::Yes => (NOTHING, BLOCKED, &[1]),
            Durable::Perhaps => (UNAVAILABLE, EITHER, &[1, 2]),
            Durable::Failed => (UNAVAILABLE, FRESH, &[2]),
            Durable::Paused => (RESULT, REPLAY, &[2]),
        };
        let steps = vec![Step::Call(first), Step::Call(claim)];
        add("claim", steps, told, then, arrivals);

        let mut refuse = Call::new(0);
        refuse.before = Some(arm(what));
        let told = match durable {
            Durable::No | Durable::Yes => NOTHING,
            Durable::Perhaps | Durable::Failed => UNAVAILABLE,
            Durable::Paused => REPLAY,
        };
        let steps = vec![Step::Call(Call::new(0)), Step::Call(refuse)];
        add("refuse", steps, told, REPLAY, ONCE);
    }
}

fn sends(cells: &mut Vec<Cell>) {
    let next = Fault::next;
    let rows: [Row; 8] = [
        (
            "before",
            "kill",
            next(Spot::Send, Does::KillBefore),
            NOTHING,
            BLOCKED,
            NONE,
        ),
        (
            "within",
            "kill",
            next(Spot::Send, Does::KillHalf),
            NOTHING,
            BLOCKED,
            NONE,
        ),
        (
            "after",
            "kill",
            next(Spot::Send, Does::KillAfter),
            NOTHING,
            BLOCKED,
            ANY,
        ),
        (
            "before",
            "i/o error",
            next(Spot::Send, Does::Fail(Errno::Io)),
            UNKNOWN,
            REPLAY,
            NONE,
        ),
        (
            "within",
            "i/o error",
            next(Spot::Send, Does::FailHalf(Errno::Io)),
            UNKNOWN,
            REPLAY,
            NONE,
        ),
        (
            "after",
            "lost acknowledgement",
            next(Spot::Send, Does::Unacknowledged),
            UNKNOWN,
            REPLAY,
            ANY,
        ),
        (
            "before",
            "pause",
            next(Spot::Send, Does::PauseBefore(300)),
            RESULT,
            REPLAY,
            ONCE,
        ),
        (
            "after",
            "pause",
            next(Spot::Send, Does::PauseAfter(300)),
            RESULT,
            REPLAY,
            ONCE,
        ),
    ];
    for (moment, fault, what, told, then, arrivals) in rows {
        let mut call = Call::new(0);
        // The reservation, and after it the first byte.
        call.before = Some(arm(what));
        cells.push(Cell {
            boundary: "send",
            moment,
            fault,
            steps: vec![Step::Call(call)],
            sign: Sign::Library,
            told,
            then,
            arrivals,
        });
    }
}

fn upstreams(cells: &mut Vec<Cell>) {
    let kills = [
        ("invoke", "before", Moment::Arriving, ANY, BLOCKED),
        ("invoke", "within", Moment::Read, ONCE, BLOCKED),
        ("invoke", "after", Moment::Effect, ONCE, BLOCKED),
        ("answer", "before", Moment::Effect, ONCE, BLOCKED),
        ("answer", "within", Moment::Half, ONCE, BLOCKED),
        (
            "answer",
            "after",
            Moment::Answered,
            ONCE,
            &["blocked", "replay"],
        ),
    ];
    for (boundary, moment, at, arrivals, then) in kills {
        for (fault, deed, told, then) in [
            ("kill", Deed::Kill, &["nothing", "result"] as &[_], then),
            ("pause", Deed::Pause(300), RESULT, REPLAY),
        ] {
            let mut call = Call::new(0);
            call.meanwhile = Some((at, deed));
            cells.push(Cell {
                boundary,
                moment,
                fault,
                steps: vec![Step::Call(call)],
                sign: Sign::Moment(at),
                told,
                then,
                arrivals,
            });
        }
    }
    for (boundary, moment, reply) in [
        ("invoke", "within", Reply::Refuse),
        ("answer", "before", Reply::HangUp),
        ("answer", "within", Reply::HalfResult),
    ] {
        let mut call = Call::new(0);
        call.reply = reply;
        cells.push(Cell {
            boundary,
            moment,
            fault: "cut connection",
            steps: vec![Step::Call(call)],
            sign: Sign::CutOff,
            told: UNKNOWN,
            then: REPLAY,
            arrivals: ONCE,
        });
    }
}

fn deliveries(cells: &mut Vec<Cell>) {
    let next = Fault::next;
    let maybe: &[&str] = &["nothing", "result"];
    let rows: [Row; 8] = [
        (
            "before",
            "kill",
            next(Spot::Deliver, Does::KillBefore),
            NOTHING,
            REPLAY,
            ONCE,
        ),
        (
            "within",
            "kill",
            next(Spot::Deliver, Does::KillHalf),
            NOTHING,
            REPLAY,
            ONCE,
        ),
        (
            "after",
            "kill",
            next(Spot::Deliver, Does::KillAfter),
            maybe,
            REPLAY,
            ONCE,
        ),
        (
            "before",
            "cut connection",
            next(Spot::Deliver, Does::Fail(Errno::Io)),
            NOTHING,
            REPLAY,
            ONCE,
        ),
        (
            "within",
            "cut connection",
            next(Spot::Deliver, Does::FailHalf(Errno::Io)),
            NOTHING,
            REPLAY,
            ONCE,
        ),
        (
            "after",
            "lost acknowledgement",
            next(Spot::Deliver, Does::Unacknowledged),
            maybe,
            REPLAY,
            ONCE,
        ),
        (
            "before",
            "pause",
            next(Spot::Deliver, Does::PauseBefore(300)),
            RESULT,
            REPLAY,
            ONCE,
        ),
        (
            "after",
            "pause",
            next(Spot::Deliver, Does::PauseAfter(300)),
            RESULT,
            REPLAY,
            ONCE,
        ),
    ];
    for (moment, fault, what, told, then, arrivals) in rows {
        let mut call = Call::new(0);
        call.meanwhile = Some((Moment::Effect, arm(what)));
        cells.push(Cell {
            boundary: "deliver",
            moment,
            fault,
            steps: vec![Step::Call(call)],
            sign: Sign::Library,
            told,
            then,
            arrivals,
        });
    }
}

/// The start: the incarnation's transaction is the first, that which blocks what
/// was left in flight the second.
fn opens(cells: &mut Vec<Cell>, first_writes: u32) {
    for (moment, fault, what, _) in faults_of_a_commit() {
        let mut left = Call::new(0);
        left.meanwhile = Some((Moment::Effect, Deed::Kill));
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
                steps: vec![Step::Call(left.clone()), Step::Start(0, Some(what))],
                sign: Sign::Library,
                told: NOTHING,
                then: BLOCKED,
                arrivals: ONCE,
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
            told: RESULT,
            then: REPLAY,
            arrivals: ONCE,
        });
    }
}

fn checkpoints(cells: &mut Vec<Cell>) {
    let next = Fault::next;
    for (moment, fault, what) in [
        ("before", "kill", next(Spot::WalWrite, Does::KillBefore)),
        ("within", "kill", next(Spot::AnchorSync, Does::KillBefore)),
        ("within", "kill", next(Spot::AnchorRename, Does::KillBefore)),
        ("after", "kill", next(Spot::AnchorRename, Does::KillAfter)),
        ("within", "power loss", next(Spot::WalSync, Does::PowerLoss)),
        (
            "before",
            "i/o error",
            next(Spot::WalWrite, Does::Fail(Errno::Io)),
        ),
        (
            "within",
            "i/o error",
            next(Spot::AnchorSync, Does::Fail(Errno::Io)),
        ),
        (
            "before",
            "disk full",
            next(Spot::WalWrite, Does::Fail(Errno::Full)),
        ),
        (
            "within",
            "disk full",
            next(Spot::AnchorWrite, Does::Fail(Errno::Full)),
        ),
        (
            "after",
            "lost acknowledgement",
            next(Spot::AnchorRename, Does::Unacknowledged),
        ),
        (
            "before",
            "pause",
            next(Spot::WalWrite, Does::PauseBefore(300)),
        ),
        (
            "within",
            "pause",
            next(Spot::AnchorWrite, Does::PauseBefore(300)),
        ),
        (
            "after",
            "pause",
            next(Spot::AnchorRename, Does::PauseAfter(300)),
        ),
    ] {
        // After the call nothing is written until the checkpoint is due.
        let steps = vec![
            Step::Call(Call::new(0)),
            Step::Do(0, arm(what)),
            Step::Wait(8_000),
        ];
        cells.push(Cell {
            boundary: "checkpoint",
            moment,
            fault,
            steps,
            sign: Sign::Library,
            told: RESULT,
            then: REPLAY,
            arrivals: ONCE,
        });
    }
    for (moment, fault, what) in [
        (
            "before",
            "kill",
            next(Spot::DatabaseWrite, Does::KillBefore),
        ),
        ("within", "kill", next(Spot::DatabaseSync, Does::KillBefore)),
        ("after", "kill", next(Spot::DatabaseSync, Does::KillAfter)),
        (
            "within",
            "i/o error",
            next(Spot::DatabaseSync, Does::Fail(Errno::Io)),
        ),
        (
            "before",
            "disk full",
            next(Spot::DatabaseWrite, Does::Fail(Errno::Full)),
        ),
    ] {
        let steps = vec![
            Step::Call(Call::new(0)),
            Step::Do(0, arm(what)),
            Step::Burst(2_000),
        ];
        cells.push(Cell {
            boundary: "write back",
            moment,
            fault,
            steps,
            sign: Sign::Library,
            told: RESULT,
            then: REPLAY,
            arrivals: ONCE,
        });
    }
}

fn clocks(cells: &mut Vec<Cell>) {
    for seconds in [-86_400, 86_400] {
        let jump = || Deed::Clock(seconds);
        let mut before = Call::new(0);
        before.before = Some(jump());
        let mut during = Call::new(0);
        during.meanwhile = Some((Moment::Effect, jump()));
        let mut asked = during.clone();
        asked.reply = Reply::Ask("s1".to_owned());
        let mut first = Call::new(0);
        first.reply = asked.reply.clone();
        let mut claim = before.clone();
        claim.round = Some(Round {
            state: Some("s1".to_owned()),
            answer: 1,
        });
        let mut left = during.clone();
        left.meanwhile = Some((Moment::Effect, Deed::Kill));
        let start = || {
            vec![
                Step::Call(left.clone()),
                Step::Do(0, jump()),
                Step::Start(0, None),
            ]
        };
        let effect = Sign::Moment(Moment::Effect);
        let asked_again: &[&str] = &["asked"];
        let rows: [(_, Vec<Step>, _, _, _, &'static [usize]); 7] = [
            (
                "reserve",
                vec![Step::Call(before.clone())],
                Sign::Step,
                RESULT,
                REPLAY,
                ONCE,
            ),
            (
                "settle",
                vec![Step::Call(during)],
                effect,
                RESULT,
                REPLAY,
                ONCE,
            ),
            (
                "ask",
                vec![Step::Call(asked)],
                effect,
                asked_again,
                asked_again,
                ONCE,
            ),
            (
                "claim",
                vec![Step::Call(first), Step::Call(claim)],
                Sign::Step,
                RESULT,
                REPLAY,
                &[2],
            ),
            (
                "refuse",
                vec![Step::Call(Call::new(0)), Step::Call(before)],
                Sign::Step,
                REPLAY,
                REPLAY,
                ONCE,
            ),
            ("open", start(), effect, NOTHING, BLOCKED, ONCE),
            ("block", start(), effect, NOTHING, BLOCKED, ONCE),
        ];
        for (boundary, steps, sign, told, then, arrivals) in rows {
            cells.push(Cell {
                boundary,
                moment: "before",
                fault: "clock jump",
                steps,
                sign,
                told,
                then,
                arrivals,
            });
        }
    }
}

/// Why there can be no such cell on SQLite.
#[must_use]
pub(super) fn impossible_on_sqlite(
    boundary: &str,
    moment: &str,
    fault: &str,
) -> Option<&'static str> {
    let disk = !matches!(boundary, "send" | "invoke" | "answer" | "deliver");
    let remote = matches!(boundary, "invoke" | "answer");
    Some(match (fault, moment) {
        ("power loss", _) if !disk => "nothing is written to the disk there: it is a kill",
        ("power loss", "before" | "after") => "nothing is unsynced there: it is a kill",
        ("power loss", _) if boundary == "write back" => {
            "what is written back stays in the synced WAL: it is a kill"
        }
        ("i/o error", _) if remote => "the gateway only waits there: it is a cut connection",
        ("i/o error", _) if boundary == "deliver" => "on a socket it is a cut connection",
        ("i/o error", "after") => "an error after the deed is a lost acknowledgement",
        ("i/o error", "before") if boundary == "write back" => {
            "a write that fails is told as one that finds no room"
        }
        ("disk full", _) if !disk => "nothing is written to the disk there",
        ("disk full", "after") => "a sync needs no room",
        ("disk full", "within") if boundary == "write back" => "its sync needs no room",
        ("lost acknowledgement", "before" | "within") => "an acknowledgement comes after the deed",
        ("lost acknowledgement", _) if remote => "that is a cut connection",
        ("lost acknowledgement", _) if boundary == "write back" => {
            "nobody waits for what is written back"
        }
        ("pause", _) if boundary == "write back" => "nobody waits for what is written back",
        ("pause", "within") if matches!(boundary, "send" | "deliver") => {
            "it is one call to the kernel, and a pause is before it or after it"
        }
        ("cut connection", _) if disk => "there is no connection to an embedded store",
        ("cut connection", _) if boundary == "send" => "on the sending side it is an i/o error",
        ("cut connection", "before" | "after") if boundary == "invoke" => {
            "before the body is read it is that of `send`, after the effect that of `answer`"
        }
        ("cut connection", "after") => "everything has arrived",
        ("clock jump", "within" | "after") => "the clock is read once, at the beginning",
        ("clock jump", _) if !disk || boundary == "write back" => "no time is told there",
        ("clock jump", _) if boundary == "checkpoint" => {
            "a checkpoint tells no time, and is due by a clock that does not jump"
        }
        ("restored backup", _) if boundary != "open" => {
            "a store is replaced only while nobody has it open"
        }
        ("second process", _) if boundary != "open" => "it never gets further than to open",
        ("restored backup" | "second process", "within" | "after") => "it is there or it is not",
        _ => return None,
    })
}
