//! Telling an upstream that sessions are over, as good manners ask; best effort.

use std::sync::Arc;
use std::time::Duration;

use countersign_evidence::Agent;
use http::Method;
use tokio::task::JoinSet;

use super::session::Place;
use super::{Head, Http, Inner, Reason, Trace};
use crate::upstream::seats::Seated;

/// How long the upstream may take to be told, of all sessions together.
const LEAVE: Duration = Duration::from_secs(1);

impl Http {
    /// Ends all sessions, at once.
    pub(in crate::upstream) async fn close(&self) {
        let mut leaving = JoinSet::new();
        for session in self.sessions.clear() {
            let http = Arc::clone(&self.inner);
            leaving.spawn(async move { http.leave(&session).await });
        }
        let all = async { while leaving.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LEAVE, all).await;
        self.connector.forget();
    }
}

impl Inner {
    /// The agent's place; the session whose place makes room for it ends.
    pub(super) fn place(&self, agent: &Agent) -> Result<Seated<Place>, Reason> {
        let (place, given_up) = self.sessions.take(agent)?;
        given_up.into_iter().for_each(|place| self.give_up(place));
        Ok(place)
    }

    /// Ends the sessions that nobody has used for so long.
    pub(in crate::upstream) fn tidy(&self, idle: Duration) {
        let over = self.sessions.give_up(idle);
        over.into_iter().for_each(|place| self.give_up(place));
    }

    fn give_up(&self, place: Place) {
        if let Some(http) = self.me.upgrade() {
            tokio::spawn(async move {
                let _ = tokio::time::timeout(LEAVE, http.leave(&place)).await;
            });
        }
    }

    async fn leave(&self, place: &Place) {
        let Some(session) = place.turn().await.take() else {
            return;
        };
        if session.secret.is_none() || session.is_gone() {
            return;
        }
        let head = Head {
            session: Some(&session),
            method: "",
            name: None,
            mirrored: &[],
        };
        if let Ok(request) = self.request(Method::DELETE, &head, Vec::new()) {
            let _ = self.send(request, None, &Trace::default()).await;
        }
    }
}
