//! The matrix: clients of others × servers of others × revisions, each cell a
//! client that really calls a tool of that server through the gateway.
//!
//! In a cell the client connects in the revision, is offered the tool, calls it
//! under an `execution_id`, and calls it again under the same one, which must be
//! told to be a replay. The Inspector's command line makes one request a run and
//! cannot give an `execution_id`, so there it lists and calls.

use std::{fmt::Write as _, path::PathBuf, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::{Foreign, Gateway, Language, LedgerServer, Plan, Revision, Server, binaries};

/// A client, in one revision.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    who: Who,
    revision: Revision,
}

#[derive(Debug, Clone, Copy)]
enum Who {
    Driven(Language),
    Inspector,
}

/// Every client in every revision that it can be made to speak.
const CLIENTS: [Client; 14] = [
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
    Client {
        who: Who::Inspector,
        revision: Revision::November2025,
    },
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
        "the Inspector's command line in other revisions",
        "it is built on the first TypeScript SDK; its second generation cannot be pinned by a lock file that `npm ci` takes",
    ),
];

const fn driven(language: Language, revision: Revision) -> Client {
    Client {
        who: Who::Driven(language),
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
            Who::Inspector => "npm `@modelcontextprotocol/inspector-cli`",
        }
    }
}

/// A server behind the gateway, with the tool that is called.
struct Behind {
    name: &'static str,
    command: Vec<String>,
    revision: Revision,
    tool: &'static str,
    arguments: Value,
    /// What its answer holds.
    says: &'static str,
}

fn node(script: &str, more: &[&str]) -> Vec<String> {
    let folder = binaries::target().join("clients/node");
    let mut command = vec!["node".to_owned(), folder.join(script).display().to_string()];
    command.extend(more.iter().map(|word| (*word).to_owned()));
    command
}

fn python(script: &str) -> Vec<String> {
    let own = binaries::target().join("clients/python/bin/python");
    let script = binaries::root().join("tests/clients/python").join(script);
    [own, script]
        .map(|word| word.display().to_string())
        .to_vec()
}

/// Every server, each in the newest revision that it speaks over stdio.
fn servers(ledger: &LedgerServer) -> Vec<Behind> {
    let modules = "node_modules/@modelcontextprotocol";
    let folder = binaries::root().join("vectors").display().to_string();
    let of = |name, command, revision, tool, arguments, says| Behind {
        name,
        command,
        revision,
        tool,
        arguments,
        says,
    };
    let old = Revision::November2025;
    vec![
        of(
            "npm `server-everything`",
            node(
                &format!("{modules}/server-everything/dist/index.js"),
                &["stdio"],
            ),
            old,
            "echo",
            json!({ "message": "hé" }),
            "Echo: hé",
        ),
        of(
            "npm `server-filesystem`",
            node(
                &format!("{modules}/server-filesystem/dist/index.js"),
                &[&folder],
            ),
            old,
            "list_allowed_directories",
            json!({}),
            "vectors",
        ),
        of(
            "npm `server` (TypeScript SDK)",
            node("server.mjs", &[]),
            old,
            "greet",
            json!({ "name": "Ada" }),
            "Hello, Ada!",
        ),
        of(
            "PyPI `fastmcp`",
            python("server.py"),
            old,
            "add",
            json!({ "a": 2, "b": 3 }),
            "5",
        ),
        of(
            "`rmcp` (the ledger)",
            ledger.command(),
            old,
            "balance",
            json!({ "account": "a" }),
            "a has 0",
        ),
        of(
            "`rmcp` (the ledger), in 2026-07-28",
            ledger.command(),
            Revision::July2026,
            "balance",
            json!({ "account": "a" }),
            "a has 0",
        ),
    ]
}

/// Runs every cell, and answers the page: the table, and what fails.
pub async fn run() -> (String, Vec<String>) {
    let ledger = LedgerServer::stdio();
    let servers = servers(&ledger);
    let mut rows = vec![String::new(); CLIENTS.len()];
    let mut faults = Vec::new();
    for server in &servers {
        let plan = Plan::new(Server::Stdio(server.command.clone()))
            .permit_everything()
            .upstream_revision(server.revision)
            .server_also("connect_timeout_ms = 60000");
        let gateway = plan.start().await;
        for (client, row) in CLIENTS.iter().zip(&mut rows) {
            let told = cell(*client, server, &gateway).await;
            println!(
                "{} {} × {}: {told:?}",
                client.name(),
                client.revision.text(),
                server.name
            );
            match told {
                Ok(()) => row.push_str(" ✓ |"),
                Err(why) => {
                    row.push_str(" ✗ |");
                    faults.push(format!("{client:?} × {}: {why}", server.name));
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
        Who::Inspector => inspect(server, &gateway.url()).await,
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

async fn inspect(server: &Behind, url: &str) -> Result<(), String> {
    let listed = inspector(url, &["--method", "tools/list"]).await?;
    if !listed.contains(server.tool) {
        return Err(format!("it is not offered `{}`: {listed}", server.tool));
    }
    let mut arguments = vec!["--method", "tools/call", "--tool-name", server.tool];
    let given: Vec<String> = server
        .arguments
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            format!(
                "{name}={}",
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            )
        })
        .collect();
    for pair in &given {
        arguments.extend(["--tool-arg", pair]);
    }
    let called = inspector(url, &arguments).await?;
    if called.contains(server.says) {
        Ok(())
    } else {
        Err(called)
    }
}

async fn inspector(url: &str, arguments: &[&str]) -> Result<String, String> {
    let modules = binaries::target().join("clients/node/node_modules");
    let scope = modules.join("@modelcontextprotocol");
    let script: PathBuf = scope.join("inspector-cli/build/cli.js");
    // It asks for the version of the package that it was split from, two folders
    // up, which is not published with it.
    let manifest = r#"{"name":"@modelcontextprotocol/inspector","version":"1.0.3"}"#;
    std::fs::write(scope.join("package.json"), manifest).map_err(|error| error.to_string())?;
    let running = Command::new("node")
        .arg(script)
        .args(["--cli", url, "--transport", "http"])
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(60), running)
        .await
        .map_err(|_| "it did not end".to_owned())?
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(said)
    } else {
        Err(said + &String::from_utf8_lossy(&output.stderr))
    }
}
