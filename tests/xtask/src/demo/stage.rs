//! The processes on stage: the ledger server and the gateway in front of it.
//!
//! Each runs in a process group of its own, so that Ctrl-C reaches only the
//! demo, which then ends them in order: the gateway first.

use std::{
    fs::{self, File},
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    chore::{Failure, Outcome},
    demo::{Stop, http::Call},
    workspace,
};

/// How often a process or a file is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How often that is done before the demo gives up: 30 s.
const LOOKS: u32 = 1500;

/// Where the gateway serves the ledger server's tools.
pub(crate) const PATH: &str = "/mcp/ledger";

/// Both processes, and the folder with their files.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: PathBuf,
    stop: Stop,
    ledger: Child,
    gateway: Child,
    address: SocketAddr,
    key: String,
}

impl Stage {
    /// Empties the folder and starts both.
    pub(crate) fn set(folder: &Path, stop: Stop) -> Outcome<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let mut server = binary("countersign-ledger-server");
        server.arg("--journal").arg(folder.join("journal"));
        let log = folder.join("ledger-server.log");
        let mut ledger = start(&mut server, &log)?;
        let said = said(&mut ledger, &log, "listening on ")?;
        let folder = folder.to_owned();
        fs::write(
            folder.join("countersign.toml"),
            configuration(&said, "127.0.0.1:0"),
        )?;
        let (gateway, address, key) = match serve(&folder) {
            Ok(serving) => serving,
            Err(failure) => {
                end(ledger)?;
                return Err(failure);
            }
        };
        // A restarted gateway has to be found where it was.
        fs::write(
            folder.join("countersign.toml"),
            configuration(&said, &address.to_string()),
        )?;
        Ok(Self {
            folder,
            stop,
            ledger,
            gateway,
            address,
            key,
        })
    }

    /// Where the gateway listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key that verifies the gateway's log, as it printed it.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// A file of the demo.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Sends a call through the gateway and waits for its answer.
    pub(crate) fn call(&self, call: &Call) -> Outcome<Value> {
        self.stop.check()?;
        call.send(self.address, PATH)
    }

    /// The lines of the ledger server's journal.
    pub(crate) fn effects(&self) -> usize {
        let journal = fs::read_to_string(self.folder.join("journal"));
        journal
            .map(|journal| journal.lines().count())
            .unwrap_or_default()
    }

    /// Waits until the journal has that many lines.
    pub(crate) fn wait_for_effects(&self, count: usize) -> Outcome {
        wait("the ledger server did not get the call", || {
            Ok((self.effects() >= count).then_some(()))
        })
    }

    /// Kills the gateway as `kill -9` does, and starts it again.
    pub(crate) fn kill_gateway_and_restart(&mut self) -> Outcome {
        self.gateway.kill()?;
        self.gateway.wait()?;
        (self.gateway, self.address, self.key) = serve(&self.folder)?;
        Ok(())
    }

    /// Runs the gateway's command line in the folder and waits for it.
    pub(crate) fn countersign(&self, arguments: &[&str]) -> Outcome<Output> {
        self.stop.check()?;
        Ok(binary("countersign")
            .args(arguments)
            .current_dir(&self.folder)
            .output()?)
    }

    /// Fails when a process is gone.
    pub(crate) fn still_runs(&mut self) -> Outcome {
        for (name, process) in [
            ("gateway", &mut self.gateway),
            ("ledger server", &mut self.ledger),
        ] {
            if let Some(status) = process.try_wait()? {
                let folder = self.folder.display();
                return Err(Failure::new(format!(
                    "the {name} ended: {status}; its log is in {folder}"
                )));
            }
        }
        Ok(())
    }

    /// Ends both in order; fails when the gateway does not end cleanly.
    pub(crate) fn strike(self) -> Outcome {
        let gateway = end(self.gateway)?;
        end(self.ledger)?;
        println!("The gateway and the ledger server have ended ({gateway}).");
        if gateway.success() {
            Ok(())
        } else {
            Err(Failure::new("the gateway did not end cleanly"))
        }
    }
}

/// The gateway's configuration, as short as it can be.
fn configuration(upstream: &str, listen: &str) -> String {
    let policies = workspace::root().join("policies/demo");
    format!(
        r#"# One MCP server behind the gateway, everything else by default.
listen = "{listen}"

[identity]
mode = "open"                   # any client on this machine is the same agent

[policy]
folder = "{}"

[[server]]
name = "ledger"
url = "{upstream}"
"#,
        policies.display()
    )
}

/// Starts the gateway; answers where it listens and the key of its log.
fn serve(folder: &Path) -> Outcome<(Child, SocketAddr, String)> {
    let mut command = binary("countersign");
    command.args(["serve", "--config", "countersign.toml"]);
    let log = folder.join("gateway.log");
    let mut gateway = start(command.current_dir(folder), &log)?;
    let told = said(&mut gateway, &log, "listening on http://").and_then(|address| {
        let key = said(&mut gateway, &log, "log key ")?;
        Ok((address.parse()?, key))
    });
    match told {
        Ok((address, key)) => Ok((gateway, address, key)),
        Err(failure) => {
            let _ = gateway.kill();
            Err(failure)
        }
    }
}

/// Starts a process that writes to a log of its own.
fn start(command: &mut Command, log: &Path) -> Outcome<Child> {
    let output = File::create(log)?;
    command.process_group(0).stdin(Stdio::null());
    command.stdout(output.try_clone()?).stderr(output);
    command
        .spawn()
        .map_err(|error| Failure::new(format!("{command:?} can not be started: {error}")))
}

/// Waits until a process has said `what` in its log; answers the rest of that
/// line.
fn said(process: &mut Child, log: &Path, what: &str) -> Outcome<String> {
    wait("a process did not say where it listens", || {
        let said = fs::read_to_string(log)?;
        if let Some(status) = process.try_wait()? {
            return Err(Failure::new(format!("a process ended ({status}):\n{said}")));
        }
        let lines = said.split_inclusive('\n');
        let mut complete = lines.filter_map(|line| line.strip_suffix('\n'));
        let found = complete.find_map(|line| line.split_once(what));
        Ok(found.map(|(_, rest)| rest.trim().to_owned()))
    })
}

/// Looks until there is something, or fails with `otherwise`.
fn wait<T>(otherwise: &str, mut look: impl FnMut() -> Outcome<Option<T>>) -> Outcome<T> {
    for _ in 0..LOOKS {
        if let Some(found) = look()? {
            return Ok(found);
        }
        thread::sleep(LOOK);
    }
    Err(Failure::new(otherwise))
}

/// Asks a process to end as `kill` does, and waits for it.
fn end(mut process: Child) -> Outcome<ExitStatus> {
    Command::new("kill")
        .args(["-TERM", &process.id().to_string()])
        .status()?;
    let ended = wait("a process did not end", || Ok(process.try_wait()?));
    if ended.is_err() {
        process.kill()?;
    }
    ended
}

fn binary(name: &str) -> Command {
    Command::new(workspace::binaries().join(name))
}
