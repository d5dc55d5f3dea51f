//! `cargo xtask fuzz`: mutated messages against independent readers.

use crate::{
    chore::{self, Outcome},
    tools,
};

/// A million mutated messages: native code, components and Python must agree
///
/// Runs the fuzzer of tests/src/bin/fuzz.rs: seeded, reproducible, with the
/// Python reference of tests/reference as the oracle.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What the fuzzer takes; `--help` shows it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    tools::python()?;
    let fuzz = ["run", "--quiet", "--bin", "fuzz", "--"];
    chore::run(chore::command("cargo", fuzz).args(&arguments.arguments))
}
