//! The benchmarks, one room for each subject. What is compared is measured side
//! by side, in turns, in one run, and printed as a ratio.
//!
//! `cargo xtask bench` builds it optimized. Times are microseconds unless it
//! says otherwise: the median, and between what a tenth of the samples lie below
//! and above.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark measures time, and fails by panicking"
)]

mod binding;
mod calls;
mod ledger;
mod verify;

/// How long the calls of a turn go on.
const TURN: std::time::Duration = std::time::Duration::from_secs(4);

const USAGE: &str = "bench [SECTION...]
  binding             the component against the same code compiled natively
  ledger              reservations and settlements, grouped and not
  ledger-large [N]    a ledger of N executions (5,000,000) against one of 10,000; takes long
  log                 calls with the log against a build that leaves it out (the chore alone)
  verify              bundles against plain SHA-256, and admissions again
  verify-large [N]    the memory of exporting and verifying N entries (1,000,000); takes long
With none: binding, ledger and verify.";

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--section")
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => {
            binding::run();
            ledger::run();
            verify::run();
        }
        ["binding"] => binding::run(),
        ["ledger"] => ledger::run(),
        ["verify"] => verify::run(),
        ["verify-large"] => verify::large(1_000_000, ledger::filled),
        ["verify-large", entries] => {
            verify::large(entries.parse().expect("a number"), ledger::filled);
        }
        ["ledger-large"] => ledger::large(5_000_000),
        ["ledger-large", executions] => ledger::large(executions.parse().expect("a number")),
        // One turn of `log`, in a build with the log and in one without it: calls
        // through the gateway, and the ledger's part of them alone.
        ["log-turn"] => println!("{:.0} {:.0}", calls::turn(TURN), ledger::turn()),
        // The part that `ledger` runs under strace.
        ["ledger-pairs", folder, pairs] => {
            ledger::pairs(folder.as_ref(), pairs.parse().expect("a number"));
        }
        _ => println!("{USAGE}"),
    }
}
