//! What an operator configures, read once and valid from then on.
//!
//! `file` is the shape of the TOML file, `check` turns it into the types here
//! (`identity`, `server` and `store` have their own parts of it), `error` says
//! what is wrong with it and what to write instead. A relative path is relative
//! to the folder of the file that it stands in.

mod check;
mod error;
mod file;
mod identity;
mod server;
mod store;
mod suggest;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_canon::{Digest, ProfileId};
use countersign_evidence::LogId;
use countersign_evidence::key::VerifyingKey;
use countersign_identity::{Aliases, ProofRules, TrustDomain};
use countersign_ledger::DatabaseUrl;
use http::Uri;
use rustls::pki_types::CertificateDer;

use crate::identity::Resource;
pub use error::ConfigError;
pub(crate) use error::said;
pub use server::{OnDisconnect, Patience, Secret, Server, Transport};

/// A valid configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file that it was read from, to be read again at a reload.
    pub file: Option<PathBuf>,
    /// Where agents are served. Port 0 takes any free port.
    pub listen: SocketAddr,
    /// Values of `Host`, without a port, that are answered; loopback names and
    /// the address listened on are always among them.
    pub hosts: Vec<String>,
    /// Values of `Origin` that may call; loopback origins are always among
    /// them. A request without `Origin` comes from no browser and passes.
    pub origins: Vec<String>,
    /// How agents are told apart.
    pub identity: Identity,
    /// TLS towards agents; without it, plain HTTP.
    pub tls: Option<Tls>,
    /// What an operator watches it by.
    pub telemetry: Telemetry,
    /// Where the ledger lives.
    pub store: Store,
    /// The folder of policies; without it the shipped ones decide.
    pub policies: Option<PathBuf>,
    /// Whether a denial is carried out, or only recorded.
    pub enforcement: Enforcement,
    /// What the servers' tools are held against.
    pub catalog: Catalog,
    /// The profiles.
    pub profiles: Profiles,
    /// Which calls need an `execution_id`.
    pub required: Required,
    /// Which settled answers are kept, and for how long.
    pub answers: Answers,
    /// Bounds.
    pub limits: Limits,
    /// The upstreams, at least one, by name.
    pub servers: Vec<Server>,
}

/// How agents are told apart.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Everyone is the agent `open`; only on loopback, and then alone.
    pub open: bool,
    /// Bearer tokens, whose hashes stand in a file.
    pub tokens: Option<PathBuf>,
    /// Who issues tokens that are taken.
    pub issuers: Vec<Issuer>,
    /// What proofs of possession must be like.
    pub proofs: Proofs,
    /// Whose certificates name workloads.
    pub trust_domain: Option<TrustDomain>,
    /// Workloads that are one.
    pub aliases: Aliases,
    pub(crate) resource: Option<Resource>,
}

/// Who issues tokens, and where its keys are.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// What its tokens must be like.
    pub issuer: countersign_identity::Issuer,
    /// Where its keys are.
    pub keys: Keys,
}

/// Where an issuer's keys are.
#[derive(Clone, Debug)]
pub enum Keys {
    /// In a file, which is read again when it has changed.
    File(PathBuf),
    /// At a URL.
    Url {
        /// `https`, or `http` on loopback.
        url: Uri,
        /// The certificates that its own must go back to; none for those that
        /// the system trusts.
        roots: Option<Vec<CertificateDer<'static>>>,
        /// How often it is asked; at least every 10 s.
        refresh: Duration,
        /// How long what it gave last is used while it cannot be reached.
        keep: Duration,
    },
}

/// What proofs of possession must be like.
#[derive(Clone, Debug)]
pub struct Proofs {
    /// Algorithms, age and skew.
    pub rules: ProofRules,
    /// Whether each has a nonce of the gateway's.
    pub nonces: bool,
}

/// What an operator watches it by.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    /// Where numbers and health are asked for; none without it.
    pub listen: Option<SocketAddr>,
    /// Where traces go; none are kept without it.
    pub traces: Option<Traces>,
}

/// Where traces go.
#[derive(Clone, Debug)]
pub struct Traces {
    /// The collector's URL for traces, OTLP over HTTP.
    pub url: Uri,
    /// The certificates that its own must go back to; none for those that the
    /// system trusts.
    pub roots: Option<Vec<CertificateDer<'static>>>,
    /// What the gateway is called there.
    pub service: String,
}

/// TLS towards agents. The files are read again when they have changed.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate with its chain, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// The authorities of clients' certificates, PEM; without them no client is
    /// asked for one.
    pub client_ca: Option<PathBuf>,
    /// Whether a client without a certificate is turned away at once.
    pub client_required: bool,
}

/// Where the ledger lives.
#[derive(Clone, Debug)]
pub struct Store {
    /// The database.
    pub database: Database,
    /// What a file that this gateway keeps for itself is named after, where it
    /// has no name of its own.
    pub base: PathBuf,
    /// How far the log had come; best kept on another disk.
    pub anchor: PathBuf,
    /// Where the key that signs checkpoints is.
    pub key: KeyFrom,
    /// What the name of a new log begins with.
    pub origin: LogId,
    /// Every component and policy set that entries name, for exports.
    pub archive: PathBuf,
    /// The folder of the operator's socket, which its owner alone may enter.
    pub operator: PathBuf,
    /// Whether executions that are reserved from now on are blinded in evidence.
    pub blind: bool,
}

/// Which database the ledger is in.
#[derive(Clone, Debug)]
pub enum Database {
    /// A SQLite file that this gateway alone uses.
    Sqlite(PathBuf),
    /// A PostgreSQL database that several gateways share.
    Postgres(Shared),
}

/// A database that several gateways share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Where its URL comes from.
    pub url: UrlFrom,
    /// How long a gateway that says nothing is waited for; at least 3 s.
    pub lease: Duration,
    /// Whether standbys of which none is synchronous are taken.
    pub unsynchronous_standbys: bool,
}

/// Where the key that signs checkpoints comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFrom {
    /// A file, which its owner alone can read; made at the first start.
    File(PathBuf),
    /// A variable of the environment, which holds what such a file holds.
    Variable(String),
}

/// Where a database's URL comes from; it may hold a password.
#[derive(Clone, Debug)]
pub enum UrlFrom {
    /// The configuration itself.
    Text(Box<DatabaseUrl>),
    /// A file.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

/// What becomes of a call that policy denies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// It is refused.
    #[default]
    Enforce,
    /// It goes on, and its entry says that it would have been refused.
    Observe,
}

/// What the servers' tools are held against.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The lock: what was approved. Without one, tools are taken as they are
    /// discovered, and nothing is held against anything.
    pub lock: Option<PathBuf>,
    /// What becomes of a call to a tool that is not what was approved.
    pub on_drift: OnDrift,
    /// How often a server that is in use is asked for its tools.
    pub poll: Duration,
}

/// What becomes of a call to a tool that is not what was approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDrift {
    /// It is refused.
    #[default]
    Refuse,
    /// It goes on, and the evidence shows the drift.
    Record,
}

/// The profiles that are loaded.
#[derive(Clone, Debug)]
pub struct Profiles {
    /// The one that new calls are admitted under.
    pub default: ProfileId,
    /// Components beside the built-in ones, each with what it is pinned by.
    pub files: Vec<ProfileFile>,
    /// Whose signatures are taken, and for which profiles.
    pub vendors: Vec<Vendor>,
    /// Where compiled code is kept between runs.
    pub cache: Option<PathBuf>,
}

/// A component in a file, and what it is pinned by: a digest, a vendor's
/// signature, or both.
#[derive(Clone, Debug)]
pub struct ProfileFile {
    /// `NAME@VERSION.wasm`
    pub path: PathBuf,
    /// What its bytes hash to.
    pub digest: Option<Digest>,
    /// The signed note beside it.
    pub signature: Option<PathBuf>,
}

/// A key, and the profiles that it is trusted for.
#[derive(Clone, Debug)]
pub struct Vendor {
    /// By which signatures are checked.
    pub key: VerifyingKey,
    /// Names of profiles, without their versions.
    pub profiles: Vec<String>,
}

/// Which calls need an `execution_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Required {
    /// None does.
    #[default]
    Never,
    /// Those of tools that do not claim to be read-only.
    SideEffecting,
    /// All do.
    Always,
}

/// Which settled answers are kept, and for how long.
#[derive(Clone, Debug)]
pub struct Answers {
    /// How long; zero keeps none.
    pub keep_for: Duration,
    /// The key that seals them; made where there is none.
    pub key: PathBuf,
    /// Bytes of one; a larger one is not kept.
    pub most_bytes: usize,
    /// How many, of all agents.
    pub most: u64,
    /// Bytes of all of them.
    pub all_bytes: u64,
}

/// Bounds; each is refused with a code when it is met.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Calls in flight, from reservation to settlement.
    pub calls: usize,
    /// Of these, to one server.
    pub calls_per_server: usize,
    /// Of these, by one agent.
    pub calls_per_agent: usize,
    /// Requests of one agent in a second, on average.
    pub requests_per_second: u32,
    /// Requests of one agent at once.
    pub burst: u32,
    /// Sessions open at once.
    pub sessions: usize,
    /// Bytes of all bodies in memory, at least those of the longest message.
    pub bodies_bytes: usize,
    /// Connections open at once.
    pub connections: usize,
    /// Of these, from one address.
    pub connections_per_peer: usize,
    /// How long a task may stay open, from its call on.
    pub task_timeout: Duration,
    /// How long a handshake, or the head of a request, may take to arrive.
    pub head_timeout: Duration,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How long a client may take nothing of what is written to it.
    pub write_timeout: Duration,
    /// How long calls in flight may take to end at shutdown.
    pub drain: Duration,
}

/// The JSON Schema of configuration files, as text.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(file::File);
    // INVARIANT: a schema is plain JSON, which has a text.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

impl Config {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ConfigError`] with the file, the line and what to write instead.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::unreadable(path, &source))?;
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        let config = Self::parse(&text, folder).map_err(|error| error.in_file(path))?;
        Ok(Self {
            file: Some(path.to_owned()),
            ..config
        })
    }

    /// Reads a configuration from its text; relative paths start at `folder`.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let file: file::File = toml::from_str(text).map_err(|error| error::syntax(text, &error))?;
        check::config(file, folder)
    }
}
