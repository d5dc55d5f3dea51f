//! What was approved, ready to be held against: the lock with every input
//! schema compiled, and what a call is by it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_canon::{Digest, Document, Limits};
use countersign_catalog::{Change, Descriptor, Lock, LockError, Offer, Shape, drift};
use countersign_evidence as evidence;
use countersign_mcp::tools::{self, Tool};
use countersign_policy::{Class, Hints};
use countersign_schema::{InputSchema, SchemaRefused};
use thiserror::Error;

use super::Listing;
use crate::config::{Catalog, OnDrift};

/// Why what was approved cannot be held against.
#[derive(Debug, Error)]
pub enum ApprovedError {
    /// The file cannot be read.
    #[error("the lock `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no lock.
    #[error("`{}`: {source} ({})", path.display(), LockError::CODE)]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: LockError,
    },
    /// A tool in it that nothing could be held against.
    #[error("`{server}/{tool}`: {source} ({})", SchemaRefused::CODE)]
    Schema {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Why.
        source: SchemaRefused,
    },
}

/// What tools are held against.
#[derive(Debug)]
pub(crate) enum Approved {
    /// Nothing: they are taken as they are discovered.
    Discovered,
    /// What an operator approved.
    Locked(Locked),
}

/// A lock, ready.
#[derive(Debug)]
pub(crate) struct Locked {
    lock: Lock,
    on_drift: OnDrift,
    servers: BTreeMap<String, Server>,
}

#[derive(Debug)]
struct Server {
    checkpoint: Digest,
    tools: BTreeMap<String, Arc<Ready>>,
}

/// An approved tool.
#[derive(Debug)]
pub(crate) struct Ready {
    tool: Arc<Tool>,
    schema: InputSchema,
    shape: Option<Shape>,
}

impl Ready {
    /// Compiles what a tool's arguments are held against.
    pub(crate) fn compile(descriptor: &Descriptor) -> Result<Self, SchemaRefused> {
        let schema = descriptor.input_schema();
        let compiled = InputSchema::compile(schema.as_deref())?;
        let document = Document::read(descriptor.text(), Limits::STANDARD).ok();
        let tool = document.and_then(|document| tools::tool(document.root()).ok());
        Ok(Self {
            // INVARIANT: a descriptor is a description with a name.
            tool: Arc::new(tool.ok_or(SchemaRefused {
                reason: countersign_schema::Reason::Missing,
                at: String::new(),
            })?),
            schema: compiled,
            shape: schema.as_deref().and_then(Shape::of_schema),
        })
    }

    pub(crate) fn schema(&self) -> &InputSchema {
        &self.schema
    }

    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }
}

/// What a call to one tool is held against.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) tool: Arc<Tool>,
    /// What was approved of it; nothing where nobody approves.
    pub(crate) approved: Option<Arc<Ready>>,
}

/// Why there is nothing to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unheld {
    /// Neither offered nor approved.
    Unknown,
    /// Offered, and not approved.
    NotApproved,
    /// Approved, and offered otherwise, or not, or from another place.
    Drifted,
}

impl Approved {
    /// Reads what a configuration names. A lock that is not there yet approves
    /// nothing.
    pub(crate) fn read(config: &Catalog) -> Result<Self, ApprovedError> {
        let Some(path) = &config.lock else {
            tracing::warn!(
                "no tool is approved: tools are taken as their servers describe them; \
                 name a `catalog.file` and run `countersign catalog approve`"
            );
            return Ok(Self::Discovered);
        };
        let lock = read_lock(path)?;
        if lock.servers().next().is_none() {
            tracing::warn!(
                lock = %path.display(),
                "nothing is approved, so no tool can be called; run `countersign catalog approve`"
            );
        }
        Self::locked(lock, config.on_drift)
    }

    pub(crate) fn locked(lock: Lock, on_drift: OnDrift) -> Result<Self, ApprovedError> {
        let mut servers = BTreeMap::new();
        for offer in lock.servers() {
            let mut tools = BTreeMap::new();
            for descriptor in offer.tools() {
                let ready = Ready::compile(descriptor).map_err(|source| ApprovedError::Schema {
                    server: offer.name().to_owned(),
                    tool: descriptor.name().to_owned(),
                    source,
                })?;
                tools.insert(descriptor.name().to_owned(), Arc::new(ready));
            }
            let checkpoint = offer.checkpoint();
            servers.insert(offer.name().to_owned(), Server { checkpoint, tools });
        }
        Ok(Self::Locked(Locked {
            lock,
            on_drift,
            servers,
        }))
    }

    /// What was approved, by server; nothing where nobody approves.
    pub(crate) fn offers(&self) -> impl Iterator<Item = &Offer> {
        let lock = match self {
            Self::Discovered => None,
            Self::Locked(locked) => Some(&locked.lock),
        };
        lock.into_iter().flat_map(Lock::servers)
    }

    /// Every approved tool, as policies are checked against it; none where
    /// nobody approves.
    pub(crate) fn tools(&self) -> Option<Vec<countersign_policy::Typed<'_>>> {
        let Self::Locked(locked) = self else {
            return None;
        };
        let mut all = Vec::new();
        for (server, approved) in &locked.servers {
            for (name, ready) in &approved.tools {
                let tool = countersign_policy::Tool {
                    server,
                    name,
                    class: class(&ready.tool),
                };
                let shape = ready.shape();
                all.push(countersign_policy::Typed { tool, shape });
            }
        }
        Some(all)
    }

    /// Whether somebody approves, so that what was approved is what is shown.
    pub(crate) fn governs(&self) -> bool {
        matches!(self, Self::Locked(_))
    }

    /// The approved tools of a server, as a list shows them; none where nobody
    /// approves.
    pub(crate) fn shown(&self, server: &str) -> Option<Vec<Arc<Tool>>> {
        let Self::Locked(locked) = self else {
            return None;
        };
        let tools = locked.servers.get(server).into_iter();
        let tools = tools.flat_map(|server| server.tools.values());
        Some(tools.map(|ready| Arc::clone(&ready.tool)).collect())
    }

    /// What a call to a tool of that name is held against. `place` is the
    /// digest of the server as it is configured.
    pub(crate) fn held(
        &self,
        server: &str,
        place: Digest,
        name: &str,
        listing: &Listing,
    ) -> Result<Held, Unheld> {
        let offered = listing.tool(name);
        let Self::Locked(locked) = self else {
            let tool = offered.ok_or(Unheld::Unknown)?;
            return Ok(Held {
                tool: Arc::clone(tool),
                approved: None,
            });
        };
        let record = locked.on_drift == OnDrift::Record;
        let known = locked.servers.get(server);
        let ready = known.and_then(|server| server.tools.get(name));
        let moved = locked
            .lock
            .server(server)
            .is_some_and(|offer| offer.server() != place);
        match (ready, offered) {
            (None, None) => Err(Unheld::Unknown),
            (None, Some(tool)) if record => Ok(Held {
                tool: Arc::clone(tool),
                approved: None,
            }),
            (None, Some(_)) => Err(Unheld::NotApproved),
            (Some(ready), offered) => {
                let same = offered.is_some_and(|tool| tool.digest == ready.tool.digest);
                if moved && record {
                    // What was approved was approved for another place.
                    let tool = offered.unwrap_or(&ready.tool);
                    Ok(Held {
                        tool: Arc::clone(tool),
                        approved: None,
                    })
                } else if (same && !moved) || record {
                    Ok(Held {
                        tool: Arc::clone(&ready.tool),
                        approved: Some(Arc::clone(ready)),
                    })
                } else {
                    Err(Unheld::Drifted)
                }
            }
        }
    }

    /// The three digests that a call's entry names: as it was discovered, as it
    /// was approved, as it was taken to be.
    pub(crate) fn digests(
        &self,
        server: &str,
        listing: &Listing,
        held: Option<&Held>,
    ) -> evidence::Catalog {
        let approved = match self {
            Self::Discovered => None,
            Self::Locked(locked) => locked.servers.get(server).map(|server| server.checkpoint),
        };
        evidence::Catalog {
            discovered: Some(listing.digest),
            approved,
            attributed: held.and_then(|held| match held.approved {
                Some(_) => approved,
                None => Some(listing.digest),
            }),
        }
    }

    /// What differs in a list from what was approved; nothing where nobody
    /// approves.
    pub(crate) fn drift(&self, server: &str, listing: &Listing) -> Vec<Drifted> {
        let Self::Locked(locked) = self else {
            return Vec::new();
        };
        let approved = locked.lock.server(server);
        let found = drift(approved, &listing.offer).into_iter();
        found
            .map(|drift| {
                let digest = |offer: Option<&Offer>| {
                    let name = drift.tool.as_deref()?;
                    Some(offer?.tool(name)?.digest())
                };
                let (approved, discovered) = match drift.change {
                    Change::Moved => (
                        approved.map(Offer::checkpoint),
                        Some(listing.offer.checkpoint()),
                    ),
                    _ => (digest(approved), digest(Some(&listing.offer))),
                };
                Drifted {
                    said: drift.to_string(),
                    tool: drift.tool,
                    approved,
                    discovered,
                }
            })
            .collect()
    }
}

/// One difference, with the digests of both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drifted {
    pub(crate) said: String,
    pub(crate) tool: Option<String>,
    pub(crate) approved: Option<Digest>,
    pub(crate) discovered: Option<Digest>,
}

/// What a tool counts as.
pub(crate) fn class(tool: &Tool) -> Class {
    Class::of(Hints {
        read_only: tool.annotations.read_only,
        destructive: tool.annotations.destructive,
    })
}

/// The lock at a path; an empty one where there is none.
pub(crate) fn read_lock(path: &Path) -> Result<Lock, ApprovedError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lock::default()),
        Err(source) => {
            let path = path.to_owned();
            return Err(ApprovedError::Unreadable { path, source });
        }
    };
    Lock::read(&text).map_err(|source| ApprovedError::Lock {
        path: path.to_owned(),
        source,
    })
}
