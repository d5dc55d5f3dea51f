//! The shape of the configuration file; every key that there is stands here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, IntoDeserializer as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Where agents are served: an IP address and a port.
    #[serde(default = "listen")]
    pub(super) listen: String,
    /// Values of `Host`, without a port, that are answered beside loopback names.
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    /// Values of `Origin` that may call beside loopback ones.
    #[serde(default)]
    pub(super) origins: Vec<String>,
    pub(super) identity: Identity,
    /// TLS towards agents.
    pub(super) tls: Option<Tls>,
    #[serde(default)]
    pub(super) telemetry: Telemetry,
    #[serde(default)]
    pub(super) store: Store,
    #[serde(default)]
    pub(super) evidence: Evidence,
    #[serde(default)]
    pub(super) policy: Policy,
    #[serde(default)]
    pub(super) catalog: Catalog,
    #[serde(default)]
    pub(super) profile: Profile,
    #[serde(default)]
    pub(super) executions: Executions,
    #[serde(default)]
    pub(super) limits: Limits,
    /// The servers behind the gateway.
    #[serde(default, rename = "server")]
    pub(super) servers: Vec<Server>,
}

fn listen() -> String {
    "127.0.0.1:7400".to_owned()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    /// How agents are told apart: one mode, or a list of them.
    #[serde(deserialize_with = "modes")]
    #[schemars(with = "OneOrMany")]
    pub(super) mode: Vec<Mode>,
    /// The file that `countersign agent add` writes.
    pub(super) tokens: Option<PathBuf>,
    /// Scheme and host under which the outside world finds the gateway.
    pub(super) resource: Option<String>,
    /// The trust domain of certificates.
    pub(super) trust_domain: Option<String>,
    /// Scopes of which a token needs all.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// Whether tokens without proof of possession are refused.
    #[serde(default)]
    pub(super) bound_only: bool,
    #[serde(default)]
    pub(super) proofs: Proofs,
    #[serde(default, rename = "issuer")]
    pub(super) issuers: Vec<Issuer>,
    #[serde(default, rename = "alias")]
    pub(super) aliases: Vec<Alias>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    Open,
    Tokens,
    Jwt,
    Mtls,
}

/// How agents authenticate, as policies and evidence have it.
pub(super) const METHODS: [&str; 4] = ["token", "jwt", "mtls", "open"];

impl Mode {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Tokens => "tokens",
            Self::Jwt => "jwt",
            Self::Mtls => "mtls",
        }
    }

    /// The mode in which workloads authenticate by this method.
    pub(super) fn of_method(method: &str) -> Option<Self> {
        let modes = [Self::Tokens, Self::Jwt, Self::Mtls, Self::Open];
        METHODS
            .into_iter()
            .zip(modes)
            .find(|(name, _)| *name == method)
            .map(|(_, mode)| mode)
    }

    /// What the mode does not work without.
    pub(super) const fn needs(self) -> &'static str {
        match self {
            Self::Open => "nothing",
            Self::Tokens => "name the file that `countersign agent add` writes",
            Self::Jwt => {
                "name the gateway's own URL in `resource`, and who issues tokens for it in `[[identity.issuer]]`"
            }
            Self::Mtls => "name the trust domain of your workloads, like `example.org`",
        }
    }
}

/// One mode, or a list of them, as the schema has it.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum OneOrMany {
    One(Mode),
    Many(Vec<Mode>),
}

/// One mode, or a list of them.
fn modes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Mode>, D::Error> {
    struct Modes;

    impl<'de> Visitor<'de> for Modes {
        type Value = Vec<Mode>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mode or a list of modes")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(vec![Mode::deserialize(text.into_deserializer())?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(Modes)
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Proofs {
    /// Under which proofs may be signed.
    #[serde(default)]
    pub(super) algorithms: Vec<String>,
    /// How old a proof may be, in seconds; at most 600.
    pub(super) age_s: Option<u64>,
    /// How far in the future, in seconds; at most 300.
    pub(super) skew_s: Option<u64>,
    /// Whether each proof has a nonce of the gateway's.
    #[serde(default)]
    pub(super) nonces: bool,
}

impl Proofs {
    /// Whether any of it is given.
    pub(super) fn says_anything(&self) -> bool {
        !self.algorithms.is_empty() || self.age_s.is_some() || self.skew_s.is_some() || self.nonces
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Issuer {
    /// Exactly as `iss` has it.
    pub(super) name: String,
    /// The file with its keys.
    pub(super) jwks_file: Option<PathBuf>,
    /// The URL of its keys.
    pub(super) jwks_url: Option<String>,
    /// The authorities of the URL's certificate.
    pub(super) ca_file: Option<PathBuf>,
    /// How often the URL is asked, in seconds.
    pub(super) refresh_s: Option<u64>,
    /// How long its last good answer is used, in seconds; at least `refresh_s`.
    pub(super) keep_s: Option<u64>,
    /// Under which its tokens may be signed.
    #[serde(default)]
    pub(super) algorithms: Vec<String>,
    /// Audiences that are taken beside the server's own.
    #[serde(default)]
    pub(super) audiences: Vec<String>,
    /// The claim that names the workload.
    pub(super) subject_claim: Option<String>,
    /// The claim that names the represented user.
    pub(super) user_claim: Option<String>,
    /// The claim that holds a delegated authority.
    pub(super) authority_claim: Option<String>,
    /// By how many seconds its clock may differ; at most 300.
    pub(super) skew_s: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Alias {
    /// Who authenticates.
    pub(super) from: Workload,
    /// Whose executions those are.
    pub(super) to: Workload,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Workload {
    pub(super) method: String,
    #[serde(default)]
    pub(super) issuer: String,
    pub(super) subject: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    /// The certificate with its chain, PEM.
    pub(super) certificate: PathBuf,
    /// Its key, PEM.
    pub(super) key: PathBuf,
    /// The authorities of clients' certificates, PEM.
    pub(super) client_ca: Option<PathBuf>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Telemetry {
    /// Where numbers and health are asked for.
    pub(super) listen: Option<String>,
    /// The collector's URL for traces, OTLP over HTTP.
    pub(super) traces_url: Option<String>,
    /// The authorities of the collector's certificate.
    pub(super) traces_ca_file: Option<PathBuf>,
    /// What the gateway is called in traces.
    pub(super) service: Option<String>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Store {
    #[serde(default)]
    pub(super) kind: Kind,
    /// The database's URL.
    pub(super) url: Option<String>,
    /// The file with the database's URL.
    pub(super) url_file: Option<PathBuf>,
    /// The variable with the database's URL.
    pub(super) url_variable: Option<String>,
    /// How long a gateway that says nothing is waited for, in milliseconds.
    pub(super) lease_ms: Option<u64>,
    pub(super) unsynchronous_standbys: Option<bool>,
    /// The SQLite database.
    pub(super) path: Option<PathBuf>,
    /// How far the log had come; best kept on another disk.
    pub(super) anchor: Option<PathBuf>,
    /// The key that signs the log.
    pub(super) key: Option<PathBuf>,
    /// The variable with the key that signs the log.
    pub(super) key_variable: Option<String>,
    /// What the name of a new log begins with.
    pub(super) origin: Option<String>,
    /// Components and policies that entries name.
    pub(super) archive: Option<PathBuf>,
    /// The folder of the operator's socket.
    pub(super) operator: Option<PathBuf>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Evidence {
    /// Whether digests in entries are blinded.
    #[serde(default)]
    pub(super) blind: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    #[default]
    Sqlite,
    Postgres,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    /// The folder of policies; without it the shipped ones decide.
    pub(super) folder: Option<PathBuf>,
    /// Whether a denial is carried out, or only recorded.
    #[serde(default)]
    pub(super) enforcement: Enforcement,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Enforcement {
    #[default]
    Enforce,
    Observe,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Catalog {
    /// The lock; without it tools are taken as they are discovered.
    pub(super) file: Option<PathBuf>,
    /// What becomes of a call to a tool that is not what was approved.
    pub(super) on_drift: Option<OnDrift>,
    /// How often a server in use is asked for its tools; at least 100.
    pub(super) poll_ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OnDrift {
    Refuse,
    Record,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// The one that new calls are admitted under, `NAME@VERSION`.
    pub(super) default: Option<String>,
    pub(super) cache: Option<PathBuf>,
    /// Components beside the built-in ones.
    #[serde(default, rename = "file")]
    pub(super) files: Vec<ProfileFile>,
    /// Keys whose signatures of components are taken.
    #[serde(default, rename = "vendor")]
    pub(super) vendors: Vec<Vendor>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Vendor {
    /// What `countersign profile key` printed: `NAME+HASH+KEY`.
    pub(super) key: String,
    /// The profiles that it is trusted for, by name, without versions.
    pub(super) profiles: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileFile {
    /// `NAME@VERSION.wasm`
    pub(super) path: PathBuf,
    /// What its bytes hash to: `sha256:` and 64 hexadecimal digits.
    pub(super) digest: Option<String>,
    /// A trusted vendor's signature of it, as `countersign profile sign` writes.
    pub(super) signature: Option<PathBuf>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Executions {
    /// Which calls need an `execution_id`.
    #[serde(default)]
    pub(super) required: Required,
    /// Seconds for which a settled answer can be fetched again.
    pub(super) retain_answers: Option<u64>,
    pub(super) answers_key: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Required {
    #[default]
    Never,
    SideEffecting,
    Always,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// Calls in flight.
    pub(super) calls: Option<usize>,
    /// Of these, to one server.
    pub(super) calls_per_server: Option<usize>,
    /// Of these, by one agent.
    pub(super) calls_per_agent: Option<usize>,
    /// Requests of one agent in a second, on average.
    pub(super) requests_per_second: Option<u32>,
    /// Requests of one agent at once.
    pub(super) burst: Option<u32>,
    /// Sessions open at once.
    pub(super) sessions: Option<usize>,
    /// Bytes of all bodies in memory; an agent may hold a quarter.
    pub(super) bodies_bytes: Option<usize>,
    /// Connections open at once.
    pub(super) connections: Option<usize>,
    /// Of these, from one address.
    pub(super) connections_per_peer: Option<usize>,
    pub(super) answers: Option<u64>,
    pub(super) answers_bytes: Option<u64>,
    pub(super) answer_bytes: Option<usize>,
    /// How long a task may stay open.
    pub(super) task_timeout_ms: Option<u64>,
    /// How long a handshake or the head of a request may take.
    pub(super) head_timeout_ms: Option<u64>,
    /// How long a body may take to arrive.
    pub(super) body_timeout_ms: Option<u64>,
    /// How long a client may take nothing of what is written to it.
    pub(super) write_timeout_ms: Option<u64>,
    /// How long calls in flight may take to end at shutdown.
    pub(super) drain_ms: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    /// `[a-z0-9][a-z0-9-]{0,62}`
    pub(super) name: String,
    /// Where it is, over Streamable HTTP.
    pub(super) url: Option<String>,
    /// The file with its token.
    pub(super) bearer_token_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
    /// Headers that each request to it carries.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// The program with its arguments, over stdio.
    pub(super) command: Option<Vec<String>>,
    /// Variables that a spawned server gets.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: Option<PathBuf>,
    /// The revision that the gateway speaks with it.
    pub(super) revision: Option<String>,
    pub(super) call_timeout_ms: Option<u64>,
    pub(super) connect_timeout_ms: Option<u64>,
    /// Failures in a row to connect, start or greet after which it is left
    /// alone.
    pub(super) unavailable_after: Option<u32>,
    /// How long it is left alone the first time; doubled each further time.
    pub(super) retry_ms: Option<u64>,
    /// And at most this long.
    pub(super) longest_retry_ms: Option<u64>,
    #[serde(default = "yes")]
    pub(super) send_call_id: bool,
    /// Methods beside those of tools that pass to it, or groups like `prompts/*`.
    #[serde(default)]
    pub(super) methods: Vec<String>,
    /// What it may ask of its clients, by method.
    #[serde(default)]
    pub(super) client_requests: Vec<String>,
    /// What becomes of a call whose client goes away, by tool.
    #[serde(default)]
    pub(super) on_disconnect: BTreeMap<String, OnDisconnect>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OnDisconnect {
    Forward,
    Finish,
}

fn yes() -> bool {
    true
}
