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

use crate::{
    Client, LedgerServer, Revision, SERVER, Upstream, binaries, environment, process::Process,
};

/// A server behind the gateway.
#[derive(Debug, Clone)]
pub enum Server {
    /// One that listens at a URL.
    Http(String),
    /// One that the gateway spawns.
    Stdio(Vec<String>),
}

impl Server {
    /// A ledger server that listens.
    #[must_use]
    pub fn listening(server: &LedgerServer) -> Self {
        Self::Http(server.url().to_owned())
    }

    /// A ledger server for the gateway to spawn.
    #[must_use]
    pub fn spawned(server: &LedgerServer) -> Self {
        Self::Stdio(server.command())
    }

    /// An upstream of single bytes.
    #[must_use]
    pub fn bytes(upstream: &Upstream) -> Self {
        Self::Http(upstream.url().to_owned())
    }

    fn keys(&self) -> String {
        match self {
            Self::Http(url) => format!("url = {url:?}\n"),
            Self::Stdio(command) => format!("command = {command:?}\n"),
        }
    }
}

/// What a gateway is to be started with.
#[derive(Debug, Clone)]
pub struct Plan {
    server: Server,
    policies: PathBuf,
    profile: &'static str,
    revision: Option<Revision>,
    more: String,
    server_more: String,
    agents: Vec<(String, String)>,
    preload: Option<(PathBuf, PathBuf)>,
    variables: Vec<(String, String)>,
    program: Option<PathBuf>,
}

impl Plan {
    /// One server, named [`SERVER`]; open identity, the profile
    /// `exact@1.0.0` and the policies of the demo.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self {
            server,
            policies: binaries::root().join("policies/demo"),
            profile: "exact@1.0.0",
            revision: None,
            more: String::new(),
            server_more: String::new(),
            agents: Vec::new(),
            preload: None,
            variables: Vec::new(),
            program: None,
        }
    }

    /// Another build of the program than the one that tests have.
    #[must_use]
    pub fn program(self, program: PathBuf) -> Self {
        Self {
            program: Some(program),
            ..self
        }
    }

    /// Known to the gateway: these subjects, by these tokens, and nobody else.
    #[must_use]
    pub fn agents(self, agents: &[(String, String)]) -> Self {
        Self {
            agents: agents.to_vec(),
            ..self
        }
    }

    /// With a library preloaded, and the file by which it is switched, in the
    /// gateway's folder.
    #[must_use]
    pub fn preload(self, library: PathBuf, control: PathBuf) -> Self {
        Self {
            preload: Some((library, control)),
            ..self
        }
    }

    /// With a variable in the environment of all that runs in its folder.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Under another profile.
    #[must_use]
    pub fn profile(self, profile: &'static str) -> Self {
        Self { profile, ..self }
    }

    /// With the policies of this folder instead of the demo's.
    #[must_use]
    pub fn policies(self, policies: PathBuf) -> Self {
        Self { policies, ..self }
    }

    /// With a policy that permits everything, instead of the demo's.
    #[must_use]
    pub fn permit_everything(self) -> Self {
        Self {
            policies: PathBuf::from("permit-everything"),
            ..self
        }
    }

    /// Speaking this revision to the server.
    #[must_use]
    pub fn upstream_revision(self, revision: Revision) -> Self {
        Self {
            revision: Some(revision),
            ..self
        }
    }

    /// With more sections of the configuration file, as text.
    #[must_use]
    pub fn also(self, sections: &str) -> Self {
        Self {
            more: format!("{}{sections}\n", self.more),
            ..self
        }
    }

    /// With more keys of the server, as text.
    #[must_use]
    pub fn server_also(self, keys: &str) -> Self {
        Self {
            server_more: format!("{}{keys}\n", self.server_more),
            ..self
        }
    }

    /// Starts it in a new folder.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub async fn start(&self) -> Gateway {
        let mut gateway = self.prepare();
        gateway.start().await;
        gateway
    }

    /// Configures it in a new folder, and starts nothing.
    ///
    /// # Panics
    ///
    /// When there is no room.
    #[must_use]
    pub fn prepare(&self) -> Gateway {
        let folder = tempfile::tempdir().unwrap();
        let policies = folder.path().join("permit-everything");
        fs::create_dir(&policies).unwrap();
        let permit = "@id(\"everything\") permit (principal, action, resource);\n";
        fs::write(policies.join("default.cedar"), permit).unwrap();
        let gateway = Gateway {
            folder,
            plan: self.clone(),
            process: None,
            address: String::new(),
            key: String::new(),
        };
        let mut tokens = String::new();
        for (subject, token) in &self.agents {
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

    fn text(&self, listen: &str) -> String {
        let mut text = format!("listen = {listen:?}\n");
        // Compiled components are shared by all tests of this build.
        let cache = binaries::target().join("tests-profile-cache");
        let Self {
            policies, profile, ..
        } = self;
        let identity = if self.agents.is_empty() {
            "mode = \"open\""
        } else {
            "mode = \"tokens\"\ntokens = \"tokens.toml\""
        };
        let _ = write!(
            text,
            "[identity]\n{identity}\n[policy]\nfolder = {policies:?}\n\
             [profile]\ndefault = {profile:?}\ncache = {cache:?}\n"
        );
        text.push_str(&self.more);
        let _ = write!(
            text,
            "[[server]]\nname = {SERVER:?}\n{}",
            self.server.keys()
        );
        if let Some(revision) = self.revision {
            let _ = writeln!(text, "revision = {:?}", revision.text());
        }
        text.push_str(&self.server_more);
        text
    }
}

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
