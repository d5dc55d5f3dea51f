//! Plays sequences on the whole gateway beside a model, and prints the matrix.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::process::ExitCode;

use countersign_stateful::{Campaign, On, campaign, kept, replay, rows};
use countersign_tests::environment;

const HELP: &str = "\
The whole gateway, held against a model

Usage: stateful [--seed N] [--first N] [--sequences N] [--jobs N] [--binary N] [--go-on N]

  --seed N       the first seed [default: the time]
  --sequences N  how many sequences, or `rows`: each row of the matrix once [default: 5000]
  --first N      the first one's number, which says what is changed [default: 0]
  --jobs N       how many at a time [default: 3]
  --binary N     each so manyth on the real binary too; 0 for none [default: 50]
  --go-on N      1 to play the others too once one has failed [default: 0]";

fn arguments() -> Option<Campaign> {
    let mut read = Campaign {
        seed: environment::seed(),
        first: 0,
        sequences: 5_000,
        jobs: 3,
        binary: 50,
        go_on: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        let value: u64 = match value.as_str() {
            "rows" => rows().len() as u64,
            number => number.parse().ok()?,
        };
        match name.as_str() {
            "--seed" => read.seed = value,
            "--first" => read.first = value,
            "--sequences" => read.sequences = value,
            "--jobs" => read.jobs = usize::try_from(value).ok()?.max(1),
            "--binary" => read.binary = value,
            "--go-on" => read.go_on = value > 0,
            _ => return None,
        }
    }
    Some(read)
}

fn main() -> ExitCode {
    let Some(of) = arguments() else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    let old = kept();
    println!("{} sequences that failed once", old.len());
    for plan in &old {
        for on in On::all_of(plan) {
            if let Err(failure) = replay(plan, on) {
                println!("{failure}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{} sequences from seed {}", of.sequences, of.seed);
    let began = environment::now();
    let matrix = match campaign(of, |done| tell(done, of.sequences)) {
        Ok(matrix) => matrix,
        Err(failure) => {
            println!("\n{failure}");
            return ExitCode::FAILURE;
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    println!("\n{}", matrix.table());
    let (played, binary) = (matrix.played, matrix.on_the_binary);
    println!(
        "{played} played, {binary} of them on the real binary, in {seconds:.0} s; {} entries compared, {} calls that reached the upstream",
        matrix.entries, matrix.arrivals
    );
    let (mut empty, unexpected) = (matrix.empty(), matrix.unexpected());
    if of.sequences < rows().len() as u64 {
        // They were not all tried.
        empty.clear();
    }
    let failed = matrix.failed;
    println!("empty rows: {empty:?}\nunexpected cells: {unexpected:?}\nfailed: {failed}");
    let whole = empty.is_empty() && unexpected.is_empty() && failed == 0;
    ExitCode::from(u8::from(!whole))
}

/// A terminal sees every one, a log every hundredth.
fn tell(done: u64, all: u64) {
    if stderr().is_terminal() {
        let _ = write!(stderr(), "\r{done} of {all}");
    } else if done.is_multiple_of(100) {
        eprintln!("{done} of {all}");
    }
}
