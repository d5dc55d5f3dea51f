//! The servers behind the gateway, of which the gateway is the client.
//!
//! One request of a client is at most one request here: no retry, no redirect,
//! no initialize-and-resend. Once a byte of a request may have left, nothing is
//! sent again and only an authoritative answer says what became of it
//! (`docs/spec/protocol.md` §1). Sessions and processes belong to one agent.

mod conversation;
mod http;
mod stdio;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use countersign_canon::document::Item;
use countersign_evidence::{Agent, RefusalCode};
use countersign_ledger::{GateClosed, SendGate};
use countersign_mcp::{Revision, envelope, server::Identity};
use tokio::sync::watch;

use crate::config;
use crate::delivery::{Cancel, Progress};

/// How long an answer is still waited for once its request was cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

/// Who the gateway is.
pub(crate) const IDENTITY: Identity = Identity {
    name: "countersign",
    version: env!("CARGO_PKG_VERSION"),
};

/// One upstream server, over whichever transport.
#[derive(Debug)]
pub(crate) struct Upstream {
    kind: Kind,
    revision: Revision,
    call_timeout: Duration,
    connect_timeout: Duration,
    signals: Signals,
}

#[derive(Debug)]
enum Kind {
    Http(http::Http),
    Stdio(stdio::Stdio),
}

/// What upstreams and the gateway tell each other beside requests.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    /// Set where the upstream said that its list of tools has changed.
    pub(crate) tools_changed: Arc<AtomicBool>,
    greeted: Arc<AtomicBool>,
    /// True once what still runs must end.
    pub(crate) hurry: watch::Receiver<bool>,
}

/// One request to an upstream.
pub(crate) struct Request<'r> {
    /// Its method.
    pub(crate) method: &'r str,
    /// What `Mcp-Name` says, in revisions that have it.
    pub(crate) name: Option<&'r str>,
    /// What `Mcp-Param-*` say, likewise: a name in lower case without the
    /// prefix, and the argument where it is present.
    pub(crate) mirrored: &'r [(String, Option<String>)],
    /// Writes the message under the id that the gateway mints for it; none
    /// where it cannot be written, and then nothing is sent.
    pub(crate) body: &'r (dyn Fn(u64) -> Option<Vec<u8>> + Send + Sync),
    /// Passed directly before the first byte is written.
    pub(crate) gate: Option<SendGate>,
    /// Where progress goes, if the client asked for it.
    pub(crate) progress: Option<Progress>,
    /// Whether its caller still wants an answer.
    pub(crate) cancel: Cancel,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exchange<T> {
    /// It is certain that no byte of it left.
    NotSent(Reason),
    /// Bytes may have left, and no authoritative answer came.
    Unanswered {
        /// Why.
        reason: Reason,
        /// Something came that could not be relied on.
        received: bool,
    },
    /// The upstream answered.
    Answered(T),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It could not be connected to, started or greeted.
    Unreachable,
    /// The reservation does not hold any more.
    ReservationLost,
    /// The time was up.
    Timeout,
    /// The connection or the process ended.
    Closed,
    /// The stream or the body ended without an answer to this request.
    NoAnswer,
    /// A status, or a content type, that carries no answer.
    Status,
    /// What came is refused by the strict reader, or is no tool result.
    Unreadable,
    /// What came is larger than a message may be.
    TooLarge,
    /// The request could not be put together from the action.
    Unwritable,
    /// The caller cancelled it.
    Cancelled,
    /// The gateway shuts down.
    ShuttingDown,
}

impl Reason {
    /// The stable code, as it stands in entries.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "upstream-unreachable",
            Self::ReservationLost => "reservation-lost",
            Self::Timeout => "upstream-timeout",
            Self::Closed => "upstream-closed",
            Self::NoAnswer => "upstream-no-answer",
            Self::Status => "upstream-status",
            Self::Unreadable => "upstream-unreadable",
            Self::TooLarge => "upstream-too-large",
            Self::Unwritable => "request-unwritable",
            Self::Cancelled => "cancelled",
            Self::ShuttingDown => "shutting-down",
        }
    }

    /// The same, as entries take it.
    #[must_use]
    pub(crate) fn code(self) -> Option<RefusalCode> {
        RefusalCode::new(self.as_str()).ok()
    }
}

/// A result, or an error object.
pub(crate) type Answer<'d> = Result<Item<'d>, Item<'d>>;

/// Reads an answer. None where it is of no form that the caller knows.
pub(crate) trait Read<T>: FnOnce(Answer<'_>) -> Option<T> + Send {}
impl<T, F: FnOnce(Answer<'_>) -> Option<T> + Send> Read<T> for F {}

impl Upstream {
    /// An upstream as it is configured; nothing is connected or started yet.
    ///
    /// # Errors
    /// Where TLS cannot be set up.
    pub(crate) fn new(
        server: &config::Server,
        inherited: &[(String, String)],
        hurry: watch::Receiver<bool>,
    ) -> Result<Self, rustls::Error> {
        let signals = Signals {
            tools_changed: Arc::default(),
            greeted: Arc::default(),
            hurry,
        };
        let kind = match &server.transport {
            config::Transport::Http {
                url,
                headers,
                roots,
            } => Kind::Http(http::Http::new(
                url.clone(),
                headers.clone(),
                roots.as_deref(),
                signals.clone(),
            )?),
            config::Transport::Stdio {
                program,
                arguments,
                environment,
                folder,
            } => {
                let mut variables = inherited.to_vec();
                for (name, value) in environment {
                    variables.push((name.clone(), value.reveal().to_owned()));
                }
                let command = stdio::Command {
                    program: program.clone(),
                    arguments: arguments.clone(),
                    variables,
                    folder: folder.clone(),
                };
                Kind::Stdio(stdio::Stdio::new(
                    server.name.clone(),
                    command,
                    signals.clone(),
                ))
            }
        };
        Ok(Self {
            kind,
            revision: server.revision,
            call_timeout: server.call_timeout,
            connect_timeout: server.connect_timeout,
            signals,
        })
    }

    /// The revision that the gateway speaks with it.
    #[must_use]
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether the list of tools may have changed; asking does not reset it.
    pub(crate) fn tools_may_have_changed(&self) -> bool {
        self.signals.tools_changed.load(Ordering::SeqCst)
    }

    /// Whether the list of tools is known to have changed; asking resets it.
    pub(crate) fn take_tools_changed(&self) -> bool {
        self.signals.tools_changed.swap(false, Ordering::SeqCst)
    }

    /// Opens an agent's session where there is none, so that it is known
    /// before anything is reserved whether the upstream can be spoken to.
    ///
    /// # Errors
    /// Why it cannot.
    pub(crate) async fn ready(&self, agent: &Agent) -> Result<(), Reason> {
        let opening = async {
            match &self.kind {
                Kind::Http(http) => http.prepare(agent, self.revision).await,
                Kind::Stdio(stdio) => stdio.prepare(agent, self.revision).await,
            }
        };
        tokio::time::timeout(self.connect_timeout, opening)
            .await
            .unwrap_or(Err(Reason::Timeout))
    }

    /// Sends one request and reads its answer.
    pub(crate) async fn exchange<T: Send>(
        &self,
        agent: &Agent,
        request: Request<'_>,
        read: impl Read<T>,
    ) -> Exchange<T> {
        if let Err(reason) = self.ready(agent).await {
            return Exchange::NotSent(reason);
        }
        let trace = Trace::default();
        let mut hurry = self.signals.hurry.clone();
        let cancel = request.cancel.clone();
        let mut exchange = Box::pin(async {
            match &self.kind {
                Kind::Http(http) => {
                    http.exchange(agent, self.revision, request, &trace, read)
                        .await
                }
                Kind::Stdio(stdio) => {
                    stdio
                        .exchange(agent, self.revision, request, &trace, read)
                        .await
                }
            }
        });
        let reason = tokio::select! {
            // Whoever cancelled before anything was sent is taken at their word.
            biased;
            () = cancel.requested() => Reason::Cancelled,
            exchange = &mut exchange => return exchange,
            () = tokio::time::sleep(self.call_timeout) => Reason::Timeout,
            _ = hurry.wait_for(|hurry| *hurry) => Reason::ShuttingDown,
        };
        if reason == Reason::Cancelled && trace.left() {
            // A cancel undoes nothing, and the answer may be on its way.
            let telling = async {
                self.cancel(agent, trace.id()).await;
                tokio::time::sleep(AFTER_CANCEL).await;
            };
            tokio::select! {
                exchange = &mut exchange => return exchange,
                () = telling => {}
            }
            drop(exchange);
            return Exchange::Unanswered {
                reason,
                received: false,
            };
        }
        // Closes its stream, so that nothing more is written.
        drop(exchange);
        if trace.left() {
            self.cancel(agent, trace.id()).await;
            Exchange::Unanswered {
                reason,
                received: false,
            }
        } else {
            Exchange::NotSent(reason)
        }
    }

    /// Tells the upstream that nobody waits any more; best effort. Without
    /// sessions, closing the stream has said so already.
    async fn cancel(&self, agent: &Agent, id: u64) {
        if !self.revision.has_sessions() {
            return;
        }
        let params = format!("{{\"requestId\":{id}}}");
        let body = envelope::message(None, "notifications/cancelled", Some(params.as_bytes()));
        let telling = async {
            match &self.kind {
                Kind::Http(http) => http.tell(agent, body).await,
                Kind::Stdio(stdio) => stdio.tell(agent, body).await,
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), telling).await;
    }

    /// Ends sessions and processes.
    pub(crate) async fn close(&self) {
        match &self.kind {
            Kind::Http(http) => http.close().await,
            Kind::Stdio(stdio) => stdio.close().await,
        }
    }
}

impl Signals {
    /// Notes that a session or a process was greeted. Every one after the
    /// first may offer other tools.
    pub(crate) fn greeted(&self) {
        if self.greeted.swap(true, Ordering::SeqCst) {
            self.tools_changed.store(true, Ordering::SeqCst);
        }
    }
}

/// How far one request came; shared with whoever writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Traced>);

#[derive(Debug, Default)]
struct Traced {
    left: AtomicBool,
    refused: AtomicBool,
    id: AtomicU64,
}

impl Trace {
    /// Asks the gate, directly before the first byte; then bytes may leave.
    pub(crate) fn pass(&self, gate: Option<&SendGate>) -> Result<(), GateClosed> {
        if let Some(Err(closed)) = gate.map(SendGate::pass) {
            self.0.refused.store(true, Ordering::SeqCst);
            return Err(closed);
        }
        self.0.left.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Whether bytes may have left.
    pub(crate) fn left(&self) -> bool {
        self.0.left.load(Ordering::SeqCst)
    }

    /// Whether the gate was closed, so that none did.
    pub(crate) fn refused(&self) -> bool {
        self.0.refused.load(Ordering::SeqCst)
    }

    pub(crate) fn set_id(&self, id: u64) {
        self.0.id.store(id, Ordering::SeqCst);
    }

    fn id(&self) -> u64 {
        self.0.id.load(Ordering::SeqCst)
    }
}
