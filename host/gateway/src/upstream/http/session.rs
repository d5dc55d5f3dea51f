//! Sessions with one upstream, one for each agent.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_evidence::Agent;
use countersign_mcp::Revision;
use countersign_mcp::capability::Offer;
use http::{HeaderValue, StatusCode};

use crate::upstream::slot::Slot;

/// Where one agent's session is, where there is one.
pub(super) type Slotted = Arc<Slot<Option<Arc<Session>>>>;

/// The agents' slots; one agent opens one session.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Agent, Slotted>>);

/// What the gateway and an upstream agreed on for one agent.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) revision: Revision,
    /// The `Mcp-Session-Id` that the upstream gave, if it gave one.
    pub(super) secret: Option<HeaderValue>,
    /// What it said that it offers.
    pub(super) offer: Offer,
    last_id: AtomicU64,
}

impl Session {
    /// Before, or without, `initialize`.
    pub(super) fn without(revision: Revision) -> Self {
        Self {
            revision,
            secret: None,
            offer: Offer::default(),
            last_id: AtomicU64::new(0),
        }
    }

    pub(super) fn greeted(
        revision: Revision,
        offer: Offer,
        mut secret: Option<HeaderValue>,
    ) -> Self {
        if let Some(secret) = &mut secret {
            secret.set_sensitive(true);
        }
        // `initialize` had the first id.
        Self {
            revision,
            secret,
            offer,
            last_id: AtomicU64::new(1),
        }
    }

    /// An id that was never used in this session.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether a status says that the upstream does not know this session.
    pub(super) fn is_gone(&self, status: StatusCode) -> bool {
        self.secret.is_some() && status == StatusCode::NOT_FOUND
    }
}

impl Sessions {
    pub(super) fn slot(&self, agent: &Agent) -> Slotted {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(agent.clone()).or_default())
    }

    /// Forgets a session, unless another has taken its place.
    pub(super) async fn forget(&self, agent: &Agent, session: &Arc<Session>) {
        let slot = self.slot(agent);
        let mut slot = slot.turn().await;
        if slot
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, session))
        {
            *slot = None;
        }
    }

    /// Takes all places out.
    pub(super) fn take(&self) -> Vec<Slotted> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.drain().map(|(_, slot)| slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::agent;

    #[tokio::test]
    async fn only_the_session_that_was_found_gone_is_forgotten_and_only_its_agents() {
        let sessions = Sessions::default();
        let session = || Arc::new(Session::without(Revision::R2025_11_25));
        let (gone, newer, others) = (session(), session(), session());
        *sessions.slot(&agent("a")).turn().await = Some(Arc::clone(&newer));
        *sessions.slot(&agent("b")).turn().await = Some(Arc::clone(&others));
        // Whoever met it gone comes after another has opened a new one.
        sessions.forget(&agent("a"), &gone).await;
        assert!(sessions.slot(&agent("a")).turn().await.is_some());
        sessions.forget(&agent("a"), &newer).await;
        assert!(sessions.slot(&agent("a")).turn().await.is_none());
        assert!(sessions.slot(&agent("b")).turn().await.is_some());
    }

    #[test]
    fn a_session_is_gone_where_the_server_gave_one_and_says_404_of_it() {
        let secret = Some(HeaderValue::from_static("s"));
        let offer = Offer::default();
        let given = Session::greeted(Revision::R2025_11_25, offer, secret);
        let none = Session::without(Revision::R2026_07_28);
        assert!(given.is_gone(StatusCode::NOT_FOUND));
        assert!(!given.is_gone(StatusCode::BAD_REQUEST));
        assert!(!none.is_gone(StatusCode::NOT_FOUND));
    }
}
