//! The official conformance suite and the matrix of foreign clients and servers;
//! prints both and, where it is told to, writes the page that holds them.

use std::process::ExitCode;

use countersign_tests::conformance::{Compared, ConformanceServer};
use countersign_tests::{Revision, interop};

const HEAD: &str = "\
# Interoperability

Written by `cargo xtask interop`, which ran every line of it. The versions are pinned in `tests/clients`.

## The official conformance suite

npm's `@modelcontextprotocol/conformance`, every server scenario of every revision that it knows, against a server on
`rmcp` (`tests/conformance-server`), directly and through the gateway. Checks that pass / warn / fail:

";

const MATRIX: &str = "\
## Clients × servers

In each cell the client really connects through the gateway in that revision, is offered a tool, calls it under an
`execution_id`, and is told `replay` when it calls again. The Inspector's command line makes one request a run, and its
first generation gives no `execution_id`: it lists and calls. The gateway spawns the servers and speaks stdio and
2025-11-25 with them unless the column says otherwise.

";

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let file = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--write"), Some(file)) => Some(file),
        (Some("--only"), Some(text)) => return only(&text).await,
        (None, _) => None,
        _ => {
            eprintln!("Usage: interop [--write FILE | --only TEXT]");
            return ExitCode::from(2);
        }
    };
    let mut page = HEAD.to_owned();
    let mut faults = Vec::new();
    page.push_str("| revision | scenario | directly | through the gateway |\n|---|---|---|---|\n");
    let server = ConformanceServer::start().await;
    for revision in Revision::ALL {
        let compared = Compared::run(&server, revision).await;
        page.push_str(&compared.table());
        faults.extend(compared.faults());
    }
    page.push_str("\nThese come out otherwise, and none of them fails:\n\n");
    page.push_str(&Compared::notes());
    page.push('\n');
    page.push_str(MATRIX);
    let (matrix, failed) = interop::run("").await;
    page.push_str(&matrix);
    faults.extend(failed);
    println!("{page}");
    for fault in &faults {
        println!("✗ {fault}");
    }
    if let Some(file) = file {
        match std::fs::write(&file, page) {
            Ok(()) => println!("written: {file}"),
            Err(error) => faults.push(format!("`{file}` can not be written: {error}")),
        }
    }
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The cells with that text in their lines, and nothing else.
async fn only(text: &str) -> ExitCode {
    let (_, failed) = interop::run(text).await;
    for fault in &failed {
        println!("✗ {fault}");
    }
    ExitCode::from(u8::from(!failed.is_empty()))
}
