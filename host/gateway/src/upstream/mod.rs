//! The servers behind the gateway, of which the gateway is the client.
//!
//! One request of a client is at most one request here: no retry, no redirect,
//! no initialize-and-resend. Once a byte of a request may have left, nothing is
//! sent again and only an authoritative answer says what became of it
//! (`docs/spec/protocol.md` §1). Sessions and processes belong to one agent.
//!
//! `request` is what is sent and what may become of it, `trace` how far it
//! came, `health` and `breaker` whether it is tried at all, `slot` who tries.

mod asked;
mod breaker;
mod conversation;
mod health;
mod http;
mod news;
mod offer;
mod request;
mod seats;
mod slot;
mod stdio;
mod trace;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use countersign_evidence::Agent;
use countersign_mcp::asks::Permitted;
use countersign_mcp::capability::Offer;
use countersign_mcp::{Revision, envelope, server::Identity};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use self::breaker::Breaker;
use crate::config;
pub(crate) use breaker::{Condition, Unready};
pub(crate) use news::{News, Topic};
pub(crate) use request::{Answer, Exchange, Read, Reason, Request};
pub(crate) use slot::Slot;
pub(crate) use trace::Trace;
use trace::Way;

/// How long an answer is still waited for once its request was cancelled.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

/// How long it may take to tell it something.
const TELL: Duration = Duration::from_secs(1);

/// Who the gateway is.
pub(crate) const IDENTITY: Identity = Identity {
    name: "countersign",
    version: env!("CARGO_PKG_VERSION"),
};

/// One upstream server, over whichever transport.
#[derive(Debug)]
pub(crate) struct Upstream {
    kind: Kind,
    breaker: Arc<Breaker>,
    revision: Revision,
    call_timeout: Duration,
    connect_timeout: Duration,
    permitted: Arc<Permitted>,
    signals: Signals,
    /// What it said that it offers, and when; without sessions only.
    discovered: Slot<Option<(Instant, Offer)>>,
}

/// What a client's own stream needs of the upstream while it is open.
#[derive(Debug)]
#[allow(dead_code, reason = "held for its drop")]
pub(crate) enum Held {
    /// A stream of the upstream's own.
    Stream(Arc<http::Listening>),
    /// The agent's process.
    Process(stdio::Taken),
}

#[derive(Debug)]
enum Kind {
    Http(http::Http),
    Stdio(Box<stdio::Stdio>),
}

/// What upstreams and the gateway tell each other beside requests.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    /// How often the upstream said that its list of tools has changed.
    pub(crate) tools_changed: Arc<AtomicU64>,
    greeted: Arc<AtomicBool>,
    /// What it tells apart from requests.
    pub(crate) news: news::Desk,
    /// True once what still runs must end.
    pub(crate) hurry: watch::Receiver<bool>,
}

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
                server.connect_timeout,
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
                Kind::Stdio(Box::new(stdio::Stdio::new(
                    server.name.clone(),
                    command,
                    server.permitted.capabilities(),
                    server.patience,
                    server.connect_timeout,
                    signals.clone(),
                )))
            }
        };
        Ok(Self {
            kind,
            breaker: Arc::new(Breaker::new(server.name.as_str(), server.patience)),
            revision: server.revision,
            call_timeout: server.call_timeout,
            connect_timeout: server.connect_timeout,
            permitted: Arc::new(server.permitted.clone()),
            signals,
            discovered: Slot::default(),
        })
    }

    /// The revision that the gateway speaks with it.
    #[must_use]
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// How long all pages of a list may take together, a greeting among it.
    #[must_use]
    pub(crate) fn list_timeout(&self) -> Duration {
        self.connect_timeout.saturating_add(self.call_timeout)
    }

    /// How often it was heard that the list of tools may have changed.
    pub(crate) fn tools_changes(&self) -> u64 {
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

    /// Tells every client that the list of tools which it is shown has changed.
    pub(crate) fn tell_of_tools(&self) {
        self.signals.news.tell_of_tools();
    }

    /// Holds a stream of the upstream's own open for an agent, or keeps its
    /// process, for as long as what this gives is held; none where there is none.
    pub(crate) fn listening(&self, agent: &Agent) -> Option<Held> {
        match &self.kind {
            Kind::Http(http) if self.revision.has_sessions() => Some(Held::Stream(http.listening(
                agent,
                self.revision,
                &self.breaker,
            ))),
            Kind::Http(_) => None,
            Kind::Stdio(stdio) => Some(Held::Process(stdio.hold(agent)?)),
        }
    }

    /// Ends sessions and processes that nobody has used for long.
    pub(crate) fn tidy(&self) {
        match &self.kind {
            Kind::Http(http) => http.tidy(seats::IDLE),
            Kind::Stdio(stdio) => stdio.tidy(seats::IDLE),
        }
    }

    /// As if it had said that its list of tools has changed.
    pub(crate) fn tools_have_changed(&self) {
        self.signals.tools_changed.fetch_add(1, Ordering::SeqCst);
    }

    /// Sends one request and reads its answer.
    pub(crate) async fn exchange<T: Send>(
        &self,
        agent: &Agent,
        request: Request<'_>,
        read: impl Read<T>,
    ) -> Exchange<T> {
        // Whoever holds a reservation is past the breaker.
        let ready = match request.gate {
            Some(_) => self.ready_still(agent).await,
            None => self.ready(agent).await.map_err(|unready| unready.reason),
        };
        if let Err(reason) = ready {
            return Exchange::NotSent(reason);
        }
        let trace = Trace::default();
        let exchange = self.send(agent, request, &trace, read).await;
        self.met(&exchange, &trace);
        exchange
    }

    async fn send<T: Send>(
        &self,
        agent: &Agent,
        request: Request<'_>,
        trace: &Trace,
        read: impl Read<T>,
    ) -> Exchange<T> {
        let mut hurry = self.signals.hurry.clone();
        let cancel = request.cancel.clone();
        let endless = request.endless;
        let mut exchange = Box::pin(async {
            match &self.kind {
                Kind::Http(http) => {
                    http.exchange(agent, self.revision, request, trace, read)
                        .await
                }
                Kind::Stdio(stdio) => {
                    stdio
                        .exchange(agent, self.revision, request, trace, read)
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
                self.cancel(trace).await;
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
        // Closes its stream, so that nothing more is written; where nothing was
        // yet, nothing is.
        drop(exchange);
        if trace.close() {
            self.cancel(trace).await;
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

    /// Tells the upstream that nobody waits any more, where the request went and
    /// nowhere else; best effort.
    async fn cancel(&self, trace: &Trace) {
        let Some((way, id)) = trace.way().filter(|_| self.hears_cancels()) else {
            return;
        };
        let (method, params) = ("notifications/cancelled", format!("{{\"requestId\":{id}}}"));
        let body = envelope::message(None, method, Some(params.as_bytes()));
        let telling = async {
            match (way, &self.kind) {
                (Way::Session(session), Kind::Http(http)) => {
                    http.tell_in(session, method, body).await;
                }
                (Way::Process(process), _) => process.tell(body).await,
                (Way::Session(_), Kind::Stdio(_)) => {}
            }
        };
        let _ = tokio::time::timeout(TELL, telling).await;
    }

    /// Tells the upstream something that has no answer and is about no request;
    /// best effort.
    pub(crate) async fn tell(&self, agent: &Agent, method: &str, params: Option<&[u8]>) {
        let body = envelope::message(None, method, params);
        let telling = async {
            match &self.kind {
                Kind::Http(http) => http.tell(agent, method, body).await,
                Kind::Stdio(stdio) => stdio.tell(agent, body).await,
            }
        };
        let _ = tokio::time::timeout(TELL, telling).await;
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
            self.tools_changed.fetch_add(1, Ordering::SeqCst);
        }
    }
}
