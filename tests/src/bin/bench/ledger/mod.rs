//! What executions cost: pairs of one reservation and one settlement, on the
//! embedded store with `synchronous=FULL` and on PostgreSQL.

mod large;
mod load;
mod postgres;
mod stage;
mod syncs;

use std::path::Path;
use std::time::Duration;

use countersign_tests::measure::spread;

pub(crate) use large::large;
use stage::Kept;

/// How long clients run in each turn.
const TURN: Duration = Duration::from_millis(1_500);

/// Turns of each side.
const TURNS: usize = 5;

pub(crate) fn run() {
    println!("\nledger on SQLite, synchronous=FULL: pairs of reserve and settle in a second");
    let fast = |kept: Kept| kept;
    grouped_against_alone("the disk as it is", 5.0, fast);
    grouped_against_alone("each sync 4 ms slower", 20.0, Kept::with_slow_disk);
    latency();
    syncs::count();
    postgres::grouped_against_alone();
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

fn grouped_against_alone(name: &str, goal: f64, disk: impl Fn(Kept) -> Kept) {
    let (mut alone, mut grouped) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        // In turns, so that both see the same machine.
        alone.push(load::run(disk(Kept::ALONE), 64, TURN).rate);
        grouped.push(load::run(disk(Kept::GROUPED), 64, TURN).rate);
    }
    let ratio = middle(&mut grouped) / middle(&mut alone);
    println!("  64 clients, {name}");
    println!("    a commit each   {}", rates(&mut alone));
    println!("    grouped         {}", rates(&mut grouped));
    println!("    ratio           {ratio:>8.1} (at least {goal})");
}

fn latency() {
    for clients in [1, 16] {
        let run = load::run(Kept::GROUPED, clients, TURN * 4);
        let (p50, p99) = (run.took.median(), run.took.percentile(99));
        let ratio = p99.as_secs_f64() / p50.as_secs_f64();
        println!(
            "  {clients} clients: {} us a pair; p99 {} us, {ratio:.1} times p50{}; WAL at most {} KiB",
            spread(&run.took).trim(),
            p99.as_micros(),
            if clients == 16 { " (at most 4)" } else { "" },
            run.wal_bytes / 1_024
        );
    }
}

fn middle(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn rates(rates: &mut [f64]) -> String {
    let middle = middle(rates);
    format!(
        "{middle:>8.0} ({:.0} to {:.0})",
        rates[0],
        rates[rates.len() - 1]
    )
}
