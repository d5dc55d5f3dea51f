//! The cells of the matrix on PostgreSQL: what happens between a replica and its
//! database, at the same boundaries, with a second replica beside it.

use super::cells::{Cell, Sign};
use super::faults::{Does, Fault, Spot};
use super::plan::{Call, Cut, Deed, Round, Step};
use super::upstream::{Moment, Reply};
use super::world::LEASE_MS;

/// The boundaries.
pub(super) const BOUNDARIES: [&str; 10] = [
    "open", "reserve", "send", "invoke", "answer", "settle", "ask", "claim", "deliver", "refuse",
];

/// What goes wrong.
pub(super) const FAULTS: [&str; 10] = [
    "kill",
    "lost acknowledgement",
    "cut connection",
    "back end killed",
    "server crash",
    "outage",
    "silence",
    "pause",
    "clock jump",
    "restored backup",
];

/// Longer than a lease.
const LONG_MS: u32 = LEASE_MS + LEASE_MS / 2;

/// What a fault of a transaction leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Nothing, and the process is dead.
    Dead,
    /// Everything, and the process is dead.
    DeadDurable,
    /// It goes on by itself, or says that it could not.
    Lives,
    /// Everything, told after the lease had run out.
    Late,
}

fn faults_of_a_commit() -> Vec<(&'static str, &'static str, Cut, Left)> {
    vec![
        ("before", "kill", Cut::KillBeforeCommit, Left::Dead),
        ("within", "kill", Cut::KillWithinCommit, Left::DeadDurable),
        ("after", "kill", Cut::KillAfterCommit, Left::DeadDurable),
        (
            "after",
            "lost acknowledgement",
            Cut::Unacknowledged,
            Left::Lives,
        ),
        ("before", "cut connection", Cut::BeforeCommit, Left::Lives),
        ("after", "cut connection", Cut::AfterCommit, Left::Lives),
        ("before", "back end killed", Cut::Terminate, Left::Lives),
        (
            "within",
            "back end killed",
            Cut::TerminateAtCommit,
            Left::Lives,
        ),
        ("before", "server crash", Cut::Crash, Left::Lives),
        ("before", "outage", Cut::Outage(LONG_MS), Left::Lives),
        ("before", "silence", Cut::Silence(LONG_MS), Left::Lives),
        ("before", "pause", Cut::HoldCommit(300), Left::Lives),
        (
            "within",
            "pause",
            Cut::PauseWithinCommit(LONG_MS),
            Left::Late,
        ),
    ]
}

const NOTHING: &[&str] = &["nothing"];
const REPLAY: &[&str] = &["replay"];
const ONCE: &[usize] = &[1];
const NONE: &[usize] = &[0];
const ANY: &[usize] = &[0, 1];

/// Every cell on PostgreSQL.
#[must_use]
pub(super) fn postgres() -> Vec<Cell> {
    let mut cells = Vec::new();
    transactions(&mut cells);
    elsewhere(&mut cells);
    cells
}

fn transactions(cells: &mut Vec<Cell>) {
    for (moment, fault, cut, left) in faults_of_a_commit() {
        let mut add = |boundary, steps, told, then, arrivals| {
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
        let deed = || Deed::Database(cut);
        let mut reserve = Call::new(0);
        reserve.before = Some(deed());
        let (told, then, arrivals): (&[&str], &[&str], _) = match left {
            Left::Dead => (NOTHING, &["result"], ONCE),
            Left::DeadDurable => (NOTHING, &["blocked"], NONE),
            Left::Lives => (
                &[
                    "result",
                    "ledger-unavailable",
                    "upstream-unavailable",
                    "overloaded",
                ],
                &["result", "replay", "blocked"],
                ANY,
            ),
            // A lease that ran out is never sent under.
            Left::Late => (
                &[
                    "ledger-unavailable",
                    "upstream-unavailable",
                    "settlement-failed",
                    "nothing",
                ],
                &["blocked", "replay"],
                NONE,
            ),
        };
        add("reserve", vec![Step::Call(reserve)], told, then, arrivals);

        let mut settle = Call::new(0);
        settle.meanwhile = Some((Moment::Effect, deed()));
        let (told, then): (&[&str], &[&str]) = match left {
            Left::Dead => (NOTHING, &["blocked"]),
            Left::DeadDurable => (NOTHING, REPLAY),
            Left::Lives | Left::Late => (&["result", "settlement-failed"], &["replay", "blocked"]),
        };
        add("settle", vec![Step::Call(settle.clone())], told, then, ONCE);

        let mut ask = settle;
        ask.reply = Reply::Ask("s1".to_owned());
        let (told, then): (&[&str], &[&str]) = match left {
            Left::Dead => (NOTHING, &["blocked"]),
            Left::DeadDurable => (NOTHING, &["asked"]),
            Left::Lives | Left::Late => (&["asked", "settlement-failed"], &["asked", "blocked"]),
        };
        add("ask", vec![Step::Call(ask)], told, then, ONCE);

        let mut first = Call::new(0);
        first.reply = Reply::Ask("s1".to_owned());
        let mut claim = Call::new(0);
        claim.round = Some(Round {
            state: Some("s1".to_owned()),
            answer: 1,
        });
        claim.before = Some(deed());
        let (told, then, arrivals): (&[&str], &[&str], &[usize]) = match left {
            Left::Dead => (NOTHING, &["result"], &[2]),
            Left::DeadDurable => (NOTHING, &["blocked"], &[1]),
            Left::Lives => (
                &[
                    "result",
                    "ledger-unavailable",
                    "upstream-unavailable",
                    "overloaded",
                ],
                &["result", "replay", "blocked"],
                &[1, 2],
            ),
            Left::Late => (
                &[
                    "ledger-unavailable",
                    "upstream-unavailable",
                    "settlement-failed",
                    "nothing",
                ],
                &["blocked", "replay"],
                &[1],
            ),
        };
        let steps = vec![Step::Call(first), Step::Call(claim)];
        add("claim", steps, told, then, arrivals);

        let mut refuse = Call::new(0);
        refuse.before = Some(deed());
        let told: &[&str] = match left {
            Left::Dead | Left::DeadDurable => NOTHING,
            Left::Lives | Left::Late => &["replay", "ledger-unavailable"],
        };
        let steps = vec![Step::Call(Call::new(0)), Step::Call(refuse)];
        add("refuse", steps, told, REPLAY, ONCE);
    }
}

fn elsewhere(cells: &mut Vec<Cell>) {
    let mut add = |boundary, moment, fault, call: Call, sign, told, then, arrivals| {
        cells.push(Cell {
            boundary,
            moment,
            fault,
            steps: vec![Step::Call(call)],
            sign,
            told,
            then,
            arrivals,
        });
    };
    let before = |deed| Call {
        before: Some(deed),
        ..Call::new(0)
    };
    let at = |moment, deed| Call {
        meanwhile: Some((moment, deed)),
        ..Call::new(0)
    };
    let blocked: &[&str] = &["blocked"];
    for (moment, does, arrivals) in [
        ("before", Does::KillBefore, NONE),
        ("within", Does::KillHalf, NONE),
        ("after", Does::KillAfter, ANY),
    ] {
        let kill = Deed::Arm(Fault::next(Spot::Send, does));
        add(
            "send",
            moment,
            "kill",
            before(kill),
            Sign::Library,
            NOTHING,
            blocked,
            arrivals,
        );
        let kill = Deed::Arm(Fault::next(Spot::Deliver, does));
        let told: &[&str] = match does {
            Does::KillAfter => &["nothing", "result"],
            _ => NOTHING,
        };
        add(
            "deliver",
            moment,
            "kill",
            at(Moment::Effect, kill),
            Sign::Library,
            told,
            REPLAY,
            ONCE,
        );
    }
    // The window that remains: stopped between the check of the lease and the
    // first byte, it sends when it wakes. Nobody sends again.
    let window = Deed::Arm(Fault::next(Spot::Send, Does::PauseBefore(LONG_MS)));
    let late: &[&str] = &["settlement-failed", "outcome-unknown", "nothing"];
    add(
        "send",
        "before",
        "pause",
        before(window),
        Sign::Library,
        late,
        blocked,
        ANY,
    );
    for (boundary, moment, when) in [
        ("invoke", "before", Moment::Arriving),
        ("invoke", "within", Moment::Read),
        ("invoke", "after", Moment::Effect),
        ("answer", "before", Moment::Effect),
        ("answer", "within", Moment::Half),
        ("answer", "after", Moment::Answered),
    ] {
        let then: &[&str] = &["blocked", "replay"];
        let told: &[&str] = &["nothing", "result"];
        let kill = at(when, Deed::Kill);
        add(
            boundary,
            moment,
            "kill",
            kill,
            Sign::Moment(when),
            told,
            then,
            ANY,
        );
        let pause = at(when, Deed::Pause(LONG_MS));
        let told: &[&str] = &["result", "settlement-failed", "outcome-unknown"];
        add(
            boundary,
            moment,
            "pause",
            pause,
            Sign::Moment(when),
            told,
            then,
            ONCE,
        );
        let outage = at(when, Deed::Database(Cut::Outage(LONG_MS)));
        add(
            boundary,
            moment,
            "outage",
            outage,
            Sign::Moment(when),
            told,
            then,
            ONCE,
        );
    }
    let result: &[&str] = &["result"];
    for seconds in [-86_400, 86_400] {
        let jump = Deed::Clock(seconds);
        add(
            "reserve",
            "before",
            "clock jump",
            before(jump.clone()),
            Sign::Step,
            result,
            REPLAY,
            ONCE,
        );
        let effect = Sign::Moment(Moment::Effect);
        add(
            "settle",
            "before",
            "clock jump",
            at(Moment::Effect, jump),
            effect,
            result,
            REPLAY,
            ONCE,
        );
    }
    cells.push(Cell {
        boundary: "open",
        moment: "before",
        fault: "restored backup",
        steps: vec![Step::Call(Call::new(0)), Step::Restore(0)],
        sign: Sign::Step,
        told: result,
        then: REPLAY,
        arrivals: ONCE,
    });
}

/// Why there can be no such cell on PostgreSQL.
#[must_use]
pub(super) fn impossible(boundary: &str, moment: &str, fault: &str) -> Option<&'static str> {
    let commits = matches!(boundary, "reserve" | "settle" | "ask" | "claim" | "refuse");
    Some(match (fault, moment) {
        ("restored backup", "within" | "after") => "it is there or it is not",
        ("restored backup", _) if boundary != "open" => {
            "what a replica does on it is what it does at its start"
        }
        (_, _) if boundary == "open" && fault != "restored backup" => {
            "a start makes the transactions of the other boundaries, and ends where one fails"
        }
        ("clock jump", "within" | "after") => "the clock is read once, at the beginning",
        ("clock jump", _) if boundary != "reserve" && boundary != "settle" => {
            "leases go by the database's clock, and entries are told the time alike"
        }
        ("lost acknowledgement", "before" | "within") => "an acknowledgement comes after the deed",
        ("cut connection", "within") if commits => "that is a lost acknowledgement",
        ("back end killed", "after") if commits => "that is a cut connection",
        ("server crash" | "silence" | "outage", "within" | "after") if commits => {
            "for the replica that is a lost acknowledgement or a cut connection"
        }
        ("pause", "after") if commits => "that is a pause before what comes next",
        ("outage", _) if matches!(boundary, "invoke" | "answer") => return None,
        ("pause", _) if boundary == "deliver" => "everything is settled by then",
        ("pause", "within" | "after") if boundary == "send" => "that is a pause of `invoke`",
        ("kill" | "pause", _) => return None,
        _ if commits => return None,
        _ => "the database has no part in it",
    })
}
