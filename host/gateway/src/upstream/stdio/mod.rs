//! An upstream that is a process of our own: one JSON message a line.
//!
//! Each agent has a process to itself, started at its first use and again
//! after it ended. It is given a clean environment, and what it writes to its
//! standard error goes to the log of the gateway.

mod process;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_canon::document::Item;
use countersign_evidence::{Agent, ServerName};
use countersign_mcp::capability::Offer;
use countersign_mcp::incoming;
use countersign_mcp::{Revision, envelope};

use self::process::Process;
use super::conversation::{Around, Step, step};
use super::{Exchange, IDENTITY, Read, Reason, Request, Signals, Trace};

/// What is started.
#[derive(Clone)]
pub(super) struct Command {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) folder: Option<PathBuf>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Arc<Process>>>>;

#[derive(Debug)]
pub(super) struct Stdio {
    server: ServerName,
    command: Command,
    /// With which clients' capabilities an upstream is greeted, in JSON.
    capabilities: Vec<u8>,
    signals: Signals,
    processes: Mutex<HashMap<Agent, Slot>>,
}

impl Stdio {
    pub(super) fn new(
        server: ServerName,
        command: Command,
        capabilities: Vec<u8>,
        signals: Signals,
    ) -> Self {
        Self {
            server,
            command,
            capabilities,
            signals,
            processes: Mutex::default(),
        }
    }

    fn slot(&self, agent: &Agent) -> Slot {
        let mut slots = self
            .processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(agent.clone()).or_default())
    }

    /// Starts the agent's process where there is none.
    pub(super) async fn prepare(&self, agent: &Agent, revision: Revision) -> Result<(), Reason> {
        self.ready(agent, revision).await.map(drop)
    }

    /// What the agent's process said that it offers.
    pub(super) async fn offer(&self, agent: &Agent, revision: Revision) -> Result<Offer, Reason> {
        Ok(self.ready(agent, revision).await?.offer())
    }

    /// The agent's process, started and greeted where there is none.
    async fn ready(&self, agent: &Agent, revision: Revision) -> Result<Arc<Process>, Reason> {
        let slot = self.slot(agent);
        let mut slot = slot.lock().await;
        if let Some(process) = slot.as_ref().filter(|process| !process.has_ended()) {
            return Ok(Arc::clone(process));
        }
        let process = Process::start(&self.server, agent, &self.command, self.signals.clone())?;
        if revision.has_sessions() {
            let offer = greet(&process, revision, &self.capabilities).await?;
            process.offers(offer);
        }
        self.signals.greeted();
        *slot = Some(Arc::clone(&process));
        Ok(process)
    }

    pub(super) async fn exchange<T: Send>(
        &self,
        agent: &Agent,
        revision: Revision,
        request: Request<'_>,
        trace: &Trace,
        read: impl Read<T>,
    ) -> Exchange<T> {
        let process = match self.ready(agent, revision).await {
            Ok(process) => process,
            Err(reason) => return Exchange::NotSent(reason),
        };
        let mut waiting = process.register();
        let id = waiting.id();
        trace.set_id(id);
        let Some(body) = (request.body)(id) else {
            return Exchange::NotSent(Reason::Unwritable);
        };
        if let Err(reason) = process.write(body, request.gate.as_ref(), trace).await {
            return if trace.left() {
                Exchange::Unanswered {
                    reason,
                    received: false,
                }
            } else {
                Exchange::NotSent(reason)
            };
        }
        let mut read = Some(read);
        while let Some(line) = waiting.next().await {
            let unreadable = Exchange::Unanswered {
                reason: Reason::Unreadable,
                received: true,
            };
            let Ok(document) = incoming::read(&line) else {
                return unreadable;
            };
            let Ok(message) = incoming::message(&document) else {
                return unreadable;
            };
            let around = Around {
                agent,
                ours: Some(id),
                line: request.line.as_ref(),
                signals: &self.signals,
            };
            if let Step::Answer(answer) = step(message, around) {
                return match read.take().and_then(|read| read(answer)) {
                    Some(value) => Exchange::Answered(value),
                    None => unreadable,
                };
            }
        }
        Exchange::Unanswered {
            reason: Reason::Closed,
            received: false,
        }
    }

    pub(super) async fn tell(&self, agent: &Agent, body: Vec<u8>) {
        let process = self.slot(agent).lock().await.clone();
        if let Some(process) = process {
            let _ = process.write(body, None, &Trace::default()).await;
        }
    }

    pub(super) async fn close(&self) {
        let slots: Vec<Slot> = {
            let mut slots = self
                .processes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            slots.drain().map(|(_, slot)| slot).collect()
        };
        for slot in slots {
            if let Some(process) = slot.lock().await.take() {
                process.end().await;
            }
        }
    }
}

async fn greet(
    process: &Arc<Process>,
    revision: Revision,
    capabilities: &[u8],
) -> Result<Offer, Reason> {
    let mut waiting = process.register();
    let params = IDENTITY.greeting(revision, capabilities);
    let body = envelope::message(Some(waiting.id()), "initialize", Some(&params));
    process.write(body, None, &Trace::default()).await?;
    let line = waiting.next().await.ok_or(Reason::Unreachable)?;
    let agreed = agreed(&line, waiting.id()).filter(|(agreed, _)| agreed.has_sessions());
    let Some((_, offer)) = agreed else {
        tracing::warn!("the server did not answer `initialize`");
        return Err(Reason::Unreachable);
    };
    let body = envelope::message(None, "notifications/initialized", None);
    process.write(body, None, &Trace::default()).await?;
    Ok(offer)
}

fn agreed(line: &[u8], ours: u64) -> Option<(Revision, Offer)> {
    let document = incoming::read(line).ok()?;
    let incoming::Incoming::Reply {
        id,
        answer: Ok(result),
    } = incoming::message(&document).ok()?
    else {
        return None;
    };
    let version = result.get("protocolVersion").and_then(Item::text)?;
    let revision = version.parse().ok()?;
    incoming::is_ours(id, ours).then(|| (revision, Offer::of(result)))
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments and variables may hold secrets.
        f.debug_struct("Command")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
