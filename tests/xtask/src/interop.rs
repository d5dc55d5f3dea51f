//! `cargo xtask interop`: foreign clients and servers through the gateway.

use crate::{
    chore::{self, Outcome},
    nextest, tools, workspace,
};

/// Official Python and TypeScript clients, and npm's everything server
///
/// Installs the pinned clients of tests/clients under target/clients (Python's
/// `mcp`; npm's `@modelcontextprotocol/sdk`, `@modelcontextprotocol/client` and
/// `@modelcontextprotocol/server-everything`), then runs
/// tests/tests/foreign_clients.rs: each client calls tools on the ledger server
/// and on the everything server through Countersign, in the revisions that it
/// negotiates.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only install the clients
    #[arg(long)]
    install: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    install()?;
    if arguments.install {
        return Ok(());
    }
    nextest::binaries()?;
    tests()
}

/// Installs the clients; nothing is done when they are there already.
pub(crate) fn install() -> Outcome {
    let clients = workspace::root().join("tests/clients");
    tools::python_packages("python", &clients.join("python/requirements.txt"))?;
    tools::node_packages("node", &clients.join("node"))?;
    Ok(())
}

/// Runs the tests that need the clients.
pub(crate) fn tests() -> Outcome {
    let selection = ["--workspace", "--test", "foreign_clients"];
    chore::run(&mut nextest::tests(&selection, true))
}
