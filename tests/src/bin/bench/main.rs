//! The benchmarks, one room for each subject. What is compared is measured side
//! by side, in turns, in one run, and told as a ratio.
//!
//! `cargo xtask bench` builds it optimized and makes docs/performance.md of what
//! it says.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark measures time, and fails by panicking"
)]

mod binding;
mod gateway;
mod instructions;
mod ledger;
mod log;
mod machine;
mod report;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use report::Report;

const USAGE: &str =
    "bench [--keep FOLDER] [--without-log FOLDER] [--without-durability FOLDER] SECTION...
  machine             what it is measured on
  binding             the component against the same code compiled natively
  ledger              reservations and settlements, grouped and not
  ledger-large[=N]    a ledger of N executions (5,000,000) against one of 10,000; takes long
  log                 calls with the log against a build that leaves it out
  gateway             calls through the gateway against a plain proxy
  verify              bundles against plain SHA-256, and admissions again
  verify-large[=N]    the memory of exporting and verifying N entries (1,000,000); takes long
Keeps what it says of each section as Markdown in the folder, where one is named.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let strs: Vec<&str> = words.iter().map(String::as_str).collect();
    match strs.as_slice() {
        // Parts that sections run in processes of their own.
        ["log-turn"] => log::turn(),
        ["ledger-pairs", folder, pairs] => {
            ledger::pairs(folder.as_ref(), pairs.parse().expect("a number"));
        }
        ["plain-proxy", upstream] => gateway::plain_proxy(upstream),
        ["sdk-server"] => gateway::sdk_server(),
        ["instructions", folder, rounds] => {
            instructions::run(folder.as_ref(), rounds.parse().expect("a number"));
        }
        _ => match Asked::read(&words) {
            Some(asked) => return asked.run(),
            None => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        },
    }
    ExitCode::SUCCESS
}

/// What is to be measured, with what.
#[derive(Default)]
struct Asked {
    sections: Vec<(String, Option<u64>)>,
    keep: Option<PathBuf>,
    without_log: Option<PathBuf>,
    without_durability: Option<PathBuf>,
}

impl Asked {
    fn read(words: &[String]) -> Option<Self> {
        let mut asked = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--keep" => asked.keep = Some(words.next()?.into()),
                "--without-log" => asked.without_log = Some(words.next()?.into()),
                "--without-durability" => asked.without_durability = Some(words.next()?.into()),
                word if word.starts_with('-') => return None,
                word => match word.split_once('=') {
                    Some((name, size)) => {
                        asked.sections.push((name.into(), Some(size.parse().ok()?)));
                    }
                    None => asked.sections.push((word.into(), None)),
                },
            }
        }
        (!asked.sections.is_empty()).then_some(asked)
    }

    fn run(&self) -> ExitCode {
        for (name, size) in &self.sections {
            let Some(report) = self.section(name, *size) else {
                eprintln!("`{name}` cannot be measured so\n{USAGE}");
                return ExitCode::from(2);
            };
            report.keep(self.keep.as_deref(), name);
        }
        ExitCode::SUCCESS
    }

    fn section(&self, name: &str, size: Option<u64>) -> Option<Report> {
        Some(match name {
            "machine" => machine::run(),
            "binding" => binding::run(),
            "ledger" => ledger::run(),
            "ledger-large" => ledger::large(size.unwrap_or(5_000_000)),
            "log" => log::run(self.without_log.as_deref()?),
            "gateway" => gateway::run(self.without_durability.as_deref()),
            "verify" => verify::run(),
            "verify-large" => verify::large(size.unwrap_or(1_000_000), ledger::filled),
            _ => return None,
        })
    }
}
