//! An upstream that speaks Streamable HTTP.

mod connect;
mod leave;
mod listen;
mod meter;
mod receive;
mod session;
mod tell;

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use countersign_evidence::Agent;
use countersign_ledger::SendGate;
use countersign_mcp::capability::Offer;
use countersign_mcp::headers::{METHOD, NAME, PARAM_PREFIX, PROTOCOL_VERSION, SESSION_ID, encoded};
use countersign_mcp::{Revision, envelope, mirror};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Uri};
use http_body_util::Full;
use rustls::pki_types::CertificateDer;

use self::connect::{Connection, Connector, Response};
pub(crate) use self::listen::Listening;
use self::receive::{Open, Received, Rest};
pub(super) use self::session::Session;
use self::session::{Place, Sessions};
use super::breaker::{Breaker, Unready};
use super::{Answer, Exchange, IDENTITY, Read, Reason, Request, Signals, Trace, Way};

/// The longest list of connections that were found closed before a byte was
/// written; after that many the upstream counts as unreachable.
const MOST_REPLACED: usize = 8;

#[derive(Debug)]
pub(super) struct Http {
    inner: Arc<Inner>,
    listeners: listen::Listeners,
}

/// What requests need; shared with the streams that are held open.
#[derive(Debug)]
pub(super) struct Inner {
    url: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    connector: Arc<Connector>,
    sessions: Sessions,
    /// For what goes on by itself.
    me: Weak<Self>,
    /// With which clients' capabilities an upstream is greeted, in JSON.
    capabilities: Vec<u8>,
    connect_timeout: Duration,
    signals: Signals,
}

/// A request that was sent, with the head of its response.
struct Sent {
    response: Response,
    connection: Connection,
}

impl Http {
    pub(super) fn new(
        url: Uri,
        headers: Vec<(HeaderName, HeaderValue)>,
        roots: Option<&[CertificateDer<'static>]>,
        capabilities: Vec<u8>,
        connect_timeout: Duration,
        signals: Signals,
    ) -> Result<Self, rustls::Error> {
        let connector = Arc::new(Connector::new(&url, roots)?);
        let inner = Arc::new_cyclic(|me| Inner {
            url,
            headers,
            connector,
            sessions: session::none(),
            me: me.clone(),
            capabilities,
            connect_timeout,
            signals,
        });
        Ok(Self {
            inner,
            listeners: listen::Listeners::default(),
        })
    }

    /// A stream of the upstream's own, one for each agent however many want it.
    pub(super) fn listening(
        &self,
        agent: &Agent,
        revision: Revision,
        breaker: &Arc<Breaker>,
    ) -> Arc<Listening> {
        self.listeners.hold(&self.inner, agent, revision, breaker)
    }
}

impl std::ops::Deref for Http {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl Inner {
    /// What the upstream said to an agent that it offers.
    pub(super) async fn offer(&self, agent: &Agent, revision: Revision) -> Result<Offer, Reason> {
        let place = self.place(agent)?;
        let ready = self.ready(&place, agent, revision).await;
        ready
            .map(|session| session.offer)
            .map_err(|unready| unready.reason)
    }

    /// Opens the agent's session where there is none. With `prove` a connection
    /// is opened first, which the next request takes, so that it is known
    /// whether one comes about.
    pub(super) async fn prepare(
        &self,
        agent: &Agent,
        revision: Revision,
        prove: bool,
    ) -> Result<(), Unready> {
        if prove {
            let connection = self.connect().await?;
            self.connector.keep(connection);
        }
        let place = self.place(agent)?;
        self.ready(&place, agent, revision).await.map(drop)
    }

    /// The agent's session, opened where there is none.
    async fn ready(
        &self,
        place: &Place,
        agent: &Agent,
        revision: Revision,
    ) -> Result<Arc<Session>, Unready> {
        let mut slot = place.turn().await;
        if let Some(session) = slot.as_ref().filter(|session| !session.is_gone()) {
            return Ok(session.clone());
        }
        let session = Arc::new(if revision.has_sessions() {
            let greeting = self.greet(agent, revision);
            slot.attempt(self.connect_timeout, greeting).await?
        } else {
            Session::without(revision)
        });
        self.signals.greeted();
        *slot = Some(session.clone());
        Ok(session)
    }

    async fn greet(&self, agent: &Agent, revision: Revision) -> Result<Session, Reason> {
        let opening = Session::without(revision);
        let id = opening.next_id();
        let params = IDENTITY.greeting(revision, &self.capabilities);
        let body = envelope::message(Some(id), "initialize", Some(&params));
        let head = Head {
            session: None,
            method: "initialize",
            name: None,
            mirrored: &[],
        };
        let request = self.request(Method::POST, &head, body)?;
        let sent = self
            .send(request, None, &Trace::default())
            .await
            .map_err(|(r, _)| r)?;
        let secret = sent.response.headers().get(SESSION_ID).cloned();
        let read = |answer: Answer<'_>| {
            let result = answer.ok()?;
            let version = result.get("protocolVersion")?.text()?;
            Some((version.parse::<Revision>().ok()?, Offer::of(result)))
        };
        let open = Open {
            id,
            agent,
            line: None,
            signals: &self.signals,
            back: None,
        };
        let (received, rest) = receive::answer(sent.response, &open, read).await;
        self.recycle(sent.connection, rest);
        let Received::Answer(value) = received else {
            self.ungreeted("the server did not answer `initialize`");
            return Err(Reason::Ungreeted);
        };
        let (agreed, offer) = value;
        if !agreed.has_sessions() {
            self.ungreeted(&format!("the server negotiated `{agreed}` in `initialize`"));
            return Err(Reason::Ungreeted);
        }
        let session = Session::greeted(agreed, offer, secret);
        let body = envelope::message(None, "notifications/initialized", None);
        self.post_quietly(&session, "notifications/initialized", body)
            .await
            .map_err(|reason| match reason {
                Reason::Status => Reason::Ungreeted,
                _ => Reason::Unreachable,
            })?;
        Ok(session)
    }

    /// Says where a server is that cannot be greeted; its path and its query may
    /// hold a secret.
    fn ungreeted(&self, what: &str) {
        let (host, port) = (self.url.host(), self.url.port_u16());
        tracing::warn!(host, port, "{what}");
    }

    pub(super) async fn exchange<T: Send>(
        &self,
        agent: &Agent,
        revision: Revision,
        request: Request<'_>,
        trace: &Trace,
        read: impl Read<T>,
    ) -> Exchange<T> {
        let place = match self.place(agent) {
            Ok(place) => place,
            Err(reason) => return Exchange::NotSent(reason),
        };
        let session = match self.ready(&place, agent, revision).await {
            Ok(session) => session,
            Err(unready) => {
                if unready.is_of_another() {
                    trace.waits();
                }
                return Exchange::NotSent(unready.reason);
            }
        };
        let id = session.next_id();
        trace.goes(Way::Session(Arc::clone(&session)), id);
        let head = Head {
            session: Some(&session),
            method: request.method,
            name: request.name,
            mirrored: request.mirrored,
        };
        let Some(body) = (request.body)(id) else {
            return Exchange::NotSent(Reason::Unwritable);
        };
        let message = match self.request(Method::POST, &head, body) {
            Ok(message) => message,
            Err(reason) => return Exchange::NotSent(reason),
        };
        let sent = match self.send(message, request.gate.as_ref(), trace).await {
            Ok(sent) => sent,
            Err((reason, false)) => return Exchange::NotSent(reason),
            Err((reason, true)) => {
                return Exchange::Unanswered {
                    reason,
                    received: false,
                };
            }
        };
        // The next request opens a new one; this one is not sent again.
        session.met(sent.response.status());
        let open = Open {
            id,
            agent,
            line: request.line.as_ref(),
            signals: &self.signals,
            back: Some((self, &session)),
        };
        let (received, rest) = receive::answer(sent.response, &open, read).await;
        self.recycle(sent.connection, rest);
        match received {
            Received::Answer(value) => Exchange::Answered(value),
            Received::Nothing { reason, received } => Exchange::Unanswered { reason, received },
        }
    }

    /// A new connection, within its time whoever waits for it.
    async fn connect(&self) -> Result<Connection, Reason> {
        let opening = tokio::time::timeout(self.connect_timeout, self.connector.open());
        opening.await.unwrap_or(Err(Reason::Timeout))
    }

    /// Writes a request on an idle connection or a new one. On failure says
    /// whether bytes may have left.
    async fn send(
        &self,
        request: http::Request<Full<Bytes>>,
        gate: Option<&SendGate>,
        trace: &Trace,
    ) -> Result<Sent, (Reason, bool)> {
        let mut request = request;
        for _ in 0..MOST_REPLACED {
            let mut connection = match self.connector.idle() {
                Some(connection) => connection,
                None => self.connect().await.map_err(|reason| (reason, false))?,
            };
            if connection.sender.ready().await.is_err() {
                continue;
            }
            connection.meter.arm(gate.cloned(), trace.clone());
            let mut failed = match connection.sender.try_send_request(request).await {
                Ok(response) => {
                    return Ok(Sent {
                        response,
                        connection,
                    });
                }
                Err(failed) => failed,
            };
            if trace.left() {
                return Err((Reason::Closed, true));
            }
            if trace.refused() {
                return Err((Reason::ReservationLost, false));
            }
            match failed.take_message() {
                Some(unsent) => request = unsent,
                None => return Err((Reason::Closed, trace.close())),
            }
        }
        Err((Reason::Unreachable, false))
    }

    fn recycle(&self, connection: Connection, rest: Rest) {
        match rest {
            Rest::Nothing => self.connector.keep(connection),
            Rest::Stream(body) => self.connector.keep_after(connection, body),
            Rest::Dropped => {}
        }
    }

    fn request(
        &self,
        method: Method,
        head: &Head<'_>,
        body: Vec<u8>,
    ) -> Result<http::Request<Full<Bytes>>, Reason> {
        let path = self
            .url
            .path_and_query()
            .map_or("/", http::uri::PathAndQuery::as_str);
        let host = self
            .url
            .authority()
            .map_or("", http::uri::Authority::as_str);
        let mut builder = http::Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, host)
            .header(
                USER_AGENT,
                concat!("countersign/", env!("CARGO_PKG_VERSION")),
            )
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        if let Some(session) = head.session {
            builder = builder.header(PROTOCOL_VERSION, session.revision.as_str());
            if let Some(secret) = &session.secret {
                builder = builder.header(SESSION_ID, secret);
            }
            if !session.revision.has_sessions() && !head.method.is_empty() {
                builder = builder.header(METHOD, head.method);
                if let Some(name) = head.name {
                    builder = builder.header(NAME, encoded(name));
                }
                for (name, value) in head.mirrored {
                    if let Some(value) = value {
                        builder = builder
                            .header(format!("{PARAM_PREFIX}{name}"), encoded(&value.to_string()));
                    }
                }
            }
        }
        builder
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| Reason::Unwritable)
    }
}

/// What the headers of one request depend on.
struct Head<'h> {
    /// None for `initialize`.
    session: Option<&'h Session>,
    method: &'h str,
    name: Option<&'h str>,
    mirrored: &'h [(String, Option<mirror::Argument>)],
}
