//! The gateway as a process: configured, started, killed, started again on the
//! same store, and asked for its evidence.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::{Client, LedgerServer, Revision, SERVER, Upstream, binaries, process::Process};

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
        }
    }

    /// Under another profile.
    #[must_use]
    pub fn profile(self, profile: &'static str) -> Self {
        Self { profile, ..self }
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
        let folder = tempfile::tempdir().unwrap();
        let policies = folder.path().join("permit-everything");
        fs::create_dir(&policies).unwrap();
        let permit = "@id(\"everything\") permit (principal, action, resource);\n";
        fs::write(policies.join("default.cedar"), permit).unwrap();
        let mut gateway = Gateway {
            folder,
            plan: self.clone(),
            process: None,
            address: String::new(),
            key: String::new(),
        };
        gateway.configure("127.0.0.1:0");
        gateway.start().await;
        gateway
    }

    fn text(&self, listen: &str) -> String {
        let mut text = format!("listen = {listen:?}\n");
        // Compiled components are shared by all tests of this build.
        let cache = binaries::target().join("tests-profile-cache");
        let Self {
            policies, profile, ..
        } = self;
        let _ = write!(
            text,
            "[identity]\nmode = \"open\"\n[policy]\nfolder = {policies:?}\n\
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
        self.kill();
        let from = self.log().len();
        let mut command = self.command(&["serve", "--config", "countersign.toml"]);
        let mut process = Process::start(&mut command, self.folder().join("log"));
        let said = process.says("listening on http://", from).await;
        self.key = process.says("log key ", from).await;
        self.process = Some(process);
        said.clone_into(&mut self.address);
        self.configure(&self.address);
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

    /// Exports everything into a bundle and answers its path.
    ///
    /// # Panics
    ///
    /// When that fails.
    #[must_use]
    pub fn export(&self) -> PathBuf {
        let bundle = self.folder().join("bundle.tar");
        let _ = fs::remove_file(&bundle);
        let done = self.run(&[
            "audit",
            "export",
            "--config",
            "countersign.toml",
            "--output",
            "bundle.tar",
        ]);
        assert!(done.status.success(), "{}", said(&done));
        bundle
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binaries::countersign());
        command.args(arguments).current_dir(self.folder());
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
