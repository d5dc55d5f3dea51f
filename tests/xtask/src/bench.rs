//! `cargo xtask bench`: what the binding, the ledger and verification cost, side
//! by side.

use crate::{
    chore::{self, Outcome},
    workspace,
};

/// What a call costs: WebAssembly against native code, commits shared and not
///
/// Builds optimized and runs the benchmark program of tests/src/bin/bench,
/// which prints its tables and what it measures: the binding, the ledger, and
/// verification. With the name of a section, that one alone; `ledger-large` and
/// `verify-large` fill a ledger with millions of entries and take long.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Sections of the benchmark program; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Components hash in software, so native code does too; in a folder of its
    // own, since the flag would have everything else built anew.
    let optimized = |words: &[&str]| {
        let mut command = chore::command("cargo", words);
        command
            .env("RUSTFLAGS", r#"--cfg sha2_backend="soft""#)
            .env("CARGO_TARGET_DIR", workspace::target().join("bench"));
        command
    };
    if arguments
        .arguments
        .iter()
        .any(|word| word == "verify-large")
    {
        // The shipped command is measured, in a process of its own.
        let build = ["build", "--quiet", "--release", "--bin", "countersign"];
        chore::run(&mut optimized(&build))?;
    }
    let bench = ["run", "--quiet", "--release", "--bin", "bench", "--"];
    chore::run(optimized(&bench).args(&arguments.arguments))
}
