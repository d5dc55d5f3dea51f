//! Running the Rust tests: by cargo-nextest where it is installed, else by
//! `cargo test`, which needs nothing.

use std::process::Command;

use crate::{
    chore::{self, Outcome},
    tools, workspace,
};

/// The environment variable that tells the whole-system tests where the built
/// binaries are, so that they do not build them themselves.
const BINARIES: &str = "COUNTERSIGN_BINARIES";

/// Builds every binary that the whole-system tests and the demo start, and the
/// library of faults that they preload.
pub(crate) fn binaries() -> Outcome {
    chore::run(&mut chore::command(
        "cargo",
        ["build", "--workspace", "--lib", "--bins"],
    ))
}

/// A command that runs tests. `selection` is what both runners understand:
/// always a whole workspace, narrowed by `--test NAME`, since a narrower one
/// has other features switched on and builds every dependency again. `ignored`
/// adds the tests that need something installed.
pub(crate) fn tests(selection: &[&str], ignored: bool) -> Command {
    let mut command = if tools::nextest() {
        let mut command = chore::command("cargo", ["nextest", "run", "--no-fail-fast"]);
        command.args(selection);
        if ignored {
            command.args(["--run-ignored", "all"]);
        }
        command
    } else {
        println!("   cargo-nextest is not installed, so cargo test runs instead, with less order");
        println!("   in its output (cargo install cargo-nextest --locked would install it)");
        let mut command = chore::command("cargo", ["test", "--no-fail-fast"]);
        command.args(selection);
        if ignored {
            command.args(["--", "--include-ignored"]);
        }
        command
    };
    command.env(BINARIES, workspace::binaries());
    command
}
