//! What an upstream says that it offers beside tools.

use std::time::Duration;

use countersign_evidence::Agent;
use countersign_mcp::capability::Offer;
use countersign_mcp::{envelope, json::Object};
use tokio::time::Instant;

use super::request::{Answer, Exchange, Reason, Request};
use super::{IDENTITY, Kind, Upstream};
use crate::delivery::Cancel;

/// What an upstream without sessions offers is asked again after this long.
const OFFER_HOLDS: Duration = Duration::from_secs(30);

impl Upstream {
    /// What it says that it offers to an agent.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub(crate) async fn offer(&self, agent: &Agent) -> Result<Offer, Reason> {
        if self.revision.has_sessions() {
            self.ready(agent).await.map_err(|unready| unready.reason)?;
            return match &self.kind {
                Kind::Http(http) => http.offer(agent, self.revision).await,
                Kind::Stdio(stdio) => stdio.offer(agent, self.revision).await,
            };
        }
        // One attempt lasts so long, and whoever waits waits for one.
        let within = self.list_timeout();
        let turn = tokio::time::timeout(within, self.discovered.turn());
        let mut discovered = turn.await.map_err(|_| Reason::Timeout)?;
        if let Some((at, offer)) = *discovered
            && at.elapsed() < OFFER_HOLDS
        {
            return Ok(offer);
        }
        let offer = discovered
            .attempt(within, Box::pin(self.discover(agent)))
            .await;
        let offer = offer.map_err(|unready| unready.reason)?;
        *discovered = Some((Instant::now(), offer));
        Ok(offer)
    }

    async fn discover(&self, agent: &Agent) -> Result<Offer, Reason> {
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
            Exchange::Answered(offer) => Ok(offer),
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
}
