//! The servers behind the gateway, of which the gateway is the client.
//!
//! One request of a client is at most one request here: no retry, no redirect,
//! no initialize-and-resend. Once a byte of a request may have left, nothing is
//! sent again and only an authoritative answer says what became of it
//! (`docs/spec/protocol.md` §1). Sessions and processes belong to one agent.

mod conversation;
mod http;
mod news;
mod stdio;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use countersign_canon::document::Item;
use countersign_evidence::{Agent, RefusalCode};
use countersign_ledger::{GateClosed, SendGate};
use countersign_mcp::asks::Permitted;
use countersign_mcp::capability::Offer;
use countersign_mcp::{Revision, envelope, json::Object, server::Identity};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use crate::config;
use crate::delivery::{Cancel, Line};
pub(crate) use http::Listening;
pub(crate) use news::{News, Topic};

/// How long an answer is still waited for once its request was cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

/// What an upstream without sessions offers is asked again after this long.
const OFFER_HOLDS: Duration = Duration::from_secs(30);

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
    permitted: Arc<Permitted>,
    signals: Signals,
    /// What it said that it offers, and when; without sessions only.
    discovered: tokio::sync::Mutex<Option<(Instant, Offer)>>,
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
    /// What it tells apart from requests.
    pub(crate) news: news::Desk,
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
    /// Where goes what is said before the answer.
    pub(crate) line: Option<Line>,
    /// Whether it stays open until its client goes away.
    pub(crate) endless: bool,
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
            news: news::Desk::default(),
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
                server.permitted.capabilities(),
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
                    server.permitted.capabilities(),
                    signals.clone(),
                ))
            }
        };
        Ok(Self {
            kind,
            revision: server.revision,
            call_timeout: server.call_timeout,
            connect_timeout: server.connect_timeout,
            permitted: Arc::new(server.permitted.clone()),
            signals,
            discovered: tokio::sync::Mutex::default(),
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

    /// What it may ask of its clients.
    #[must_use]
    pub(crate) fn permitted(&self) -> &Arc<Permitted> {
        &self.permitted
    }

    /// Hears of what it tells apart from requests.
    #[must_use]
    pub(crate) fn news(&self) -> broadcast::Receiver<Arc<News>> {
        self.signals.news.listen()
    }

    /// Holds a stream of the upstream's own open for an agent, for as long as
    /// what this gives is held; none where its transport needs none.
    pub(crate) fn listening(&self, agent: &Agent) -> Option<Arc<Listening>> {
        match &self.kind {
            Kind::Http(http) if self.revision.has_sessions() => {
                Some(http.listening(agent, self.revision))
            }
            _ => None,
        }
    }

    /// What it says that it offers to an agent.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub(crate) async fn offer(&self, agent: &Agent) -> Result<Offer, Reason> {
        if self.revision.has_sessions() {
            self.ready(agent).await?;
            return match &self.kind {
                Kind::Http(http) => http.offer(agent, self.revision).await,
                Kind::Stdio(stdio) => stdio.offer(agent, self.revision).await,
            };
        }
        let mut discovered = self.discovered.lock().await;
        if let Some((at, offer)) = *discovered
            && at.elapsed() < OFFER_HOLDS
        {
            return Ok(offer);
        }
        let meta = self.meta(b"{}");
        let params = Object::new().raw("_meta", &meta).finish();
        let body = |id| {
            Some(envelope::message(
                Some(id),
                "server/discover",
                Some(&params),
            ))
        };
        let request = Request {
            method: "server/discover",
            name: None,
            mirrored: &[],
            body: &body,
            gate: None,
            line: None,
            endless: false,
            cancel: Cancel::default(),
        };
        let read = |answer: Answer<'_>| answer.ok().map(Offer::of);
        match self.exchange(agent, request, read).await {
            Exchange::Answered(offer) => {
                *discovered = Some((Instant::now(), offer));
                Ok(offer)
            }
            Exchange::NotSent(reason) | Exchange::Unanswered { reason, .. } => Err(reason),
        }
    }

    /// The `_meta` of a request of the gateway's own, without sessions.
    fn meta(&self, capabilities: &[u8]) -> Vec<u8> {
        let members = IDENTITY.meta(self.revision, capabilities);
        let object = members.iter().fold(Object::new(), |object, (name, value)| {
            object.raw(name, value)
        });
        object.finish()
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
        let endless = request.endless;
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
            () = tokio::time::sleep(self.call_timeout), if !endless => Reason::Timeout,
            _ = hurry.wait_for(|hurry| *hurry) => Reason::ShuttingDown,
        };
        if reason == Reason::Cancelled && trace.left() && self.hears_cancels() {
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

    /// Whether a cancel is told by a notification. Without sessions, closing
    /// the HTTP stream says it.
    fn hears_cancels(&self) -> bool {
        self.revision.has_sessions() || matches!(self.kind, Kind::Stdio(_))
    }

    /// Tells the upstream that nobody waits any more; best effort.
    async fn cancel(&self, agent: &Agent, id: u64) {
        if !self.hears_cancels() {
            return;
        }
        let params = format!("{{\"requestId\":{id}}}");
        self.tell(agent, "notifications/cancelled", Some(params.as_bytes()))
            .await;
    }

    /// Tells the upstream something that has no answer; best effort.
    pub(crate) async fn tell(&self, agent: &Agent, method: &str, params: Option<&[u8]>) {
        let body = envelope::message(None, method, params);
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
