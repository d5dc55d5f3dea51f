//! What is told to an upstream and has no answer.

use std::time::Duration;

use countersign_evidence::Agent;
use http::Method;

use super::session::Session;
use super::{Head, Inner, Reason, Trace, receive};

/// How long the stream waits while a request of the upstream is answered.
const RESPOND: Duration = Duration::from_secs(2);

impl Inner {
    /// Sends a message that has no answer in the session that the agent has now.
    pub(in crate::upstream) async fn tell(&self, agent: &Agent, method: &str, body: Vec<u8>) {
        let Some(place) = self.sessions.find(agent) else {
            return;
        };
        let session = place.turn().await.clone();
        if let Some(session) = session.filter(|session| !session.is_gone()) {
            self.tell_in(&session, method, body).await;
        }
    }

    /// The same in one session, also in one that may be gone: that is no more than
    /// what a status said.
    pub(in crate::upstream) async fn tell_in(
        &self,
        session: &Session,
        method: &str,
        body: Vec<u8>,
    ) {
        let _ = self.post_quietly(session, method, body).await;
    }

    /// Answers what the upstream asked.
    pub(super) async fn respond(&self, session: &Session, body: Vec<u8>) {
        let posting = self.post_quietly(session, "", body);
        let _ = tokio::time::timeout(RESPOND, posting).await;
    }

    /// Posts a message and reads what comes back, which has no answer in it.
    ///
    /// # Errors
    /// Where it cannot be sent, or is met with another status than a success.
    pub(super) async fn post_quietly(
        &self,
        session: &Session,
        method: &str,
        body: Vec<u8>,
    ) -> Result<(), Reason> {
        let head = Head {
            session: Some(session),
            method,
            name: None,
            mirrored: &[],
        };
        let request = self.request(Method::POST, &head, body)?;
        let sent = self
            .send(request, None, &Trace::default())
            .await
            .map_err(|(reason, _)| reason)?;
        let good = sent.response.status().is_success();
        let rest = receive::discard(sent.response).await;
        self.recycle(sent.connection, rest);
        if good { Ok(()) } else { Err(Reason::Status) }
    }
}
