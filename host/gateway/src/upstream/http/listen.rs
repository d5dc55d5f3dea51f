//! The upstream's own stream (GET), held open while a client of the agent holds
//! one at the gateway.
//!
//! Nothing is held open for its own sake: when the last client's stream ends,
//! this one ends. A server that offers none says 405, and is not asked again
//! until a client's stream is opened anew; a stream that ends is opened again
//! after a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use countersign_evidence::Agent;
use countersign_mcp::{Revision, incoming, sse};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use tokio::task::AbortHandle;

use super::receive::MOST_BYTES;
use super::session::Session;
use super::{Head, Inner, Reason, Trace};
use crate::upstream::conversation::{Around, Step, step};

/// A stream that ended is opened again after this long.
const AGAIN: Duration = Duration::from_secs(1);

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
    ) -> Arc<Listening> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listening) = held.get(agent).and_then(Weak::upgrade) {
            return listening;
        }
        held.retain(|_, listening| listening.strong_count() > 0);
        let (http, whose) = (Arc::clone(http), agent.clone());
        let task = tokio::spawn(async move {
            while let Ok(session) = http.ready(&whose, revision).await {
                if http.listen(&whose, &session).await.is_err() {
                    return;
                }
                tokio::time::sleep(AGAIN).await;
            }
        });
        let listening = Arc::new(Listening(task.abort_handle()));
        held.insert(agent.clone(), Arc::downgrade(&listening));
        listening
    }
}

impl Inner {
    /// Reads one stream to its end.
    ///
    /// # Errors
    /// Where none is offered.
    async fn listen(&self, agent: &Agent, session: &Session) -> Result<(), Reason> {
        let head = Head {
            session: Some(session),
            method: "",
            name: None,
            mirrored: &[],
        };
        let request = self.request(Method::GET, &head, Vec::new())?;
        let sent = self
            .send(request, None, &Trace::default())
            .await
            .map_err(|(reason, _)| reason)?;
        let kind = sent.response.headers().get(CONTENT_TYPE);
        let events = kind
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        if sent.response.status() != StatusCode::OK || !events {
            return Err(Reason::Status);
        }
        let mut body = sent.response.into_body();
        let mut parser = sse::Parser::new(MOST_BYTES);
        let mut ready = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            let chunk = frame.into_data().unwrap_or_default();
            parser
                .push(&chunk, &mut ready)
                .map_err(|_| Reason::TooLarge)?;
            for event in ready.drain(..) {
                if let Some(back) = self.hear(agent, &event.data) {
                    self.respond(session, back).await;
                }
            }
        }
        Ok(())
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
