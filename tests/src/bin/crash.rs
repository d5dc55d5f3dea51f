//! Kills and injures the real gateway by plan: the matrix, then sequences.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::process::ExitCode;

use countersign_tests::crash::{
    Campaign, Evidence, Extent, Fleet, Store, campaign, fleet, kept, matrix, replay,
};
use countersign_tests::environment;

const HELP: &str = "\
Faults of the real gateway, before, within and after each boundary

Usage: cargo xtask crash [--only matrix|sequences|fleet] [--store sqlite|postgres|both]
                         [--cells NAME | --until NAME] [--seed N] [--sequences N] [--jobs N]

  --seed N       the first seed of the sequences [default: the time]
  --sequences N  how many sequences; of both stores' a fifth on PostgreSQL [default: 2000]
  --store NAME   sqlite, postgres or both [default: both]
  --only PART    only the matrix, the sequences, or the fleet
  --seconds N    how long the fleet runs [default: 120]
  --cells NAME   of the matrix only one boundary, or only one fault
  --until NAME   the same, and no more of them once one has failed
  --jobs N       worlds at a time [default: 3]";

struct Arguments {
    seed: u64,
    sequences: u64,
    stores: Vec<Store>,
    jobs: usize,
    only: Option<String>,
    extent: Extent,
    seconds: u64,
}

fn arguments() -> Option<Arguments> {
    let mut read = Arguments {
        seed: environment::seed(),
        sequences: 2_000,
        stores: Store::ALL.to_vec(),
        jobs: 3,
        only: None,
        extent: Extent::Whole,
        seconds: 120,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--seed" => read.seed = value.parse().ok()?,
            "--sequences" => read.sequences = value.parse().ok()?,
            "--seconds" => read.seconds = value.parse().ok()?,
            "--cells" => read.extent = Extent::Only(value),
            "--until" => read.extent = Extent::Until(value),
            "--jobs" => read.jobs = value.parse().ok()?,
            "--only" if ["matrix", "sequences", "fleet"].contains(&&*value) => {
                read.only = Some(value);
            }
            "--store" if value == "both" => read.stores = Store::ALL.to_vec(),
            "--store" => read.stores = vec![Store::parse(&value)?],
            _ => return None,
        }
    }
    Some(read)
}

// Worlds wait for processes on them, and upstreams must answer meanwhile.
#[tokio::main(worker_threads = 32)]
async fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    let mut failed = false;
    let wanted = |part: &str| arguments.only.as_deref().is_none_or(|only| only == part);
    for store in arguments.stores.iter().copied() {
        if wanted("matrix") {
            failed |= !whole_matrix(store, &arguments).await;
        }
        if wanted("sequences") {
            failed |= !all_sequences(store, &arguments).await;
        }
    }
    if wanted("fleet") && arguments.stores.contains(&Store::Postgres) {
        failed |= !whole_fleet(&arguments).await;
    }
    ExitCode::from(u8::from(failed))
}

async fn whole_matrix(store: Store, arguments: &Arguments) -> bool {
    println!("\n== {}: the matrix", store.name());
    let told = |done, all| tell("cells", done as u64, all as u64);
    let matrix = matrix(store, &arguments.extent, arguments.jobs, told).await;
    eprintln!();
    print!("{}", matrix.table(store));
    let (covered, failed) = (matrix.covered.len(), matrix.failed.len());
    let mut empty = matrix.empty(store).len();
    if !matches!(arguments.extent, Extent::Whole) {
        empty = 0;
    }
    println!("{covered} cells covered, {failed} failed, {empty} empty");
    failed == 0 && empty == 0
}

async fn whole_fleet(arguments: &Arguments) -> bool {
    let (seconds, seed) = (arguments.seconds, arguments.seed);
    println!("\n== postgres: 64 clients, 3 replicas, {seconds} s, seed {seed}");
    match fleet(seconds, seed).await {
        Ok(fleet) => {
            let Fleet {
                told,
                identifiers,
                arrivals,
                killed,
                paused,
                evidence,
            } = fleet;
            println!("{killed} replicas killed, {paused} paused past their lease");
            println!(
                "{identifiers} identifiers, {arrivals} calls that reached the upstream, none twice"
            );
            println!("attempts were told {told:?}");
            let Evidence {
                entries,
                own,
                counted,
                unanswered,
                refused,
            } = evidence;
            println!("{entries} entries; every log and every execution's chain is verified");
            println!(
                "{own} attempts have an entry of their own, {counted} are counted in one; \
                 {unanswered} without one were answered by nobody, {refused} refused without one"
            );
            true
        }
        Err(broken) => {
            println!("{}", broken.join("\n"));
            false
        }
    }
}

async fn all_sequences(store: Store, arguments: &Arguments) -> bool {
    let name = store.name();
    let mut whole = true;
    let old = kept(store);
    println!("\n== {name}: {} sequences that failed once", old.len());
    for sequence in old {
        if let Err(failure) = replay(store, sequence).await {
            println!("{failure}");
            whole = false;
        }
    }
    let (seed, all) = (arguments.seed, arguments.sequences);
    // Where replicas wait for leases one takes as long as several elsewhere.
    let on_postgres = all / 5;
    let sequences = match (arguments.stores.len(), store) {
        (1, _) => all,
        (_, Store::Postgres) => on_postgres,
        (_, Store::Sqlite) => all - on_postgres,
    };
    println!("\n== {name}: {sequences} sequences from seed {seed}");
    let plan = Campaign {
        store,
        seed,
        sequences,
        jobs: arguments.jobs,
    };
    match campaign(plan, move |done| tell("sequences", done, sequences)).await {
        Ok(tally) => println!(
            "\n{} attempts, {} calls that reached the upstream, {} faults that happened; everything holds",
            tally.attempts, tally.arrivals, tally.faults
        ),
        Err(failure) => {
            println!("\n{failure}");
            whole = false;
        }
    }
    whole
}

/// A terminal sees every step, a log every fiftieth.
fn tell(what: &str, done: u64, all: u64) {
    if stderr().is_terminal() {
        let _ = write!(stderr(), "\r{done} of {all} {what}");
    } else if done.is_multiple_of(50) || done == all {
        eprintln!("{done} of {all} {what}");
    }
}
