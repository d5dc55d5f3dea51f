//! `cargo xtask bench`: what the binding and the ledger cost, side by side.

use crate::{
    chore::{self, Outcome},
    workspace,
};

/// What a call costs: WebAssembly against native code, commits shared and not
///
/// Builds optimized and runs the benchmark program of tests/src/bin/bench,
/// which prints its tables and what it measures: the binding, and the ledger.
/// With the name of a section, that one alone; `ledger-large` fills a ledger
/// with millions of executions and takes long.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Sections of the benchmark program; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Components hash in software, so native code does too; in a folder of its
    // own, since the flag would have everything else built anew.
    let bench = ["run", "--quiet", "--release", "--bin", "bench", "--"];
    chore::run(
        chore::command("cargo", bench)
            .args(&arguments.arguments)
            .env("RUSTFLAGS", r#"--cfg sha2_backend="soft""#)
            .env("CARGO_TARGET_DIR", workspace::target().join("bench")),
    )
}
