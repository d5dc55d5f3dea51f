//! The matrix: clients of others × servers of others × revisions, each cell a
//! client that really calls a tool of that server through the gateway.
//!
//! In a cell the client connects in the revision, is offered the tool, calls it
//! under an `execution_id`, and calls it again under the same one, which must be
//! told to be a replay. `servers` are those of others, `inspector` is the one
//! client that is not driven line by line.

mod inspector;
mod servers;

use std::fmt::Write as _;

use crate::{Foreign, Gateway, Language, LedgerServer, Revision};
use inspector::{Generation, inspect};
use servers::Behind;

/// A client, in one revision.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    who: Who,
    revision: Revision,
}

#[derive(Debug, Clone, Copy)]
enum Who {
    Driven(Language),
    Inspector(Generation),
}

/// Every client in every revision that it can be made to speak.
const CLIENTS: [Client; 16] = [
    driven(Language::TypeScriptSdk, Revision::November2025),
    driven(Language::TypeScriptClient, Revision::March2025),
    driven(Language::TypeScriptClient, Revision::June2025),
    driven(Language::TypeScriptClient, Revision::November2025),
    driven(Language::TypeScriptClient, Revision::July2026),
    driven(Language::Python, Revision::November2025),
    driven(Language::Python, Revision::July2026),
    driven(Language::FastMcp, Revision::November2025),
    driven(Language::FastMcp, Revision::July2026),
    driven(Language::Rmcp, Revision::March2025),
    driven(Language::Rmcp, Revision::June2025),
    driven(Language::Rmcp, Revision::November2025),
    driven(Language::Rmcp, Revision::July2026),
    inspector(Generation::First, Revision::November2025),
    inspector(Generation::Second, Revision::November2025),
    inspector(Generation::Second, Revision::July2026),
];

/// What no cell stands for, and why.
const ABSENT: [(&str, &str); 3] = [
    (
        "npm `@modelcontextprotocol/sdk` in 2025-03-26, 2025-06-18 and 2026-07-28",
        "it always asks for its newest revision, 2025-11-25, and has no 2026-07-28",
    ),
    (
        "PyPI `mcp` and `fastmcp` in 2025-03-26 and 2025-06-18",
        "with a handshake they always ask for their newest revision, 2025-11-25",
    ),
    (
        "the Inspector's command line in 2025-03-26 and 2025-06-18",
        "it is built on the TypeScript SDK, asks for the newest revision with a handshake, 2025-11-25, and the second generation for 2026-07-28 where it is told to",
    ),
];

const fn driven(language: Language, revision: Revision) -> Client {
    Client {
        who: Who::Driven(language),
        revision,
    }
}

const fn inspector(generation: Generation, revision: Revision) -> Client {
    Client {
        who: Who::Inspector(generation),
        revision,
    }
}

impl Client {
    fn name(self) -> &'static str {
        match self.who {
            Who::Driven(Language::TypeScriptSdk) => "npm `@modelcontextprotocol/sdk`",
            Who::Driven(Language::TypeScriptClient) => "npm `@modelcontextprotocol/client`",
            Who::Driven(Language::Python) => "PyPI `mcp`",
            Who::Driven(Language::FastMcp) => "PyPI `fastmcp`",
            Who::Driven(Language::Rmcp) => "Rust's `rmcp`",
            Who::Inspector(Generation::First) => "npm `@modelcontextprotocol/inspector-cli`",
            Who::Inspector(Generation::Second) => {
                "npm `@modelcontextprotocol/inspector` (its command line)"
            }
        }
    }
}

/// Runs every cell whose line has `only` in it, and answers the page: the table,
/// and what fails.
pub async fn run(only: &str) -> (String, Vec<String>) {
    let ledger = LedgerServer::stdio();
    let servers = servers::all(&ledger);
    let mut rows = vec![String::new(); CLIENTS.len()];
    let mut faults = Vec::new();
    for server in &servers {
        let line = |client: &Client| {
            let (name, revision) = (client.name(), client.revision.text());
            format!("{name} {revision} × {}", server.name)
        };
        if !CLIENTS.iter().any(|client| line(client).contains(only)) {
            continue;
        }
        let (plan, _listening) = server.plan().await;
        let gateway = plan.start().await;
        for (client, row) in CLIENTS.iter().zip(&mut rows) {
            let line = line(client);
            if !line.contains(only) {
                continue;
            }
            let told = cell(*client, server, &gateway).await;
            println!("{line}: {told:?}");
            match told {
                Ok(()) => row.push_str(" ✓ |"),
                Err(why) => {
                    row.push_str(" ✗ |");
                    faults.push(format!("{line}: {why}"));
                }
            }
        }
    }
    (page(&servers, &rows), faults)
}

fn page(servers: &[Behind], rows: &[String]) -> String {
    let mut page = String::from("| client | revision |");
    for server in servers {
        let _ = write!(page, " {} |", server.name);
    }
    let _ = writeln!(page, "\n|---|---|{}", "---|".repeat(servers.len()));
    for (client, row) in CLIENTS.iter().zip(rows) {
        let _ = writeln!(
            page,
            "| {} | {} |{row}",
            client.name(),
            client.revision.text()
        );
    }
    page.push_str("\nThere is no cell for\n\n");
    for (what, why) in ABSENT {
        let _ = writeln!(page, "- {what}: {why}.");
    }
    page
}

async fn cell(client: Client, server: &Behind, gateway: &Gateway) -> Result<(), String> {
    match client.who {
        Who::Inspector(generation) => {
            inspect(generation, client.revision, server, &gateway.url()).await
        }
        Who::Driven(language) => {
            let (url, revision) = (gateway.url(), client.revision);
            let (tool, arguments, says) = (server.tool, server.arguments.clone(), server.says);
            let id = format!("{language:?}-{}", revision.text());
            let driving = async move {
                let mut foreign = Foreign::connect(language, &url, revision, None).await;
                assert_eq!(foreign.negotiated(), revision.text(), "another revision");
                let tools = foreign.tools().await;
                assert!(tools.iter().any(|name| name == tool), "{tools:?}");
                let called = foreign.call(tool, &arguments, Some(&id)).await;
                let text = called["result"].to_string();
                assert!(text.contains(says), "{called}");
                assert_eq!(
                    called["result"]["_meta"]["countersign.dev/receipt"]["execution_id"], id,
                    "{called}"
                );
                let again = foreign.call(tool, &arguments, Some(&id)).await;
                assert_eq!(again["error"]["data"]["code"], "replay", "{again}");
            };
            // Equipment fails by panicking; here that fails one cell.
            tokio::spawn(driving)
                .await
                .map_err(|_| "the client did not get what it should; see above".to_owned())
        }
    }
}
