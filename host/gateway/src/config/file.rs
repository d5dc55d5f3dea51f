//! The shape of the configuration file; every key that there is stands here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, IntoDeserializer as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default = "listen")]
    pub(super) listen: String,
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    #[serde(default)]
    pub(super) origins: Vec<String>,
    pub(super) identity: Identity,
    pub(super) tls: Option<Tls>,
    #[serde(default)]
    pub(super) telemetry: Telemetry,
    #[serde(default)]
    pub(super) store: Store,
    #[serde(default)]
    pub(super) policy: Policy,
    #[serde(default)]
    pub(super) profile: Profile,
    #[serde(default)]
    pub(super) executions: Executions,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default, rename = "server")]
    pub(super) servers: Vec<Server>,
}

fn listen() -> String {
    "127.0.0.1:7400".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    #[serde(deserialize_with = "modes")]
    pub(super) mode: Vec<Mode>,
    pub(super) tokens: Option<PathBuf>,
    pub(super) resource: Option<String>,
    pub(super) trust_domain: Option<String>,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    #[serde(default)]
    pub(super) bound_only: bool,
    #[serde(default)]
    pub(super) proofs: Proofs,
    #[serde(default, rename = "issuer")]
    pub(super) issuers: Vec<Issuer>,
    #[serde(default, rename = "alias")]
    pub(super) aliases: Vec<Alias>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    Open,
    Tokens,
    Jwt,
    Mtls,
}

impl Mode {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Tokens => "tokens",
            Self::Jwt => "jwt",
            Self::Mtls => "mtls",
        }
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

/// One mode, or a list of them.
fn modes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Mode>, D::Error> {
    struct OneOrMany;

    impl<'de> Visitor<'de> for OneOrMany {
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

    deserializer.deserialize_any(OneOrMany)
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Proofs {
    #[serde(default)]
    pub(super) algorithms: Vec<String>,
    pub(super) age_s: Option<u64>,
    pub(super) skew_s: Option<u64>,
    #[serde(default)]
    pub(super) nonces: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Issuer {
    pub(super) name: String,
    pub(super) jwks_file: Option<PathBuf>,
    pub(super) jwks_url: Option<String>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) refresh_s: Option<u64>,
    pub(super) keep_s: Option<u64>,
    #[serde(default)]
    pub(super) algorithms: Vec<String>,
    #[serde(default)]
    pub(super) audiences: Vec<String>,
    pub(super) subject_claim: Option<String>,
    pub(super) user_claim: Option<String>,
    pub(super) authority_claim: Option<String>,
    pub(super) skew_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alias {
    pub(super) from: Workload,
    pub(super) to: Workload,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workload {
    pub(super) method: String,
    #[serde(default)]
    pub(super) issuer: String,
    pub(super) subject: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    pub(super) client_ca: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Telemetry {
    pub(super) listen: Option<String>,
    pub(super) traces_url: Option<String>,
    pub(super) traces_ca_file: Option<PathBuf>,
    pub(super) service: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Store {
    #[serde(default)]
    pub(super) kind: Kind,
    pub(super) url: Option<String>,
    pub(super) url_file: Option<PathBuf>,
    pub(super) url_variable: Option<String>,
    pub(super) lease_ms: Option<u64>,
    pub(super) unsynchronous_standbys: Option<bool>,
    pub(super) path: Option<PathBuf>,
    pub(super) anchor: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) origin: Option<String>,
    pub(super) archive: Option<PathBuf>,
    pub(super) operator: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    #[default]
    Sqlite,
    Postgres,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub(super) folder: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) default: Option<String>,
    pub(super) cache: Option<PathBuf>,
    #[serde(default, rename = "file")]
    pub(super) files: Vec<ProfileFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileFile {
    pub(super) path: PathBuf,
    pub(super) digest: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Executions {
    #[serde(default)]
    pub(super) required: Required,
    pub(super) retain_answers: Option<u64>,
    pub(super) answers_key: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Required {
    #[default]
    Never,
    SideEffecting,
    Always,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) calls: Option<usize>,
    pub(super) calls_per_server: Option<usize>,
    pub(super) calls_per_agent: Option<usize>,
    pub(super) requests_per_second: Option<u32>,
    pub(super) burst: Option<u32>,
    pub(super) sessions: Option<usize>,
    pub(super) connections: Option<usize>,
    pub(super) connections_per_peer: Option<usize>,
    pub(super) answers: Option<u64>,
    pub(super) answers_bytes: Option<u64>,
    pub(super) answer_bytes: Option<usize>,
    pub(super) task_timeout_ms: Option<u64>,
    pub(super) head_timeout_ms: Option<u64>,
    pub(super) body_timeout_ms: Option<u64>,
    pub(super) drain_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) url: Option<String>,
    pub(super) bearer_token_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) command: Option<Vec<String>>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: Option<PathBuf>,
    pub(super) revision: Option<String>,
    pub(super) call_timeout_ms: Option<u64>,
    pub(super) connect_timeout_ms: Option<u64>,
    #[serde(default = "yes")]
    pub(super) send_call_id: bool,
}

fn yes() -> bool {
    true
}
