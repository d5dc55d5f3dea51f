//! Sends random messages to every reader and stops at the first disagreement.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::process::ExitCode;

use countersign_tests::fuzz::{Plan, run};

const HELP: &str = "\
Random messages before native code, the components and the Python reference

Usage: cargo xtask fuzz [--seed N] [--cases N] [--jobs N]

  --seed N   the same seed gives the same messages [default: 1]
  --cases N  how many messages [default: 1000000]
  --jobs N   threads, each with a Python process [default: 2]";

fn main() -> ExitCode {
    let mut plan = Plan {
        seed: 1,
        cases: 1_000_000,
        jobs: 2,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
        match (name.as_str(), value) {
            ("--seed", Some(seed)) => plan.seed = seed,
            ("--cases", Some(cases)) => plan.cases = cases,
            ("--jobs", Some(jobs)) => plan.jobs = u32::try_from(jobs).unwrap_or(2).clamp(1, 64),
            _ => {
                eprintln!("{HELP}");
                return ExitCode::from(2);
            }
        }
    }
    println!("seed {}, {} cases", plan.seed, plan.cases);
    let terminal = stderr().is_terminal();
    let result = run(plan, |done| {
        // A terminal sees every step, a log every fiftieth.
        if terminal {
            let _ = write!(stderr(), "\r{done} of {}", plan.cases);
        } else if done % 50_000 == 0 {
            eprintln!("{done} of {}", plan.cases);
        }
    });
    if terminal {
        eprintln!();
    }
    match result {
        Ok(tally) => {
            let share = tally.admitted * 100 / tally.cases.max(1);
            println!("no disagreement, no trap, no panic");
            println!(
                "admitted {} ({share} %), calls {}",
                tally.admitted, tally.calls
            );
            println!(
                "calls that asked for what another one had asked for: {}",
                tally.met
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("case {} of seed {} fails", failure.case, plan.seed);
            println!(
                "smallest message: {:?}",
                String::from_utf8_lossy(&failure.message)
            );
            println!("its bytes: {:02x?}", failure.message);
            println!("{}", failure.reason);
            ExitCode::FAILURE
        }
    }
}
