//! What executions cost: pairs of one reservation and one settlement, on the
//! embedded store with `synchronous=FULL` and on PostgreSQL.

mod large;
mod load;
mod postgres;
mod stage;
mod syncs;

use std::path::Path;
use std::time::Duration;

use crate::report::{self, Goal, Report, Turns};
pub(crate) use large::large;
use stage::Kept;
pub(crate) use stage::{answered, attempt, open_with};

/// How long clients run in each turn.
const TURN: Duration = Duration::from_millis(1_500);

/// Turns of each side.
const TURNS: usize = 5;

pub(crate) fn run() -> Report {
    let mut report = Report::new("The ledger");
    report.say(&format!(
        "`cargo xtask bench ledger`: pairs of one reservation and one settlement, on SQLite with `synchronous=FULL` and \
         on PostgreSQL with its own durability: clients that each reserve, pass the gate and settle as fast as they are \
         answered, each turn of a side on a new database, {TURNS} turns of {} s in alternation ({} s on PostgreSQL), \
         the middle one and between which all lie. The slow disk is simulated: 4 ms are added to the sync of each \
         commit, on both sides alike. Syncs are counted by `strace`.",
        TURN.as_secs_f64(),
        postgres::TURN.as_secs_f64(),
    ));
    let fast = |kept: Kept| kept;
    let rows = [
        grouped_against_alone("SQLite, the disk as it is", 5.0, fast),
        grouped_against_alone("SQLite, each sync 4 ms slower", 20.0, Kept::with_slow_disk),
        postgres::grouped_against_alone(),
    ];
    report.table(
        [
            "pairs in a second, 64 clients",
            "a commit each",
            "grouped",
            "ratio",
            "goal",
            "met",
        ],
        &rows,
    );
    let mut rows = latency();
    rows.extend(syncs::count());
    report.table(
        ["on SQLite, the disk as it is", "measured", "goal", "met"],
        &rows,
    );
    report
}

/// One row: how both went, and their ratio.
fn ratio(name: &str, alone: &Turns, grouped: &Turns, goal: f64) -> [String; 6] {
    let ratio = grouped.middle() / alone.middle();
    let [goal, met] = Goal::AtLeast(goal).cells(ratio);
    let name = name.to_owned();
    [
        name,
        alone.shown(),
        grouped.shown(),
        report::number(ratio),
        goal,
        met,
    ]
}

fn row(name: String, measured: String, goal: Option<(Goal, f64)>) -> [String; 4] {
    let [goal, met] = goal.map_or_else(report::no_goal, |(goal, value)| goal.cells(value));
    [name, measured, goal, met]
}

/// Pairs one after another, for whoever counts what they do.
pub(crate) fn pairs(folder: &Path, pairs: usize) {
    let ledger = stage::open(folder, Kept::GROUPED);
    load::runtime().block_on(async {
        for number in 0..pairs {
            stage::pair(&ledger, &format!("e-{number}")).await;
        }
    });
    ledger.stop().unwrap();
}

/// Pairs in a second, 64 clients.
pub(crate) fn turn() -> f64 {
    load::run(Kept::GROUPED, 64, TURN * 2).rate
}

/// A ledger of so many executions, each with its outcome, for other rooms.
pub(crate) fn filled(folder: &Path, executions: u64) {
    let ledger = stage::open(folder, Kept::GROUPED);
    load::fill(&ledger, 0, executions);
    ledger.stop().unwrap();
}

fn grouped_against_alone(name: &str, goal: f64, disk: impl Fn(Kept) -> Kept) -> [String; 6] {
    let (mut alone, mut grouped) = (Turns::default(), Turns::default());
    for _ in 0..TURNS {
        // In turns, so that both see the same machine.
        alone.add(load::run(disk(Kept::ALONE), 64, TURN).rate);
        grouped.add(load::run(disk(Kept::GROUPED), 64, TURN).rate);
    }
    ratio(name, &alone, &grouped, goal)
}

fn latency() -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    let mut longest = 0;
    for clients in [1, 16] {
        let run = load::run(Kept::GROUPED, clients, TURN * 4);
        let (p50, p99) = (run.took.median(), run.took.percentile(99));
        let ratio = p99.as_secs_f64() / p50.as_secs_f64();
        let many = if clients == 1 { "" } else { "s" };
        rows.push(row(
            format!("a pair, {clients} client{many}, µs"),
            report::micros(&run.took),
            None,
        ));
        rows.push(row(
            format!("its 99th percentile against its median, {clients} client{many}"),
            report::number(ratio),
            (clients == 16).then_some((Goal::AtMost(4.0), ratio)),
        ));
        longest = longest.max(run.wal_bytes);
    }
    rows.push(row(
        "the longest WAL, MiB, with a bound of 16".into(),
        report::number(longest as f64 / f64::from(1 << 20)),
        None,
    ));
    rows
}
