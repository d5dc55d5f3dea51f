//! `cargo xtask bench`: what the binding costs, side by side.

use crate::{
    chore::{self, Outcome},
    workspace,
};

/// What a call costs: WebAssembly against the same code compiled natively
///
/// Builds optimized and runs the benchmark program of tests/src/bin/bench.rs,
/// which prints its table and what it measures.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What the benchmark program takes; `--help` shows it
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
