//! Sessions of clients, for the revisions that have them.
//!
//! A session belongs to the agent that opened it: to anybody else it does not
//! exist. What the client holds is a secret; evidence has another name for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_canon::Id;
use countersign_evidence::{Agent, ServerName, SessionId};
use countersign_mcp::Revision;
use tokio::sync::watch;

use crate::delivery::Cancel;

/// All sessions that are open.
#[derive(Debug)]
pub(crate) struct Sessions {
    most: usize,
    uses: AtomicU64,
    open: Mutex<HashMap<String, Arc<Session>>>,
}

/// One client's session with one server.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its name in evidence.
    pub(crate) id: SessionId,
    /// The revision that `initialize` settled.
    pub(crate) revision: Revision,
    /// The canonical client context.
    pub(crate) context: Vec<u8>,
    agent: Agent,
    server: ServerName,
    /// The ids of requests in flight, each with what tells it of a cancel.
    in_flight: Mutex<HashMap<Id, watch::Sender<bool>>>,
    /// When it was used last, counted in uses of all sessions.
    used: AtomicU64,
}

/// An id of a request that is in flight; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    session: Arc<Session>,
    id: Id,
    cancel: Cancel,
}

impl Sessions {
    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// No sessions yet, and at most `most`.
    #[must_use]
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            uses: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Opens a session under a secret that nobody can guess. Where there are as
    /// many as there may be, the one that was idle longest ends, since clients
    /// go away without saying so; false where none is idle.
    pub(crate) fn open(&self, secret: &str, session: Session) -> bool {
        self.touch(&session);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= self.most {
            let idle = open
                .iter()
                .filter(|(_, session)| session.is_idle())
                .min_by_key(|(_, session)| session.used.load(Ordering::Relaxed))
                .map(|(secret, _)| secret.clone());
            let Some(idle) = idle else { return false };
            open.remove(&idle);
        }
        open.insert(secret.to_owned(), Arc::new(session));
        true
    }

    fn touch(&self, session: &Session) {
        let use_number = self.uses.fetch_add(1, Ordering::Relaxed);
        session.used.store(use_number, Ordering::Relaxed);
    }

    /// The session that `secret` names, if it is this agent's with this server.
    #[must_use]
    pub(crate) fn find(
        &self,
        secret: &str,
        agent: &Agent,
        server: &ServerName,
    ) -> Option<Arc<Session>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let session = open.get(secret)?;
        if session.agent != *agent || session.server != *server {
            return None;
        }
        self.touch(session);
        Some(Arc::clone(session))
    }

    /// Ends a session; false where there is none for this agent.
    pub(crate) fn end(&self, secret: &str, agent: &Agent, server: &ServerName) -> bool {
        self.find(secret, agent, server).is_some()
            && self
                .open
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(secret)
                .is_some()
    }
}

impl Session {
    /// A session without requests.
    #[must_use]
    pub(crate) fn new(
        id: SessionId,
        agent: Agent,
        server: ServerName,
        revision: Revision,
        context: Vec<u8>,
    ) -> Self {
        Self {
            id,
            revision,
            context,
            agent,
            server,
            in_flight: Mutex::default(),
            used: AtomicU64::new(0),
        }
    }

    fn is_idle(&self) -> bool {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Claims the id of a request; none while another request has it.
    #[must_use]
    pub(crate) fn claim(self: &Arc<Self>, id: &Id) -> Option<Claim> {
        let mut in_flight = self
            .in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match in_flight.entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                let (tell, told) = watch::channel(false);
                free.insert(tell);
                Some(Claim {
                    session: Arc::clone(self),
                    id: id.clone(),
                    cancel: Cancel::of(told),
                })
            }
        }
    }

    /// Tells the request with that id that its caller does not wait any more;
    /// nothing happens where there is none.
    pub(crate) fn cancel(&self, id: &Id) {
        let in_flight = self
            .in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(tell) = in_flight.get(id) {
            tell.send_replace(true);
        }
    }
}

impl Claim {
    /// What tells the request of a cancel.
    #[must_use]
    pub(crate) fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut ids = self
            .session
            .in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        ids.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(subject: &str) -> Agent {
        Agent {
            method: "token".into(),
            issuer: String::new(),
            subject: subject.into(),
        }
    }

    #[test]
    fn a_session_exists_for_its_agent_and_server_alone_until_it_ends() {
        let sessions = Sessions::new(1);
        let (x, y): (ServerName, ServerName) = ("x".parse().unwrap(), "y".parse().unwrap());
        let session = || {
            let id = SessionId::from_random([0; 16]);
            Session::new(
                id,
                agent("a"),
                x.clone(),
                Revision::R2025_11_25,
                b"{}".to_vec(),
            )
        };
        assert!(sessions.open("r", session()));
        assert!(
            sessions.open("s", session()),
            "the one that is idle makes room"
        );
        assert!(sessions.find("r", &agent("a"), &x).is_none());
        let busy = sessions
            .find("s", &agent("a"), &x)
            .unwrap()
            .claim(&Id::Number(1));
        assert!(
            !sessions.open("t", session()),
            "one with a request does not"
        );
        drop(busy);
        assert!(sessions.find("s", &agent("a"), &x).is_some());
        assert!(sessions.find("s", &agent("b"), &x).is_none());
        assert!(sessions.find("s", &agent("a"), &y).is_none());
        assert!(!sessions.end("s", &agent("b"), &x));
        assert!(sessions.end("s", &agent("a"), &x));
        assert!(sessions.find("s", &agent("a"), &x).is_none());
    }

    #[test]
    fn an_id_is_claimed_once_at_a_time_and_a_text_is_no_number() {
        let id = SessionId::from_random([0; 16]);
        let server = "x".parse().unwrap();
        let session = Session::new(id, agent("a"), server, Revision::R2025_11_25, Vec::new());
        let session = Arc::new(session);
        let claim = session.claim(&Id::Number(1)).unwrap();
        assert!(session.claim(&Id::Number(1)).is_none());
        assert!(session.claim(&Id::Text("1".to_owned())).is_some());
        drop(claim);
        assert!(session.claim(&Id::Number(1)).is_some());
    }
}
