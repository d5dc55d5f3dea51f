//! Cells of what happens between a replica and its PostgreSQL: to each
//! transaction of a call, to those of a start, to that which blocks what another
//! replica left, to checkpoints. A second replica stands beside.

use super::super::plan::{Call, Cut, Deed, Step};
use super::super::world::PAST_LEASE_MS;
use super::{
    ANY, ASKED, BLOCKED, Cell, Found, NONE, NOTHING, ONCE, REPLAY, RESULT, Sign, TWICE, Words, at,
    found, left, of_each_transaction,
};

const UNAVAILABLE: Words = &["ledger-unavailable"];
const UNSETTLED: Words = &["settlement-failed"];
const UNSETTLED_OR_RESULT: Words = &["settlement-failed", "result"];
const BLOCKED_OR_REPLAY: Words = &["blocked", "replay"];
/// What a replica says of a permit that its lease did not outlast.
const NOT_SENT: Words = &[
    "settlement-failed",
    "upstream-unavailable",
    "ledger-unavailable",
];

/// For how long a fault waits that is due by itself, in milliseconds.
const DUE_MS: u32 = 300_000;

pub(super) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for row in faults_of_a_commit() {
        transactions(&mut cells, row);
        beside_calls(&mut cells, row);
    }
    outages(&mut cells);
    for (boundary, fault, step) in [
        ("open", "restored backup", Step::Restore(0)),
        ("reconnect", "restored backup", Step::RestoreRunning(0)),
        ("open", "second process", Step::Second(0)),
    ] {
        cells.push(Cell {
            boundary,
            moment: "before",
            fault,
            steps: vec![Step::Call(Call::new(0)), step],
            sign: Sign::Step,
            found: found(RESULT, REPLAY, ONCE),
        });
    }
    cells
}

/// What a fault leaves of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Nothing, and the process is dead.
    Dead,
    /// Everything, and the process is dead before it knows.
    DeadDurable,
    /// Everything, and the process dies when it knows.
    DeadAfter,
    /// Nothing, and the process lives.
    Refused,
    /// Everything, told as always, or found out.
    Confirmed,
    /// Everything; the connection that told so is gone.
    Shaken,
    /// The connection was gone before, and perhaps that was noticed in time.
    Anew,
    /// As for `Anew`, while the lease ran out for everyone.
    Away,
    /// As for `Anew`, while the lease ran out and others could tell.
    CutOff,
    /// Everything, told when the lease had run out.
    Late,
}

impl Left {
    /// What must be found after it, at a transaction of a call.
    fn leaves(self, boundary: &str) -> Found {
        match boundary {
            "reserve" => self.of_a_permit(ONCE, NONE, ANY),
            "claim" => self.of_a_permit(TWICE, ONCE, &[1, 2]),
            "settle" => self.of_an_answer(RESULT, UNSETTLED_OR_RESULT, REPLAY, BLOCKED_OR_REPLAY),
            "ask" => self.of_an_answer(
                ASKED,
                &["settlement-failed", "asked"],
                ASKED,
                &["blocked", "asked"],
            ),
            _ => self.of_a_refusal(),
        }
    }

    /// `sent` is how often the upstream was asked where this call reached it.
    fn of_a_permit(
        self,
        sent: &'static [usize],
        not_sent: &'static [usize],
        perhaps: &'static [usize],
    ) -> Found {
        match self {
            Self::Dead => found(NOTHING, RESULT, sent),
            Self::DeadDurable => found(NOTHING, BLOCKED, not_sent),
            Self::DeadAfter => found(&["nothing", "result"], BLOCKED_OR_REPLAY, perhaps),
            Self::Refused => found(UNAVAILABLE, RESULT, sent),
            Self::Confirmed => found(RESULT, REPLAY, sent),
            Self::Shaken => found(UNSETTLED_OR_RESULT, REPLAY, sent),
            Self::Anew | Self::Away | Self::CutOff => found(
                &["ledger-unavailable", "result"],
                &["result", "replay"],
                sent,
            ),
            Self::Late => found(NOT_SENT, BLOCKED_OR_REPLAY, not_sent),
        }
    }

    fn of_an_answer(self, answer: Words, or_answer: Words, again: Words, or_again: Words) -> Found {
        match self {
            Self::Dead => found(NOTHING, BLOCKED, ONCE),
            Self::DeadDurable => found(NOTHING, again, ONCE),
            Self::DeadAfter => found(&["nothing", "result", "asked"], again, ONCE),
            Self::Refused => found(UNSETTLED, again, ONCE),
            Self::Confirmed | Self::Shaken | Self::Late => found(answer, again, ONCE),
            // An outage blocks nobody who was there.
            Self::Anew | Self::Away => found(or_answer, again, ONCE),
            Self::CutOff => found(or_answer, or_again, ONCE),
        }
    }

    fn of_a_refusal(self) -> Found {
        match self {
            Self::Dead | Self::DeadDurable => found(NOTHING, REPLAY, ONCE),
            Self::DeadAfter => found(&["nothing", "replay"], REPLAY, ONCE),
            Self::Refused => found(UNAVAILABLE, REPLAY, ONCE),
            Self::Confirmed | Self::Shaken | Self::Late => found(REPLAY, REPLAY, ONCE),
            Self::Anew | Self::Away | Self::CutOff => {
                found(&["replay", "ledger-unavailable"], REPLAY, ONCE)
            }
        }
    }
}

type Row = (&'static str, &'static str, Cut, Left);

fn faults_of_a_commit() -> [Row; 17] {
    let past = PAST_LEASE_MS;
    [
        ("before", "kill", Cut::KillBeforeCommit, Left::Dead),
        ("within", "kill", Cut::KillWithinCommit, Left::DeadDurable),
        ("after", "kill", Cut::KillAfterCommit, Left::DeadAfter),
        (
            "after",
            "lost acknowledgement",
            Cut::Unacknowledged,
            Left::Confirmed,
        ),
        ("before", "cut connection", Cut::BeforeCommit, Left::Refused),
        ("after", "cut connection", Cut::AfterCommit, Left::Shaken),
        ("before", "back end killed", Cut::Terminate, Left::Anew),
        (
            "within",
            "back end killed",
            Cut::TerminateAtCommit,
            Left::Refused,
        ),
        ("before", "server crash", Cut::Crash, Left::Anew),
        ("before", "outage", Cut::Down(past), Left::Away),
        ("before", "cut off", Cut::Outage(past), Left::CutOff),
        ("before", "silence", Cut::Silence(past), Left::CutOff),
        ("before", "disk full", Cut::NoRoom, Left::Refused),
        ("within", "disk full", Cut::NoRoomAtCommit, Left::Refused),
        ("before", "pause", Cut::HoldCommit(300), Left::Confirmed),
        (
            "within",
            "pause",
            Cut::PauseWithinCommit(300),
            Left::Confirmed,
        ),
        (
            "within",
            "pause past the lease",
            Cut::PauseWithinCommit(past),
            Left::Late,
        ),
    ]
}

/// What makes a fault last, where no call waits for its end.
fn lasts(cut: Cut) -> Option<Step> {
    let lasting = match cut {
        Cut::Down(ms) | Cut::Outage(ms) | Cut::Silence(ms) | Cut::PauseWithinCommit(ms) => ms,
        _ => return None,
    };
    Some(Step::Pass(lasting + 500))
}

fn transactions(cells: &mut Vec<Cell>, (moment, fault, cut, left): Row) {
    for (boundary, mut steps) in of_each_transaction(&Deed::Database(cut)) {
        steps.extend(lasts(cut));
        cells.push(Cell {
            boundary,
            moment,
            fault,
            steps,
            sign: Sign::Replica,
            found: left.leaves(boundary),
        });
    }
}

/// The transactions that no call waits for: a call that was answered before is a
/// replay whatever happens to them, and one that was left is blocked.
fn beside_calls(cells: &mut Vec<Cell>, (moment, fault, cut, _): Row) {
    let answered = || Step::Call(Call::new(0));
    let mut add = |boundary, mut steps: Vec<Step>, sign, found| {
        steps.extend(lasts(cut));
        cells.push(Cell {
            boundary,
            moment,
            fault,
            steps,
            sign,
            found,
        });
    };
    let replay = found(RESULT, REPLAY, ONCE);
    if !matches!(cut, Cut::Terminate | Cut::Crash) {
        let steps = vec![
            answered(),
            Step::Stop(0),
            Step::Do(0, Deed::Database(cut)),
            Step::Start(0, None),
        ];
        add("open", steps, Sign::Replica, replay);
    }
    let steps = vec![
        left(),
        Step::Do(1, Deed::Database(cut)),
        Step::Until(1, DUE_MS),
    ];
    add("block", steps, Sign::Beside, found(NOTHING, BLOCKED, ONCE));
    let steps = vec![
        answered(),
        Step::Do(0, Deed::Checkpoint(cut)),
        Step::Until(0, DUE_MS),
    ];
    add("checkpoint", steps, Sign::Replica, replay);
}

/// While the upstream has the call, the database goes away for everyone, or for
/// the replica that waits alone.
fn outages(cells: &mut Vec<Cell>) {
    let past = PAST_LEASE_MS;
    for (boundary, moment, when) in super::way::REMOTE {
        for (fault, cut, then) in [
            ("outage", Cut::Down(past), REPLAY),
            ("cut off", Cut::Outage(past), BLOCKED_OR_REPLAY),
        ] {
            let mut steps = vec![Step::Call(at(when, Deed::Database(cut)))];
            steps.extend(lasts(cut));
            cells.push(Cell {
                boundary,
                moment,
                fault,
                steps,
                sign: Sign::Moment(when),
                found: found(UNSETTLED_OR_RESULT, then, ONCE),
            });
        }
    }
}
