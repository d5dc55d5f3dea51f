//! The servers of others that stand behind the gateway.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{LedgerServer, Plan, Revision, Server, binaries, process::Process};

/// A server behind the gateway, with the tool that is called.
pub(super) struct Behind {
    pub(super) name: &'static str,
    at: At,
    revision: Revision,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// What its answer holds.
    pub(super) says: &'static str,
}

enum At {
    /// The gateway spawns it.
    Stdio(Vec<String>),
    /// It listens once it was started, and says where.
    Http(Vec<String>),
}

/// A process that listens, with the folder of its log.
pub(super) struct Listening(#[expect(dead_code, reason = "held")] Option<(Process, TempDir)>);

impl Behind {
    /// What the gateway in front of it is made of, and what must be held
    /// meanwhile.
    pub(super) async fn plan(&self) -> (Plan, Listening) {
        let (server, listening) = match &self.at {
            At::Stdio(command) => (Server::Stdio(command.clone()), None),
            At::Http(command) => {
                let folder = tempfile::tempdir().unwrap();
                let (program, arguments) = command.split_first().unwrap();
                let mut starting = Command::new(program);
                starting.args(arguments);
                let mut process = Process::start(&mut starting, folder.path().join("log"));
                let url = process.says("listening on ", 0).await;
                (Server::Http(url), Some((process, folder)))
            }
        };
        let plan = Plan::new(server)
            .permit_everything()
            .upstream_revision(self.revision)
            .server_also("connect_timeout_ms = 60000");
        (plan, Listening(listening))
    }
}

fn node(script: &str, more: &[&str]) -> Vec<String> {
    let folder = binaries::target().join("clients/node");
    let mut command = vec!["node".to_owned(), folder.join(script).display().to_string()];
    command.extend(more.iter().map(|word| (*word).to_owned()));
    command
}

fn python(script: &str, more: &[&str]) -> Vec<String> {
    let own = binaries::target().join("clients/python/bin/python");
    let script = binaries::root().join("tests/clients/python").join(script);
    let mut command = [own, script]
        .map(|word| word.display().to_string())
        .to_vec();
    command.extend(more.iter().map(|word| (*word).to_owned()));
    command
}

/// Every server; over stdio in the newest revision that the gateway speaks with
/// it there, over HTTP in each that it was made for.
pub(super) fn all(ledger: &LedgerServer) -> Vec<Behind> {
    let modules = "node_modules/@modelcontextprotocol";
    let folder = binaries::root().join("vectors").display().to_string();
    let of = |name, at, revision, tool, arguments, says| Behind {
        name,
        at,
        revision,
        tool,
        arguments,
        says,
    };
    let (old, new) = (Revision::November2025, Revision::July2026);
    let everything = format!("{modules}/server-everything/dist/index.js");
    let filesystem = format!("{modules}/server-filesystem/dist/index.js");
    let greet = |name, at, revision| {
        let arguments = json!({ "name": "Ada" });
        of(name, at, revision, "greet", arguments, "Hello, Ada!")
    };
    let add = |name, at, revision| of(name, at, revision, "add", json!({ "a": 2, "b": 3 }), "5");
    let balance = |name, revision| {
        let (at, arguments) = (At::Stdio(ledger.command()), json!({ "account": "a" }));
        of(name, at, revision, "balance", arguments, "a has 0")
    };
    let first = || At::Http(node("sdk_server_http.mjs", &[]));
    let second = || At::Http(node("server_http.mjs", &[]));
    let fastmcp = || At::Http(python("server.py", &["--http"]));
    vec![
        of(
            "npm `server-everything`",
            At::Stdio(node(&everything, &["stdio"])),
            old,
            "echo",
            json!({ "message": "hé" }),
            "Echo: hé",
        ),
        of(
            "npm `server-filesystem`",
            At::Stdio(node(&filesystem, &[&folder])),
            old,
            "list_allowed_directories",
            json!({}),
            "vectors",
        ),
        greet(
            "npm `server` (TypeScript SDK)",
            At::Stdio(node("server.mjs", &[])),
            old,
        ),
        greet(
            "npm `sdk` (TypeScript SDK, the first) over HTTP",
            first(),
            old,
        ),
        greet("npm `server` (TypeScript SDK) over HTTP", second(), old),
        greet(
            "npm `server` (TypeScript SDK) over HTTP, in 2026-07-28",
            second(),
            new,
        ),
        add("PyPI `fastmcp`", At::Stdio(python("server.py", &[])), old),
        add("PyPI `fastmcp` over HTTP", fastmcp(), old),
        add("PyPI `fastmcp` over HTTP, in 2026-07-28", fastmcp(), new),
        balance("`rmcp` (the ledger)", old),
        balance("`rmcp` (the ledger), in 2026-07-28", new),
    ]
}
