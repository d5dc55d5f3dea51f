//! What a gateway is to be started with.

use std::{fmt::Write as _, path::PathBuf};

use crate::{Gateway, LedgerServer, Revision, SERVER, Upstream, binaries};

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
    pub(crate) agents: Vec<(String, String)>,
    pub(crate) preload: Option<(PathBuf, PathBuf)>,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) program: Option<PathBuf>,
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
        Gateway::configured(self)
    }

    /// The configuration of one that listens there.
    pub(crate) fn text(&self, listen: &str) -> String {
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
