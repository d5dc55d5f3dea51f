//! Requests that are no calls and that the upstream answers: resources,
//! prompts, completion, logging, subscriptions.
//!
//! They pass where an operator lets their method pass and both revisions have
//! it; the bytes of `params` and of the result stay as they were written
//! (`docs/spec/protocol.md` §6). One request of a client is at most one
//! upstream here too. Nothing is reserved and nothing recorded of what passes;
//! what is refused or not answered leaves its entry.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::response::Response;
use countersign_canon::document::{Item, Kind};
use countersign_canon::{Code, Document, Limits, Refusal, Request};
use countersign_mcp::answer::ResultType;
use countersign_mcp::capability::Capability;
use countersign_mcp::methods::Method;
use countersign_mcp::{
    Answer, ErrorCode, Problem, Revision, Verdict, client, code, envelope, json, relay as splice,
};
use tokio::sync::watch;

use super::received::Received;
use super::respond;
use crate::delivery::{self, Cancel, Outbox, Reply};
use crate::identity::Standing;
use crate::pipeline::{Arrival, overloaded, unavailable, unread_because};
use crate::session::{Claim, Sessions};
use crate::state::Gateway;
use crate::upstream::{self, Exchange, IDENTITY};

/// How long a result holds that does not say so itself: not at all.
const NOT_CACHED: [(&str, &[u8]); 2] = [("ttlMs", b"0"), ("cacheScope", b"\"private\"")];

/// What one request needs on its way.
struct Relay {
    arrival: Arrival,
    revision: Revision,
    method: &'static Method,
    request: Request,
    /// The whole message as it arrived.
    message: bytes::Bytes,
    /// The canonical client context.
    context: Vec<u8>,
    streams: bool,
    claim: Option<Claim>,
}

/// Passes one request on.
pub(super) async fn relay(
    received: Received,
    revision: Revision,
    method: &'static Method,
    request: Request,
) -> Response {
    let Received {
        gateway,
        arrival,
        accepts,
        standing,
        message,
        reader: _,
        refused: _,
        traceparent: _,
    } = received;
    let context = match &arrival.session {
        Some(session) => session.context(),
        None => client::context(request.params.as_deref()),
    };
    let mut relay = Relay {
        arrival,
        revision,
        method,
        request,
        message,
        context,
        streams: accepts.events,
        claim: None,
    };
    let refused = match relay.admit(&gateway) {
        Ok(()) => match gateway.running.enter() {
            None => Problem::new(ErrorCode::ShuttingDown),
            Some(alive) => {
                let Arrival { agent, server, .. } = &relay.arrival;
                match gateway.limits.place(agent, &server.name, None) {
                    None => overloaded(),
                    Some(place) => {
                        let (outbox, inbox) = delivery::channel(gateway.untaken.account(agent));
                        tokio::spawn(async move {
                            let reply = relay.while_held(&gateway, &outbox, &standing).await;
                            outbox.finish(reply, (relay, place));
                            drop(alive);
                        });
                        return respond::deliver(inbox, accepts).await;
                    }
                }
            }
        },
        Err(problem) => *problem,
    };
    let refused = unread_because(&gateway, &relay.arrival, refused).await;
    respond::reply(refused.reply(Some(&relay.request.id)))
}

impl Relay {
    /// Whether it passes, as far as that is known without asking upstream.
    fn admit(&mut self, gateway: &Gateway) -> Result<(), Box<Problem>> {
        let Self {
            arrival,
            method,
            revision,
            ..
        } = self;
        let server = &arrival.server;
        if !server.passed.has(method.name) || !method.is_in(*revision) {
            return Err(Problem::new(ErrorCode::MethodNotSupported).into());
        }
        if !method.is_in(server.upstream.revision()) {
            let problem = Problem::new(ErrorCode::MethodNotSupported)
                .because("the protocol version that the server speaks has no such method");
            return Err(problem.into());
        }
        if method.is_endless() && !self.streams {
            return Err(Problem::new(ErrorCode::NotAcceptable).into());
        }
        let message = self.message.clone();
        let document = Document::read(&message, Limits::STANDARD).ok();
        if let Some(params) = document.as_ref().and_then(|read| read.root().get("params")) {
            self.has_meta_of_its_form(params)?;
            self.may_subscribe(&gateway.sessions, params)?;
            self.continues(params)?;
        }
        if let Some(session) = &self.arrival.session {
            let claim = session.claim(&self.request.id);
            let claim = claim.ok_or_else(|| Problem::new(ErrorCode::DuplicateId))?;
            self.claim = Some(claim);
        }
        Ok(())
    }

    /// The gateway writes into `_meta`, so it is an object, as in a call; and
    /// repeats the token with all that it says of progress.
    fn has_meta_of_its_form(&self, params: Item<'_>) -> Result<(), Box<Problem>> {
        let Some(meta) = params.get("_meta") else {
            return Ok(());
        };
        if meta.kind() != Kind::Object {
            return Err(self.malformed("/params/_meta").into());
        }
        match meta.get("progressToken") {
            Some(token) if !client::is_progress_token(token) => {
                Err(self.malformed(client::PROGRESS_TOKEN).into())
            }
            _ => Ok(()),
        }
    }

    fn malformed(&self, pointer: &str) -> Problem {
        Problem::not_admitted(Refusal {
            code: Code::Params,
            pointer: pointer.to_owned(),
            offset: u32::try_from(self.message.len()).unwrap_or(u32::MAX),
        })
    }

    /// A session that is subscribed to as much as it may be would not be told of more.
    fn may_subscribe(&self, sessions: &Sessions, params: Item<'_>) -> Result<(), Box<Problem>> {
        let uri = params.get("uri").and_then(Item::text);
        match (&self.arrival.session, self.method.name, uri) {
            (Some(session), "resources/subscribe", Some(uri))
                if !sessions.may_subscribe(session, &uri) =>
            {
                Err(overloaded().into())
            }
            _ => Ok(()),
        }
    }

    /// A later round carries a state that was issued to this agent.
    fn continues(&self, params: Item<'_>) -> Result<(), Box<Problem>> {
        let (state, responses) = (params.get("requestState"), params.get("inputResponses"));
        if state.is_none() && responses.is_none() {
            return Ok(());
        }
        let Arrival { agent, server, .. } = &self.arrival;
        if !self.revision.has_rounds() || !server.upstream.revision().has_rounds() {
            let problem = self.malformed("/params");
            return Err(problem.because("not part of this protocol version").into());
        }
        match state.map(Item::text) {
            None => Ok(()),
            Some(Some(state)) if server.issued.knows(agent, &state) => Ok(()),
            Some(_) => Err(Problem::new(ErrorCode::UnknownState).into()),
        }
    }

    /// Asks the upstream, and lets go of what stays open once its client's
    /// credential does not hold any more, or the gateway drains: it would not end
    /// by itself.
    async fn while_held(&self, gateway: &Gateway, outbox: &Outbox, standing: &Standing) -> Reply {
        let (tell, told) = watch::channel(false);
        let mut exchange = Box::pin(self.exchange(gateway, outbox, Cancel::of(told)));
        let lapsed = gateway.identities.lapsed(standing, &gateway.environment);
        let mut draining = gateway.running.draining();
        let endless = self.method.is_endless();
        tokio::select! {
            reply = &mut exchange => return reply,
            () = lapsed, if endless => {}
            _ = draining.wait_for(|draining| *draining), if endless => {}
        }
        outbox.hush();
        tell.send_replace(true);
        exchange.await
    }

    /// Asks the upstream, once.
    async fn exchange(&self, gateway: &Gateway, outbox: &Outbox, lapsed: Cancel) -> Reply {
        if let Some(done) = self.subscription_of_another(gateway) {
            return done;
        }
        let Self {
            arrival, method, ..
        } = self;
        let upstream = &arrival.server.upstream;
        if let Err(unready) = upstream.ready(&arrival.agent).await {
            return self.unanswered(gateway, unavailable(unready)).await;
        }
        let document = Document::read(&self.message, Limits::STANDARD).ok();
        let params = document
            .as_ref()
            .and_then(|document| document.root().get("params"));
        let named = params
            .and_then(|params| params.get(method.named_by?)?.text())
            .map(std::borrow::Cow::into_owned);
        let token = params
            .and_then(|params| params.get("_meta")?.get("progressToken"))
            .map(Item::raw)
            .filter(|_| self.streams);
        let level = client::log_level(&self.context);
        let logs = self.streams
            && arrival.server.passed.touches(Capability::Logging)
            && (self.revision.has_sessions() || level.is_some());
        let mut line = outbox.line().with_progress(token).with_messages(logs);
        if method.is_endless() {
            line = line.with_subscription(&json::id(Some(&self.request.id)));
        }
        if let Some(session) = arrival.session.as_ref().filter(|_| self.streams) {
            line = line.asking(session, upstream.permitted());
        }
        let ours = AtomicU64::new(0);
        let progress = line.wants_progress();
        let body = |id: u64| {
            ours.store(id, Ordering::SeqCst);
            let mut minted = Vec::new();
            if progress {
                minted.push(("progressToken", id.to_string().into_bytes()));
            }
            if !upstream.revision().has_sessions() {
                let capabilities = upstream.permitted().of_client(&self.context);
                minted.extend(IDENTITY.meta(upstream.revision(), &capabilities));
                if let Some(level) = level.clone().filter(|_| logs) {
                    minted.push((client::LOG_LEVEL, level));
                }
            }
            let params = splice::params(params, &minted);
            Some(envelope::message(Some(id), method.name, params.as_deref()))
        };
        let cancel = self.claim.as_ref().map(Claim::cancel).unwrap_or_default();
        let cancel = cancel.or(lapsed);
        let request = upstream::Request {
            method: method.name,
            name: named.as_deref(),
            mirrored: &[],
            body: &body,
            gate: None,
            line: Some(line),
            endless: method.is_endless(),
            // Without sessions a client that goes away has cancelled.
            cancel: if self.revision.has_sessions() {
                cancel
            } else {
                cancel.or(outbox.left())
            },
        };
        let read = |answer: upstream::Answer<'_>| self.read(answer, ours.load(Ordering::SeqCst));
        match upstream.exchange(&arrival.agent, request, read).await {
            Exchange::Answered(said) => self.answered(&gateway.sessions, &said, named.as_deref()),
            Exchange::NotSent(reason) => {
                tracing::debug!(method = method.name, reason = reason.as_str(), "not sent");
                self.unanswered(gateway, unavailable(reason.into())).await
            }
            Exchange::Unanswered { reason, .. } => {
                tracing::debug!(method = method.name, reason = reason.as_str(), "no answer");
                let problem = Problem::new(ErrorCode::RequestUnanswered);
                self.unanswered(gateway, problem).await
            }
        }
    }

    /// The agent's sessions share the upstream's: what another one still wants
    /// to hear of is not given up there.
    fn subscription_of_another(&self, gateway: &Gateway) -> Option<Reply> {
        if self.method.name != "resources/unsubscribe" {
            return None;
        }
        let session = self.arrival.session.as_ref()?;
        let params = self.request.params.as_deref()?;
        let document = Document::read(params, Limits::STANDARD).ok()?;
        let uri = document.root().get("uri")?.text()?;
        let others = gateway.sessions.unsubscribe(session, &uri);
        others.then(|| Reply::ok(envelope::result(&self.request.id, b"{}")))
    }

    fn answered(&self, sessions: &Sessions, said: &Said, named: Option<&str>) -> Reply {
        let Arrival {
            agent,
            server,
            session,
            ..
        } = &self.arrival;
        if let Some(state) = &said.state {
            server.issued.remember(agent, state);
        }
        let id = &self.request.id;
        if said.error {
            return Reply {
                status: code::passed_status(self.revision, said.code),
                body: envelope::error(id, &said.bytes).into(),
                retry_after_ms: None,
            };
        }
        match (session, self.method.name, named) {
            (Some(session), "resources/subscribe", Some(uri)) => {
                sessions.subscribe(session, uri);
            }
            (Some(session), "logging/setLevel", _) => session.log_from(self.level()),
            _ => {}
        }
        Reply::ok(envelope::result(id, &said.bytes))
    }

    /// The level that is asked for, in JSON.
    fn level(&self) -> Option<Vec<u8>> {
        let params = self.request.params.as_deref()?;
        envelope::member_of(params, "level").map(<[u8]>::to_vec)
    }

    async fn unanswered(&self, gateway: &Gateway, problem: Problem) -> Reply {
        let refused = unread_because(gateway, &self.arrival, problem).await;
        refused.reply(Some(&self.request.id))
    }

    /// Reads an answer; none where it is of no form that MCP knows.
    fn read(&self, answer: upstream::Answer<'_>, ours: u64) -> Option<Said> {
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                return Some(Said {
                    bytes: Answer::error(error).ok()?.without_receipt(),
                    error: true,
                    code: error.get("code").and_then(Item::integer),
                    state: None,
                });
            }
        };
        let stated = if self.revision.has_sessions() {
            ResultType::AsIs
        } else {
            ResultType::Stated
        };
        let upstream = &self.arrival.server.upstream;
        let rounds = self.revision.has_rounds() && upstream.revision().has_rounds();
        let answer = Answer::result(result, stated, rounds).ok()?;
        let (asks, state) = match answer.verdict() {
            Verdict::InputRequired { request_state } => (true, request_state.clone()),
            _ => (false, None),
        };
        let mut bytes = answer.without_receipt();
        if self.method.is_endless() {
            let document = Document::read(&bytes, Limits::STANDARD).ok()?;
            bytes = splice::result(document.root(), ours, &self.request.id);
        }
        if !self.revision.has_sessions() && self.method.cacheable && !asks {
            let document = Document::read(&bytes, Limits::STANDARD).ok()?;
            bytes = splice::with_missing(&bytes, document.root(), &NOT_CACHED);
        }
        Some(Said {
            bytes,
            error: false,
            code: None,
            state,
        })
    }
}

/// What an upstream answered.
struct Said {
    /// The result, or the error object, as its client gets it.
    bytes: Vec<u8>,
    error: bool,
    /// Of an error.
    code: Option<i64>,
    /// Issued with a round.
    state: Option<String>,
}
