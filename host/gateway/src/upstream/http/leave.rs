//! Telling an upstream that sessions are over, as good manners ask; best effort.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use tokio::task::JoinSet;

use super::session::Slotted;
use super::{Head, Http, Inner, Trace};

/// How long the upstream may take to be told, of all sessions together.
const LEAVE: Duration = Duration::from_secs(1);

impl Http {
    /// Ends all sessions, at once.
    pub(in crate::upstream) async fn close(&self) {
        let mut leaving = JoinSet::new();
        for session in self.sessions.take() {
            let http = Arc::clone(&self.inner);
            leaving.spawn(async move { http.leave(&session).await });
        }
        let all = async { while leaving.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LEAVE, all).await;
        self.connector.forget();
    }
}

impl Inner {
    async fn leave(&self, session: &Slotted) {
        let Some(session) = session.turn().await.take() else {
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
