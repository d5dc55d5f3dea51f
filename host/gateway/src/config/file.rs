//! The shape of the configuration file; every key that there is stands here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

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
    pub(super) mode: Mode,
    pub(super) tokens: Option<PathBuf>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    Open,
    Tokens,
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
    pub(super) answers: Option<u64>,
    pub(super) answers_bytes: Option<u64>,
    pub(super) answer_bytes: Option<usize>,
    pub(super) task_timeout_ms: Option<u64>,
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
