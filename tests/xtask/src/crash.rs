//! `cargo xtask crash`: faults of the real gateway, by plan and at random.

mod model;
mod mutations;

use crate::{
    chore::{self, Outcome},
    nextest, workspace,
};

/// Kill and injure the real gateway at every boundary, and check what holds
///
/// Runs the program of tests/src/bin/crash.rs: real gateways, with a library
/// preloaded that fails their calls to the kernel, in front of an upstream that
/// counts; on PostgreSQL two replicas of it, each behind a proxy that cuts at
/// commits. First the matrix boundary × moment × fault, of which no cell may be
/// empty, then sequences from seeds: several agents, replicas, identifiers and
/// actions, with kills, disk and network errors, pauses, clock jumps, restored
/// backups and lost databases; then, on PostgreSQL, a fleet of 64 clients and
/// three replicas of which one is killed and one paused every few seconds. The
/// seed is printed, and a sequence that fails is made small.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The first seed of the sequences; the time when absent
    #[arg(long)]
    seed: Option<u64>,
    /// How many sequences; of those on both stores a fifth is on PostgreSQL; 2000,
    /// or 5000 of the stateful ones, when absent
    #[arg(long)]
    sequences: Option<u64>,
    /// Which store: `sqlite`, `postgres` or `both`
    #[arg(long, default_value = "both")]
    store: String,
    /// Only the `matrix`, the `sequences`, or the `fleet`
    #[arg(long)]
    only: Option<String>,
    /// How long the fleet runs, in seconds
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Of the matrix only one boundary, or only one fault
    #[arg(long, value_name = "NAME")]
    cells: Option<String>,
    /// The same, and no more of them once one has failed
    #[arg(long, value_name = "NAME", conflicts_with = "cells")]
    until: Option<String>,
    /// How many worlds at a time
    #[arg(long, default_value_t = 3)]
    jobs: u32,
    /// Instead, hold the whole gateway against a model of its specification:
    /// sequences of requests and operators' acts with one thing changed in each,
    /// in process and each fiftieth on the real binary too; prints the matrix
    /// mutation × finding, in which no row may be empty
    #[arg(long, conflicts_with_all = ["only", "model", "mutations"])]
    stateful: bool,
    /// Instead, go through every order of events of the executions' protocol
    /// within larger bounds, and print how many moments there are
    #[arg(long, conflicts_with_all = ["only", "seed"])]
    model: bool,
    /// Instead, break the ledger and the gateway on purpose, one way at a time,
    /// and have tests and harness catch each; with a text, only the ways whose
    /// name holds it, or those that the `tests`, the `harness` or the `stateful`
    /// one is to catch
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["only", "seed", "model"])]
    mutations: Option<String>,
}

/// How many sequences of crashes there are unless something else is said.
const SEQUENCES: u64 = 2_000;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.model {
        return model::run();
    }
    if let Some(only) = &arguments.mutations {
        return mutations::run(only);
    }
    nextest::binaries()?;
    if arguments.stateful {
        return stateful(arguments);
    }
    let mut command = chore::command(workspace::binaries().join("crash"), [""; 0]);
    command.env("COUNTERSIGN_BINARIES", workspace::binaries());
    let sequences = arguments.sequences.unwrap_or(SEQUENCES);
    command.args(["--sequences", &sequences.to_string()]);
    command.args(["--seconds", &arguments.seconds.to_string()]);
    command.args(["--store", &arguments.store]);
    command.args(["--jobs", &arguments.jobs.to_string()]);
    if let Some(only) = &arguments.only {
        command.args(["--only", only]);
    }
    if let Some(cells) = &arguments.cells {
        command.args(["--cells", cells]);
    }
    if let Some(until) = &arguments.until {
        command.args(["--until", until]);
    }
    if let Some(seed) = arguments.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    chore::run(&mut command)
}

fn stateful(arguments: &Arguments) -> Outcome {
    let mut command = chore::command(workspace::binaries().join("stateful"), [""; 0]);
    command.env("COUNTERSIGN_BINARIES", workspace::binaries());
    command.args(["--jobs", &arguments.jobs.to_string()]);
    if let Some(sequences) = arguments.sequences {
        command.args(["--sequences", &sequences.to_string()]);
    }
    if let Some(seed) = arguments.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    chore::run(&mut command)
}
