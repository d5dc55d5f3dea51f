//! The tables of the gateway's section.

use countersign_tests::SERVER;

use super::rules::{APPLICABLE, RULES};
use super::side::Side;
use super::stages::STAGES;
use super::{CONCURRENCY, TURN, TURNS};
use crate::report::{self, Goal, Report, no_goal};

/// What stands before the first table.
pub(super) const REAL: &str = "Before a real server, on the official Rust SDK as its defaults have it, which answers with an event stream:";

/// What stands before the second one.
pub(super) const EMPTY: &str = "Before a server made for this alone, which answers at once and reads no more of a call than its id: all that is \
     left to measure are clients and what stands between.";

/// How it is measured.
pub(super) fn method(report: &mut Report) {
    report.say(&format!(
        "`cargo xtask bench gateway`: clients that call as fast as they are answered, over loopback, each on a \
         connection of its own; a call of a kibibyte, its arguments held against their approved schema, and a bundle \
         of {RULES} rules of which {APPLICABLE} are about its tool, nearly all of these about other accounts and \
         agents. The plain proxy has the same HTTP library, keeps connections, streams both ways and reads nothing. \
         Clients, server and what stands between share the processors. {TURNS} turns of {} s of each side in \
         alternation: the middle one, and between which all lie. *Nothing synced* is a build made for this alone that \
         writes the same and never waits for the disk; the shipped program has no such switch. The server is named \
         `{SERVER}`, and one agent makes all calls, its limits raised. What stands between *used* so much time of \
         processors for a call.",
        TURN.as_secs_f64()
    ));
}

/// What each side came to.
pub(super) fn sides(report: &mut Report, before: &str, sides: &[Side]) {
    report.say(before);
    let mut rows = Vec::new();
    for (place, clients) in CONCURRENCY.into_iter().enumerate() {
        for side in sides {
            let seen = &side.seen[place];
            rows.push([
                clients.to_string(),
                side.name.to_owned(),
                seen.rate.shown(),
                report::number(seen.rate.middle() / rate(sides, 1, place)),
                seen.p50.shown(),
                seen.p99.shown(),
                side.process.map_or(String::new(), |_| seen.used.shown()),
            ]);
        }
    }
    report.table(
        [
            "clients",
            "through",
            "calls in a second",
            "to the proxy's",
            "p50, µs",
            "p99, µs",
            "it used, µs a call",
        ],
        &rows,
    );
}

/// What is to be reached, where it is `judged`, and what it leaves.
pub(super) fn ratios(report: &mut Report, sides: &[Side], judged: bool) {
    let judge = |name: &str, value: f64, goal: Goal| {
        if judged {
            row(name, value, goal)
        } else {
            with(name, report::number(value), no_goal())
        }
    };
    let p50 = |side: usize| {
        sides
            .get(side)
            .map_or(f64::NAN, |side| side.seen[0].p50.middle())
    };
    let mut rows = vec![judge(
        "calls with durability at 64 clients, to the plain proxy's",
        rate(sides, 2, 2) / rate(sides, 1, 2),
        Goal::AtLeast(0.3),
    )];
    if sides.len() > 3 {
        let name = "calls with nothing synced at 16 clients, to the plain proxy's";
        let reached = rate(sides, 3, 1) / rate(sides, 1, 1);
        rows.insert(0, judge(name, reached, Goal::AtLeast(0.4)));
        rows.push(judge(
            "p50 at 1 client that admission, policy and evidence add to the plain proxy, nothing synced, µs",
            p50(3) - p50(1),
            Goal::AtMost(150.0),
        ));
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // What the processors give in the time of a call at the goal, without what
    // client and server need of it.
    let left =
        processors as f64 * 1e6 * (1.0 / (0.4 * rate(sides, 1, 1)) - 1.0 / rate(sides, 0, 1));
    let name = format!(
        "what 0.4 of the proxy leaves to the gateway, on {processors} processors, µs a call"
    );
    rows.push(with(&name, report::number(left), no_goal()));
    report.table(["", "measured", "goal", "met"], &rows);
}

/// Microseconds of each stage, as it ships and with nothing synced.
pub(super) fn stages(report: &mut Report, ways: &[[f64; STAGES.len()]]) {
    report.say(
        "Where the time of a call goes, by the gateway's own histograms, with one client: the mean of each stage. What \
         a stage waits for is in it: the writer's thread and the commit in *reserve* and *settle*, the server in \
         *invoke*.",
    );
    let rows: Vec<[String; 3]> = STAGES
        .iter()
        .enumerate()
        .map(|(stage, name)| {
            let of = |side: usize| ways.get(side).map_or(f64::NAN, |took| took[stage]);
            [
                (*name).to_owned(),
                report::number(of(1)),
                report::number(of(0)),
            ]
        })
        .collect();
    report.table(["stage", "nothing synced, µs", "as it ships, µs"], &rows);
}

/// MiB of the gateway at rest, with its sessions, and after calls.
pub(super) fn memory(report: &mut Report, rest: f64, held: f64, busy: f64) {
    report.table(
        [
            "resident memory of the gateway, MiB",
            "measured",
            "goal",
            "met",
        ],
        &[
            row("at rest", rest, Goal::AtMost(60.0)),
            row(
                "at 1,000 open sessions, each with a stream that is held open",
                held,
                Goal::AtMost(200.0),
            ),
            with("after the calls above", report::number(busy), no_goal()),
        ],
    );
}

/// Calls in a second of a side at a place of [`CONCURRENCY`].
fn rate(sides: &[Side], side: usize, place: usize) -> f64 {
    sides
        .get(side)
        .map_or(f64::NAN, |side| side.seen[place].rate.middle())
}

fn row(name: &str, value: f64, goal: Goal) -> [String; 4] {
    with(name, report::number(value), goal.cells(value))
}

fn with(name: &str, value: String, [goal, met]: [String; 2]) -> [String; 4] {
    [name.to_owned(), value, goal, met]
}
