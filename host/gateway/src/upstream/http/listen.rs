//! The upstream's own stream (GET), held open while a client of the agent holds
//! one at the gateway.
//!
//! Nothing is held open for its own sake: when the last client's stream ends,
//! this one ends. A server that offers none says 405, or answers with something
//! else, and is not asked again until a client's stream is opened anew. Whatever
//! else ends a stream, or keeps one from being opened, passes: it is asked again
//! after a while, which doubles up to a bound while no stream lasts that long.
//!
//! Subscriptions belong to the session in which they were asked for: one that the
//! upstream knows no more takes them with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use countersign_evidence::Agent;
use countersign_mcp::{Revision, incoming, sse};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::receive::MOST_BYTES;
use super::session::{Place, Session};
use super::{Head, Inner, Reason, Trace};
use crate::upstream::breaker::{Breaker, Unready};
use crate::upstream::conversation::{Around, Step, step};

/// A stream that ended is opened again after this long, the first time and at
/// most.
const AGAIN: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// How often as long as a connection the head of a stream may take. It is not
/// asked for again sooner: some servers send it with the first event.
const HEAD: u32 = 6;

/// The agents for whom a stream is held.
#[derive(Debug, Default)]
pub(super) struct Listeners(Mutex<HashMap<Agent, Weak<Listening>>>);

/// Holds a stream open until it is dropped.
#[derive(Debug)]
pub(crate) struct Listening(AbortHandle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Listeners {
    pub(super) fn hold(
        &self,
        http: &Arc<Inner>,
        agent: &Agent,
        revision: Revision,
        breaker: &Arc<Breaker>,
    ) -> Arc<Listening> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let present = held.get(agent).and_then(Weak::upgrade);
        // One that has found that none is offered is asked anew.
        if let Some(listening) = present.filter(|present| !present.0.is_finished()) {
            return listening;
        }
        held.retain(|_, listening| listening.strong_count() > 0);
        let (http, breaker, whose) = (Arc::clone(http), Arc::clone(breaker), agent.clone());
        let task = tokio::spawn(async move { http.keep_open(&whose, revision, &breaker).await });
        let listening = Arc::new(Listening(task.abort_handle()));
        held.insert(agent.clone(), Arc::downgrade(&listening));
        listening
    }
}

/// Why a stream is not there, or not any more.
enum End {
    /// The server offers none.
    NotOffered,
    /// It could not be opened, or it has ended.
    Passes,
}

impl Inner {
    /// Keeps a stream open, until the server says that it offers none.
    async fn keep_open(&self, agent: &Agent, revision: Revision, breaker: &Breaker) {
        let mut pause = AGAIN;
        // Whether the session was opened because the last one's stream was
        // refused: then another session is no help.
        let mut opened_anew = false;
        loop {
            let began = Instant::now();
            // Nobody else's session takes its place while it is held.
            let place = self.place(agent);
            if let Ok(place) = &place
                && let Ok(session) = self.reach(place, agent, revision, breaker).await
            {
                match self
                    .listen(agent, &session, breaker, &mut opened_anew)
                    .await
                {
                    End::NotOffered => return,
                    End::Passes => {}
                }
            }
            if began.elapsed() >= pause {
                pause = AGAIN;
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST);
        }
    }

    /// The agent's session, of an upstream that is not left alone.
    async fn reach(
        &self,
        place: &Place,
        agent: &Agent,
        revision: Revision,
        breaker: &Breaker,
    ) -> Result<Arc<Session>, Unready> {
        let pass = breaker.ask(Instant::now())?;
        let suspicious = pass.is_suspicious();
        let reached = match self.prepare(agent, revision, suspicious).await {
            Ok(()) => self.ready(place, agent, revision).await,
            Err(unready) => Err(unready),
        };
        match &reached {
            Ok(_) if suspicious => pass.reached(),
            Err(unready) if unready.counts() => pass.failed(Instant::now()),
            Ok(_) | Err(_) => {}
        }
        reached
    }

    /// Reads one stream to its end.
    async fn listen(
        &self,
        agent: &Agent,
        session: &Session,
        breaker: &Breaker,
        opened_anew: &mut bool,
    ) -> End {
        let head = Head {
            session: Some(session),
            method: "",
            name: None,
            mirrored: &[],
        };
        let Ok(request) = self.request(Method::GET, &head, Vec::new()) else {
            return End::NotOffered;
        };
        let trace = Trace::default();
        let head = self.connect_timeout.saturating_mul(HEAD);
        let sending = tokio::time::timeout(head, self.send(request, None, &trace));
        let sent = match sending.await {
            Ok(Ok(sent)) => sent,
            Ok(Err((Reason::Unreachable | Reason::Timeout, _))) => {
                breaker.failed(Instant::now());
                return End::Passes;
            }
            Ok(Err(_)) | Err(_) => return End::Passes,
        };
        let status = sent.response.status();
        let kind = sent.response.headers().get(CONTENT_TYPE);
        let events = kind
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        if status == StatusCode::METHOD_NOT_ALLOWED || (status.is_success() && !events) {
            return End::NotOffered;
        }
        if status != StatusCode::OK {
            if !*opened_anew {
                session.met(status);
                *opened_anew = session.is_gone();
            }
            return End::Passes;
        }
        *opened_anew = false;
        let mut body = sent.response.into_body();
        let mut parser = sse::Parser::new(MOST_BYTES);
        let mut ready = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            let chunk = frame.into_data().unwrap_or_default();
            let overflow = parser.push(&chunk, &mut ready).is_err();
            for event in ready.drain(..) {
                if let Some(back) = self.hear(agent, &event.data) {
                    self.respond(session, back).await;
                }
            }
            if overflow {
                break;
            }
        }
        End::Passes
    }

    /// What goes back to a message that belongs to no request.
    fn hear(&self, agent: &Agent, bytes: &[u8]) -> Option<Vec<u8>> {
        let document = incoming::read(bytes).ok()?;
        let message = incoming::message(&document).ok()?;
        let around = Around {
            agent,
            ours: None,
            line: None,
            signals: &self.signals,
        };
        match step(message, around) {
            Step::Respond(back) => Some(back),
            _ => None,
        }
    }
}
