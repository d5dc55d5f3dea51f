//! The `countersign` command.
//!
//! One file for each command, under `commands`; each says its exit statuses in
//! its own help. What a command prints is an interface: the help texts stand
//! in `host/cli/help`, and the tests compare.

mod commands;
mod difference;
#[cfg(test)]
mod docs_tests;
mod environment;
mod failure;
mod files;
#[cfg(test)]
mod help_tests;
mod input;
mod profiles;
mod progress;
mod text;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use commands::Countersign;

fn main() -> ExitCode {
    let parsed = Countersign::try_parse().unwrap_or_else(|error| usage(&error));
    match parsed.run() {
        Ok(status) => status.into(),
        Err(failure) => {
            // Nobody is left to tell when even this cannot be written.
            let _ = write!(std::io::stderr().lock(), "{failure}");
            failure.status().into()
        }
    }
}

/// Says what is wrong with the command line, or what was asked about it.
fn usage(error: &clap::Error) -> ! {
    // 2 is a verdict of `verify`, so wrong usage has another status there.
    let words: Vec<_> = std::env::args_os().skip(1).take(2).collect();
    let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
    let verdicts = matches!(words.as_slice(), ["verify", ..] | ["receipt", "check"]);
    if error.use_stderr() && verdicts {
        let _ = error.print();
        std::process::exit(3);
    }
    error.exit()
}
