//! Real parts for the gateway's tests: a gateway on a real SQLite file, a small
//! MCP upstream that counts its effects, and a client that sends raw bytes.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]

pub mod approving;
pub mod client;
pub mod clock;
pub mod door;
pub mod relaying;
pub mod stdio;
pub mod tls;
pub mod upstream;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use countersign_gateway::config::Config;
use countersign_gateway::environment::Environment;
use countersign_gateway::identity::Token;
use countersign_gateway::{Ended, Reloader, prepare};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use client::Client;
pub use upstream::Upstream;

/// Everything is allowed, so that policy does not stand in the way of a test.
pub const PERMIT_ALL: &str = "permit (principal, action, resource);\n";

/// Waits until something holds, for ten seconds at most.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}: never");
}

/// A gateway that runs, in a folder of its own.
pub struct Gateway {
    pub address: SocketAddr,
    /// Where numbers and health are asked for, if anywhere.
    pub telemetry: Option<SocketAddr>,
    pub folder: tempfile::TempDir,
    pub reloader: Reloader,
    stop: Option<oneshot::Sender<()>>,
    run: JoinHandle<Ended>,
}

impl Gateway {
    /// A gateway in front of one upstream named `up`, with open identity and
    /// `policies`; `more` is added to the configuration.
    pub async fn start(upstream: &Upstream, policies: &str, more: &str) -> Self {
        let server = format!("[[server]]\nname = \"up\"\nurl = \"{}\"\n", upstream.url());
        Self::start_with(&server, policies, more).await
    }

    /// The same with a whole `[[server]]` table.
    pub async fn start_with(server: &str, policies: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("policies")).unwrap();
        std::fs::write(folder.path().join("policies/test.cedar"), policies).unwrap();
        let text = format!(
            "listen = \"127.0.0.1:0\"\n{more}\n[identity]\nmode = \"open\"\n\
             [policy]\nfolder = \"policies\"\n{server}"
        );
        std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
        Self::start_in(folder).await
    }

    /// The same with so many agents, each known by a token of its own.
    pub async fn of_agents(count: u8, servers: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut tokens = countersign_gateway::identity::TokenFile::default();
        for number in 0..count {
            let name = format!("agent-{number}");
            tokens.add(&name, &token(number), "now").unwrap();
        }
        std::fs::write(folder.path().join("tokens.toml"), tokens.to_text()).unwrap();
        std::fs::create_dir(folder.path().join("policies")).unwrap();
        std::fs::write(folder.path().join("policies/test.cedar"), PERMIT_ALL).unwrap();
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[identity]\nmode = \"tokens\"\n\
             tokens = \"tokens.toml\"\n[policy]\nfolder = \"policies\"\n{servers}"
        );
        std::fs::write(folder.path().join("countersign.toml"), text).unwrap();
        Self::start_in(folder).await
    }

    /// A client that is one of these agents.
    pub fn agent(&self, number: u8) -> Client {
        let token = token(number);
        let bearer = format!("Bearer {}", token.reveal());
        self.client().with("authorization", &bearer)
    }

    /// Starts, or starts again, what is configured in a folder.
    pub async fn start_in(folder: tempfile::TempDir) -> Self {
        Self::start_at(folder, Environment::system()).await
    }

    /// The same with a clock of the test's.
    pub async fn start_at(folder: tempfile::TempDir, environment: Environment) -> Self {
        let config = Config::read(&folder.path().join("countersign.toml")).unwrap();
        let prepared = prepare(config, environment).await.unwrap();
        let address = prepared.address();
        let telemetry = prepared.telemetry();
        let reloader = prepared.reloader();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = tokio::spawn(prepared.run(async move {
            let _ = stopped.await;
        }));
        Self {
            address,
            telemetry,
            folder,
            reloader,
            stop: Some(stop),
            run,
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Stops it in good order.
    pub async fn stop(mut self) -> (Ended, tempfile::TempDir) {
        drop(self.stop.take());
        (self.run.await.unwrap(), self.folder)
    }
}

fn token(number: u8) -> Token {
    Token::from_random([number; 32])
}

/// The entries of a gateway that was stopped, as JSON.
pub fn entries(folder: &Path) -> Vec<serde_json::Value> {
    let config = Config::read(&folder.join("countersign.toml")).unwrap();
    let source =
        countersign_gateway::export::open_store(&config.store, &Environment::system()).unwrap();
    let all = countersign_ledger::Selection::All;
    let entries = source
        .ledger
        .entries(&all, 0, 10_000)
        .wait()
        .unwrap()
        .entries;
    source.ledger.stop().unwrap();
    entries
        .iter()
        .map(|entry| serde_json::from_slice(&entry.bytes).unwrap())
        .collect()
}
