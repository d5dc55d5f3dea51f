//! The official clients in other languages, driven line by line.
//!
//! They are installed by `cargo xtask interop --install` under the build
//! folder; the programs that drive them are in `tests/clients`.

use std::{path::PathBuf, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{Revision, binaries};

/// How long a client may take for one step, its start included.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which official client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// The Python `mcp` package.
    Python,
    /// The first TypeScript SDK, `@modelcontextprotocol/sdk`.
    TypeScriptSdk,
    /// The second TypeScript client, `@modelcontextprotocol/client`.
    TypeScriptClient,
    /// Python's `fastmcp`.
    FastMcp,
    /// Rust's `rmcp`.
    Rmcp,
}

/// A running client, connected.
#[derive(Debug)]
pub struct Foreign {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    negotiated: String,
}

impl Foreign {
    /// Starts one and connects it.
    ///
    /// # Panics
    ///
    /// When it isn't installed, or does not connect.
    pub async fn connect(
        language: Language,
        url: &str,
        revision: Revision,
        token: Option<&str>,
    ) -> Self {
        let (program, script) = language.program();
        let installed = script.as_ref().is_none_or(|script| script.exists());
        assert!(installed, "run `cargo xtask interop --install` first");
        let mut child = Command::new(program)
            .args(script)
            .args(["--url", url, "--revision", revision.text()])
            .args(token.iter().flat_map(|token| ["--token", token]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the client can be started");
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut client = Self {
            _child: child,
            input,
            output,
            negotiated: String::new(),
        };
        let greeting = client.line().await;
        greeting["negotiated"]
            .as_str()
            .unwrap()
            .clone_into(&mut client.negotiated);
        client
    }

    /// The revision that client and server agreed on.
    #[must_use]
    pub fn negotiated(&self) -> &str {
        &self.negotiated
    }

    /// The names of the tools it is offered.
    ///
    /// # Panics
    ///
    /// When it is not told any.
    pub async fn tools(&mut self) -> Vec<String> {
        let told = self.step(&json!({ "list": true })).await;
        serde_json::from_value(told["tools"].clone()).unwrap_or_else(|_| panic!("{told}"))
    }

    /// Calls a tool; answers `{"result": …}` or `{"error": …}`.
    pub async fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        execution_id: Option<&str>,
    ) -> Value {
        let mut step = json!({ "call": tool, "arguments": arguments });
        if let Some(id) = execution_id {
            step["meta"] = json!({ "countersign.dev/execution_id": id });
        }
        self.step(&step).await
    }

    async fn step(&mut self, step: &Value) -> Value {
        self.input
            .write_all(format!("{step}\n").as_bytes())
            .await
            .unwrap();
        self.line().await
    }

    async fn line(&mut self) -> Value {
        let line = timeout(PATIENCE, self.output.next_line())
            .await
            .expect("a line in time");
        let line = line
            .unwrap()
            .expect("the client ended; its standard error says why");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Language {
    /// The interpreter and the program it runs, or a program of its own.
    fn program(self) -> (PathBuf, Option<PathBuf>) {
        let installed = binaries::target().join("clients");
        let node = |script| {
            let script = installed.join("node").join(script);
            (PathBuf::from("node"), Some(script))
        };
        let python = |script| {
            let scripts = binaries::root().join("tests/clients/python");
            let python = installed.join("python/bin/python");
            (python, Some(scripts.join(script)))
        };
        match self {
            Self::Python => python("client.py"),
            Self::FastMcp => python("fastmcp_client.py"),
            Self::TypeScriptSdk => node("sdk.mjs"),
            Self::TypeScriptClient => node("client.mjs"),
            Self::Rmcp => (binaries::rmcp_client(), None),
        }
    }
}

/// The command that runs npm's everything server over stdio, as installed.
#[must_use]
pub fn everything_server() -> Vec<String> {
    let modules = binaries::target().join("clients/node/node_modules");
    let script = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    vec![
        "node".to_owned(),
        script.display().to_string(),
        "stdio".to_owned(),
    ]
}
