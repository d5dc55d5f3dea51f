//! Sessions with one upstream, one for each agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use countersign_mcp::Revision;
use countersign_mcp::capability::Offer;
use http::{HeaderValue, StatusCode};

use crate::upstream::seats::Seats;
use crate::upstream::slot::Slot;

/// Sessions with one upstream, of all agents together.
const MOST_SESSIONS: usize = 1_024;

/// Where one agent's session is, where there is one.
pub(super) type Place = Slot<Option<Arc<Session>>>;

/// The agents' places; one agent opens one session.
pub(super) type Sessions = Seats<Place>;

/// No sessions yet.
pub(super) fn none() -> Sessions {
    Seats::new(MOST_SESSIONS)
}

/// What the gateway and an upstream agreed on for one agent.
#[derive(Debug)]
pub(in crate::upstream) struct Session {
    pub(super) revision: Revision,
    /// The `Mcp-Session-Id` that the upstream gave, if it gave one.
    pub(super) secret: Option<HeaderValue>,
    /// What it said that it offers.
    pub(super) offer: Offer,
    last_id: AtomicU64,
    /// Whether the upstream said that it knows it no more.
    gone: AtomicBool,
}

impl Session {
    /// Before, or without, `initialize`.
    pub(super) fn without(revision: Revision) -> Self {
        Self {
            revision,
            secret: None,
            offer: Offer::default(),
            last_id: AtomicU64::new(0),
            gone: AtomicBool::new(false),
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
            gone: AtomicBool::new(false),
        }
    }

    /// An id that was never used in this session.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Notes the status of an answer to a request in this session, whatever came
    /// with it. An upstream that knows the session no more says 404; many say 400,
    /// which also says other things: then a session is opened that was not needed.
    pub(super) fn met(&self, status: StatusCode) {
        let gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST);
        if gone && self.secret.is_some() {
            self.lose();
        }
    }

    /// The next request opens another one.
    pub(super) fn lose(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    /// Whether the upstream knows it no more.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_gone_where_the_server_gave_one_and_says_so() {
        for (status, says_so) in [(404, true), (400, true), (200, false), (500, false)] {
            let status = StatusCode::from_u16(status).unwrap();
            let secret = Some(HeaderValue::from_static("s"));
            let offer = Offer::default();
            let given = Session::greeted(Revision::R2025_11_25, offer, secret);
            given.met(status);
            assert_eq!(given.is_gone(), says_so, "{status}");
            given.met(StatusCode::OK);
            assert_eq!(given.is_gone(), says_so, "for good");
            let none = Session::without(Revision::R2026_07_28);
            none.met(status);
            assert!(!none.is_gone(), "{status}");
        }
    }
}
