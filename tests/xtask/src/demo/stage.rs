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
        let (ledger, said) = start(
            &mut server,
            &folder.join("ledger-server.log"),
            "listening on ",
        )?;
        let folder = folder.to_owned();
        fs::write(
            folder.join("countersign.toml"),
            configuration(&said, "127.0.0.1:0"),
        )?;
        let (gateway, address) = match serve(&folder) {
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
        })
    }

    /// Where the gateway listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
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
        (self.gateway, self.address) = serve(&self.folder)?;
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

fn serve(folder: &Path) -> Outcome<(Child, SocketAddr)> {
    let mut command = binary("countersign");
    command
        .args(["serve", "--config", "countersign.toml"])
        .current_dir(folder);
    let (mut gateway, said) = start(&mut command, &folder.join("gateway.log"), "listening on ")?;
    let address = said
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap_or_default();
    match address.parse() {
        Ok(address) => Ok((gateway, address)),
        Err(error) => {
            gateway.kill()?;
            Err(Failure::new(format!("the gateway said `{said}`: {error}")))
        }
    }
}

/// Starts a process and waits until its log has a line with `what`; answers
/// the rest of that line.
fn start(command: &mut Command, log: &Path, what: &str) -> Outcome<(Child, String)> {
    let output = File::create(log)?;
    command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    let mut process = command
        .spawn()
        .map_err(|error| Failure::new(format!("{command:?} can not be started: {error}")))?;
    let said = wait("a process did not say where it listens", || {
        let said = fs::read_to_string(log)?;
        if let Some(status) = process.try_wait()? {
            return Err(Failure::new(format!("{command:?}: {status}\n{said}")));
        }
        let mut lines = said
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'));
        Ok(lines
            .find_map(|line| line.split_once(what))
            .map(|(_, rest)| rest.trim().to_owned()))
    });
    match said {
        Ok(said) => Ok((process, said)),
        Err(failure) => {
            let _ = process.kill();
            Err(failure)
        }
    }
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
