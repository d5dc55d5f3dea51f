//! The gateway as a process: configured, started, killed, started again on the
//! same store, and asked for its evidence.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use crate::{Client, Plan, Revision, SERVER, binaries, environment, process::Process};

/// A gateway with a store of its own.
#[derive(Debug)]
pub struct Gateway {
    folder: TempDir,
    plan: Plan,
    process: Option<Process>,
    address: String,
    key: String,
}

impl Gateway {
    /// Configures one in a new folder, and starts nothing.
    pub(crate) fn configured(plan: &Plan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let policies = folder.path().join("permit-everything");
        fs::create_dir(&policies).unwrap();
        let permit = "@id(\"everything\") permit (principal, action, resource);\n";
        fs::write(policies.join("default.cedar"), permit).unwrap();
        let gateway = Self {
            folder,
            plan: plan.clone(),
            process: None,
            address: String::new(),
            key: String::new(),
        };
        let mut tokens = String::new();
        for (subject, token) in &plan.agents {
            let hash = countersign_canon::Digest::of(&[token.as_bytes()]);
            let _ = write!(
                tokens,
                "[[agent]]\nsubject = {subject:?}\ntoken = \"{hash}\"\nadded = \"\"\n"
            );
        }
        fs::write(gateway.folder().join("tokens.toml"), tokens).unwrap();
        gateway.configure("127.0.0.1:0");
        gateway
    }

    /// Where clients connect to the server behind it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp/{SERVER}", self.address)
    }

    /// A connected client.
    pub async fn client(&self, revision: Revision) -> Client {
        Client::connect(&self.url(), revision, None).await
    }

    /// The key that verifies its log, as it printed it.
    #[must_use]
    pub fn public_key(&self) -> String {
        self.key.clone()
    }

    /// Its folder, where the configuration and the store are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where its numbers are asked for, `HOST:PORT`, where it listens for that.
    #[must_use]
    pub fn numbers(&self) -> Option<String> {
        let log = self.log();
        let (_, rest) = log.rsplit_once("numbers on http://")?;
        Some(rest.split_once("/metrics")?.0.to_owned())
    }

    /// Everything that it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Asks it to end, waits, and answers whether it ended cleanly.
    pub async fn stop(&mut self) -> bool {
        match self.process.take() {
            Some(process) => process.terminate().await.success(),
            None => false,
        }
    }

    /// Starts it (again) on the same store and the same address.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub async fn start(&mut self) {
        self.try_start().await.expect("it starts");
    }

    /// The same, where it may end instead of starting.
    ///
    /// # Errors
    ///
    /// What it said before it ended.
    pub async fn try_start(&mut self) -> Result<(), String> {
        let from = self.spawn();
        self.listening(from).await
    }

    /// Starts its process, and does not wait until it listens; answers how long
    /// its log was before.
    pub fn spawn(&mut self) -> usize {
        self.kill();
        let from = self.log().len();
        let mut command = self.command(&["serve", "--config", "countersign.toml"]);
        if let Some((library, control)) = &self.plan.preload {
            command.env("LD_PRELOAD", library);
            command.env("COUNTERSIGN_FAULTS", control);
        }
        let log = self.folder().join("log");
        self.process = Some(Process::start(&mut command, log));
        from
    }

    /// Waits until the process that was spawned listens.
    ///
    /// # Errors
    ///
    /// What it said before it ended.
    ///
    /// # Panics
    ///
    /// When none was spawned.
    pub async fn listening(&mut self, from: usize) -> Result<(), String> {
        let process = self.process.as_mut().expect("a process was spawned");
        let said = process.says_or_ends("listening on http://", from).await?;
        self.key = process.says_or_ends("log key ", from).await?;
        said.clone_into(&mut self.address);
        self.configure(&self.address);
        Ok(())
    }

    /// Lets it listen on any free port when it starts the next time.
    pub fn move_elsewhere(&self) {
        self.configure("127.0.0.1:0");
    }

    /// Gives a variable of its environment another value, from the next start on.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        let variables = &mut self.plan.variables;
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value.to_owned()));
    }

    /// The number of its process, where it runs.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Whether its process has ended by itself, or was killed; how.
    pub fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.process.as_mut().and_then(Process::ended)
    }

    /// Where it listens, `HOST:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Runs the command line in its folder, and waits for it.
    ///
    /// # Panics
    ///
    /// When it can't be started.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the command to its end, or ends it when `most` has gone by: then
    /// there is no output.
    #[must_use]
    pub fn run_for(&self, arguments: &[&str], most: Duration) -> Option<Output> {
        let mut command = self.command(arguments);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = environment::now();
        while child.try_wait().unwrap().is_none() {
            if began.elapsed() >= most {
                child.kill().unwrap();
                child.wait().unwrap();
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(child.wait_with_output().unwrap())
    }

    /// Exports everything into a bundle and answers its path, where that is
    /// possible right now.
    ///
    /// # Errors
    ///
    /// What it said instead.
    pub fn try_export(&self) -> Result<PathBuf, String> {
        let bundle = self.folder().join("bundle.tar");
        let _ = fs::remove_file(&bundle);
        let config = ["--config", "countersign.toml"];
        let output = ["--output", "bundle.tar"];
        let done = self.run(&[&["audit", "export"], &config[..], &output[..]].concat());
        if done.status.success() {
            Ok(bundle)
        } else {
            Err(said(&done))
        }
    }

    /// Exports everything into a bundle and answers its path.
    ///
    /// # Panics
    ///
    /// When that fails.
    #[must_use]
    pub fn export(&self) -> PathBuf {
        self.try_export().unwrap_or_else(|said| panic!("{said}"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let own = self.plan.program.clone();
        let mut command = Command::new(own.unwrap_or_else(binaries::countersign));
        command.args(arguments).current_dir(self.folder());
        let variables = self.plan.variables.iter();
        command.envs(variables.map(|(name, value)| (name, value)));
        command
    }

    fn configure(&self, listen: &str) {
        fs::write(
            self.folder().join("countersign.toml"),
            self.plan.text(listen),
        )
        .unwrap();
    }
}

/// Everything that a command said, for a test that fails.
#[must_use]
pub fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "{}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    )
}
