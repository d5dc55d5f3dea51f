//! Sessions of clients, for the revisions that have them.
//!
//! A session belongs to the agent that opened it: to anybody else it does not
//! exist. What the client holds is a secret; evidence has another name for it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_canon::Id;
use countersign_evidence::{Agent, ServerName, SessionId};
use countersign_mcp::Revision;

/// All sessions that are open.
#[derive(Debug)]
pub(crate) struct Sessions {
    most: usize,
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
    in_flight: Mutex<HashSet<Id>>,
}

/// An id of a request that is in flight; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    session: Arc<Session>,
    id: Id,
}

impl Sessions {
    /// No sessions yet, and at most `most`.
    #[must_use]
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Mutex::default() }
    }

    /// Opens a session under a secret that nobody can guess; false where there
    /// are as many as there may be.
    pub(crate) fn open(&self, secret: &str, session: Session) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= self.most {
            return false;
        }
        open.insert(secret.to_owned(), Arc::new(session));
        true
    }

    /// The session that `secret` names, if it is this agent's with this server.
    #[must_use]
    pub(crate) fn find(&self, secret: &str, agent: &Agent, server: &ServerName) -> Option<Arc<Session>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let session = open.get(secret)?;
        (session.agent == *agent && session.server == *server).then(|| Arc::clone(session))
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
        Self { id, revision, context, agent, server, in_flight: Mutex::default() }
    }

    /// Claims the id of a request; none while another request has it.
    #[must_use]
    pub(crate) fn claim(self: &Arc<Self>, id: &Id) -> Option<Claim> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        in_flight
            .insert(id.clone())
            .then(|| Claim { session: Arc::clone(self), id: id.clone() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut ids = self.session.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        ids.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(subject: &str) -> Agent {
        Agent { method: "token".into(), issuer: String::new(), subject: subject.into() }
    }

    #[test]
    fn a_session_exists_for_its_agent_and_server_alone_until_it_ends() {
        let sessions = Sessions::new(1);
        let (x, y): (ServerName, ServerName) = ("x".parse().unwrap(), "y".parse().unwrap());
        let session = || {
            let id = SessionId::from_random([0; 16]);
            Session::new(id, agent("a"), x.clone(), Revision::R2025_11_25, b"{}".to_vec())
        };
        assert!(sessions.open("s", session()));
        assert!(!sessions.open("t", session()), "as many as there may be");
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
