//! Whoever approves tools: asks the gateway that runs or, where none does, the
//! servers themselves, and writes the lock.
//!
//! What is approved is what was shown: the offers travel back as they came, and
//! nobody discovers in between.

use std::path::{Path, PathBuf};

use countersign_catalog::{Lock, Offer};
use countersign_evidence::Agent;
use countersign_schema::SchemaRefused;
use thiserror::Error;
use tokio::sync::watch;

use super::approved::{ApprovedError, Ready, read_lock};
use super::discover::discover;
use crate::config::{Config, Server};
use crate::environment::Environment;
use crate::operator::{Office, OperatorError, api, ask_running};
use crate::replace::{PUBLIC, lock as alone, replace};
use crate::upstream::Upstream;

/// Why nothing was shown, or approved.
#[derive(Debug, Error)]
pub enum CatalogError {
    /// The configuration names no lock.
    #[error("the configuration names no `catalog.file`")]
    NoFile,
    /// No server has that name.
    #[error("no server is named `{0}`")]
    NoServer(String),
    /// The lock cannot be used.
    #[error(transparent)]
    Lock(#[from] ApprovedError),
    /// The running gateway did not answer, or refused.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The lock cannot be written.
    #[error("the lock `{}` cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What the gateway says it found cannot be read.
    #[error("the gateway's answer cannot be read")]
    Answer,
}

/// What one server offers now.
#[derive(Debug)]
pub struct Found {
    /// The server.
    pub server: String,
    /// Its tools, or the stable code of why they could not be read.
    pub offer: Result<Offer, String>,
}

/// The lock that a configuration names; empty where it is not there yet.
///
/// # Errors
/// [`CatalogError`].
pub fn lock(config: &Config) -> Result<Lock, CatalogError> {
    let path = config.catalog.lock.as_ref().ok_or(CatalogError::NoFile)?;
    Ok(read_lock(path)?)
}

/// What the servers offer now, all or one of them. Blocks.
///
/// # Errors
/// [`CatalogError`]; a server that does not answer is no error of the whole.
pub fn look(
    config: &Config,
    environment: &Environment,
    only: Option<&str>,
) -> Result<Vec<Found>, CatalogError> {
    if let Some(name) = only
        && !config
            .servers
            .iter()
            .any(|server| server.name.as_str() == name)
    {
        return Err(CatalogError::NoServer(name.to_owned()));
    }
    if Office::runs(&config.store)? {
        let question = api::Discover {
            server: only.map(str::to_owned),
        };
        let answer: api::Discovered =
            ask_running(&config.store, "/v1/catalog/discover", &question)?;
        return answer.servers.into_iter().map(found).collect();
    }
    let runtime = crate::operator::runtime()?;
    runtime.block_on(async {
        let mut all = Vec::new();
        for server in &config.servers {
            if only.is_none_or(|only| only == server.name.as_str()) {
                all.push(ask_server(server, environment).await);
            }
        }
        Ok(all)
    })
}

fn found(said: api::Offered) -> Result<Found, CatalogError> {
    let offer = match (said.offer, said.error) {
        (Some(text), None) => {
            Ok(Offer::from_json(text.as_bytes()).map_err(|_| CatalogError::Answer)?)
        }
        (_, error) => Err(error.unwrap_or_default()),
    };
    Ok(Found {
        server: said.server,
        offer,
    })
}

async fn ask_server(server: &Server, environment: &Environment) -> Found {
    let name = server.name.as_str().to_owned();
    // Nothing hurries it.
    let (_hold, hurried) = watch::channel(false);
    let offer = match Upstream::new(server, &environment.inherited, hurried) {
        Ok(upstream) => {
            let offer = offer(&upstream, &name, server.digest(), &asker(environment.user)).await;
            upstream.close().await;
            offer
        }
        Err(error) => Err(error.to_string()),
    };
    Found {
        server: name,
        offer,
    }
}

/// Everything that a server offers to whoever asks.
pub(crate) async fn offer(
    upstream: &Upstream,
    name: &str,
    place: countersign_canon::Digest,
    asker: &Agent,
) -> Result<Offer, String> {
    let code = |unready: crate::upstream::Unready| unready.reason.as_str().to_owned();
    let tools = discover(upstream, asker).await.map_err(code)?;
    let described = tools
        .iter()
        .filter_map(|tool| countersign_catalog::Descriptor::read(&tool.description).ok());
    Ok(Offer::new(name, place, described))
}

/// In whose name servers are asked for an operator.
pub(crate) fn asker(uid: u32) -> Agent {
    Agent {
        method: "operator".to_owned(),
        issuer: String::new(),
        subject: format!("uid:{uid}"),
    }
}

/// A tool that cannot be approved.
#[derive(Debug)]
pub struct LeftOut {
    /// The tool.
    pub tool: String,
    /// Why nothing could be held against it.
    pub reason: SchemaRefused,
}

/// An offer without the tools whose arguments could not be held against their
/// schema, and without those that were not asked for.
#[must_use]
pub fn approvable(offer: &Offer, without: &[String]) -> (Offer, Vec<LeftOut>) {
    let mut left_out = Vec::new();
    let mut kept = Vec::new();
    for tool in offer.tools() {
        if without.iter().any(|name| name == tool.name()) {
            continue;
        }
        match Ready::compile(tool) {
            Ok(_) => kept.push(tool.clone()),
            Err(reason) => left_out.push(LeftOut {
                tool: tool.name().to_owned(),
                reason,
            }),
        }
    }
    (Offer::new(offer.name(), offer.server(), kept), left_out)
}

/// Approves offers: a running gateway writes the lock and goes by it from then
/// on; without one the lock is written for the next start. Blocks.
///
/// # Errors
/// [`CatalogError`]; then nothing was approved.
pub fn approve(config: &Config, offers: Vec<Offer>, reason: &str) -> Result<(), CatalogError> {
    let path = config.catalog.lock.as_ref().ok_or(CatalogError::NoFile)?;
    if Office::runs(&config.store)? {
        let texts = offers
            .iter()
            .map(|offer| String::from_utf8(offer.to_json()).map_err(|_| CatalogError::Answer));
        let question = api::Approve {
            offers: texts.collect::<Result<_, _>>()?,
            reason: reason.to_owned(),
        };
        let _: api::Reloaded = ask_running(&config.store, "/v1/catalog/approve", &question)?;
        return Ok(());
    }
    let _alone = alone(path).map_err(|source| CatalogError::Write {
        path: path.to_owned(),
        source,
    })?;
    let mut lock = read_lock(path)?;
    for offer in offers {
        lock.approve(offer);
    }
    write_lock(path, &lock)
}

/// Writes a lock whole or not at all.
pub(crate) fn write_lock(path: &Path, lock: &Lock) -> Result<(), CatalogError> {
    write_bytes(path, &lock.write())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), CatalogError> {
    replace(path, PUBLIC, bytes).map_err(|source| CatalogError::Write {
        path: path.to_owned(),
        source,
    })
}

/// What a lock's file held before it was written: none where there was none.
pub(crate) struct KeptLock(Option<Vec<u8>>);

impl KeptLock {
    pub(crate) fn read(path: &Path) -> Result<Self, CatalogError> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self(Some(bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self(None)),
            Err(source) => Err(ApprovedError::Unreadable {
                path: path.to_owned(),
                source,
            }
            .into()),
        }
    }

    /// Puts it back.
    pub(crate) fn restore(&self, path: &Path) -> Result<(), CatalogError> {
        match &self.0 {
            Some(bytes) => write_bytes(path, bytes),
            None => std::fs::remove_file(path).map_err(|source| CatalogError::Write {
                path: path.to_owned(),
                source,
            }),
        }
    }
}
