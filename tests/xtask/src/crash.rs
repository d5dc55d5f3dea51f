//! `cargo xtask crash`: the kill tests, many times over.

mod model;
mod mutations;

use crate::{
    chore::{self, Outcome},
    nextest,
};

/// Kill the gateway for real, again and again
///
/// Runs tests/tests/crash.rs with more rounds than `cargo xtask test` does: a
/// gateway with the embedded store is killed (SIGKILL) at a random moment of a
/// call and started again, and the journal of the upstream shows at most one
/// effect for each execution id. The seed is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many times the gateway is killed
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// Where the random moments start from; a random seed when absent
    #[arg(long)]
    seed: Option<u64>,
    /// Instead, go through every order of events of the executions' protocol
    /// within larger bounds, and print how many moments there are
    #[arg(long, conflicts_with_all = ["rounds", "seed"])]
    model: bool,
    /// Instead, break the ledger on purpose, one way at a time, and have its
    /// tests catch each; with a text, only the ways whose name holds it
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["rounds", "seed", "model"])]
    mutations: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.model {
        return model::run();
    }
    if let Some(only) = &arguments.mutations {
        return mutations::run(only);
    }
    nextest::binaries()?;
    let selection = ["--workspace", "--test", "crash"];
    let mut command = nextest::tests(&selection, false);
    command.env("COUNTERSIGN_CRASH_ROUNDS", arguments.rounds.to_string());
    if let Some(seed) = arguments.seed {
        command.env("COUNTERSIGN_SEED", seed.to_string());
    }
    chore::run(&mut command)
}
