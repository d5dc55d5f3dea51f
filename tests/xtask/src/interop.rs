//! `cargo xtask interop`: foreign clients and servers through the gateway.

use crate::{
    chore::{self, Outcome},
    nextest, tools, workspace,
};

/// The official conformance suite, and clients and servers of others
///
/// Installs what tests/clients pins under target/clients, then runs the official
/// suite against a server of ours directly and through the gateway, check by
/// check, and the matrix of foreign clients × servers × revisions, and writes
/// docs/interop.md. Last it runs tests/tests/foreign_clients.rs, in which each
/// client is told about repeats, collisions and denials.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only install the clients
    #[arg(long)]
    install: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    install()?;
    let inspector = workspace::root().join("tests/clients/inspector");
    tools::node_packages("inspector", &inspector)?;
    if arguments.install {
        return Ok(());
    }
    nextest::binaries()?;
    let mut command = chore::command(workspace::binaries().join("interop"), [""; 0]);
    command.env("COUNTERSIGN_BINARIES", workspace::binaries());
    chore::run(command.args(["--write", "docs/interop.md"]))?;
    tests()
}

/// Installs the clients that tests need; nothing is done when they are there
/// already.
pub(crate) fn install() -> Outcome {
    let clients = workspace::root().join("tests/clients");
    tools::python_packages("python", &clients.join("python/requirements.txt"))?;
    tools::node_packages("node", &clients.join("node"))?;
    Ok(())
}

/// Runs the tests that need the clients.
pub(crate) fn tests() -> Outcome {
    let selection = [
        "--workspace",
        "--test",
        "foreign_clients",
        "--test",
        "conformance",
    ];
    chore::run(&mut nextest::tests(&selection, true))
}
