//! All sessions that are open, by what their clients hold.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_evidence::{Agent, ServerName};

use super::Session;

/// All sessions that are open.
#[derive(Debug)]
pub(crate) struct Sessions {
    most: usize,
    uses: AtomicU64,
    open: Mutex<HashMap<String, Arc<Session>>>,
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
    /// many as there may be, one that is idle ends, since clients go away without
    /// saying so; false where none is idle. It is one of the same agent's, or else
    /// of the agent that has most: nobody ends another's by opening many.
    pub(crate) fn open(&self, secret: &str, session: Session) -> bool {
        self.touch(&session);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= self.most {
            let Some(idle) = dispensable(&open, &session.agent) else {
                return false;
            };
            if let Some(ended) = open.remove(&idle) {
                ended.end();
            }
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
        if self.find(secret, agent, server).is_none() {
            return false;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = open.remove(secret);
        if let Some(session) = &ended {
            session.end();
        }
        ended.is_some()
    }

    /// Whether another session of that session's agent, with the same server,
    /// is subscribed to a resource: they share the upstream's session.
    #[must_use]
    pub(crate) fn others_want(&self, session: &Session, uri: &str) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().any(|other| {
            other.id != session.id
                && other.agent == session.agent
                && other.server == session.server
                && other.wants(uri)
        })
    }
}

/// The idle session that makes room for another one of `agent`: where there is a
/// choice, one without a stream, and the one that was used longest ago.
fn dispensable(open: &HashMap<String, Arc<Session>>, agent: &Agent) -> Option<String> {
    let mut counts: HashMap<&Agent, usize> = HashMap::new();
    for session in open.values() {
        *counts.entry(&session.agent).or_default() += 1;
    }
    let idle = open.iter().filter(|(_, session)| session.is_idle());
    let first = idle.min_by_key(|(_, session)| {
        let count = counts.get(&session.agent).copied().unwrap_or_default();
        let used = session.used.load(Ordering::Relaxed);
        let foreign = session.agent != *agent;
        (foreign, Reverse(count), session.is_listening(), used)
    });
    first.map(|(secret, _)| secret.clone())
}

#[cfg(test)]
mod tests {
    use countersign_canon::Id;

    use super::super::tests::session;
    use super::*;

    #[test]
    fn a_session_exists_for_its_agent_and_server_alone_until_it_ends() {
        let sessions = Sessions::new(1);
        let (x, y): (ServerName, ServerName) = ("x".parse().unwrap(), "y".parse().unwrap());
        let session = || session(0, "a");
        let a = session().agent().clone();
        let b = super::super::tests::session(0, "b").agent().clone();
        assert!(sessions.open("r", session()));
        assert!(
            sessions.open("s", session()),
            "the one that is idle makes room"
        );
        assert!(sessions.find("r", &a, &x).is_none());
        let busy = sessions.find("s", &a, &x).unwrap().claim(&Id::Number(1));
        assert!(
            !sessions.open("t", session()),
            "one with a request does not"
        );
        drop(busy);
        assert!(sessions.find("s", &a, &x).is_some());
        assert!(sessions.find("s", &b, &x).is_none());
        assert!(sessions.find("s", &a, &y).is_none());
        assert!(!sessions.end("s", &b, &x));
        assert!(sessions.end("s", &a, &x));
        assert!(sessions.find("s", &a, &x).is_none());
    }

    #[test]
    fn the_session_that_was_idle_longest_makes_room_and_ends() {
        let sessions = Sessions::new(2);
        let x: ServerName = "x".parse().unwrap();
        let session = |number| session(number, "a");
        let a = session(0).agent().clone();
        assert!(sessions.open("r", session(1)) && sessions.open("s", session(2)));
        let oldest = sessions.find("s", &a, &x).unwrap();
        // Opened first, and used last.
        assert!(sessions.find("r", &a, &x).is_some());
        assert!(sessions.open("t", session(3)));
        assert!(sessions.find("s", &a, &x).is_none());
        assert!(sessions.find("r", &a, &x).is_some());
        assert_eq!(oldest.take_stream().0, 0, "it has ended");
        let ended = sessions.find("r", &a, &x).unwrap();
        assert!(sessions.end("r", &a, &x));
        assert_eq!(ended.take_stream().0, 0, "so has this one");
    }

    #[test]
    fn an_agent_that_opens_many_ends_its_own_and_nobody_elses() {
        let sessions = Sessions::new(4);
        let x: ServerName = "x".parse().unwrap();
        let [a, b] = ["a", "b"].map(|name| session(0, name).agent().clone());
        assert!(sessions.open("b", session(0, "b")));
        for number in 1..10 {
            let secret = format!("a{number}");
            assert!(sessions.open(&secret, session(number, "a")));
            assert!(sessions.find(&secret, &a, &x).is_some());
        }
        assert_eq!(sessions.count(), 4);
        assert!(sessions.find("b", &b, &x).is_some());
        // One that has none takes the place of whoever has most.
        assert!(sessions.open("c", session(10, "c")));
        assert!(sessions.find("b", &b, &x).is_some());
        assert!(sessions.find("a7", &a, &x).is_none());
    }

    #[test]
    fn a_session_without_a_stream_makes_room_before_one_that_has_one() {
        let sessions = Sessions::new(2);
        let x: ServerName = "x".parse().unwrap();
        let a = session(0, "a").agent().clone();
        assert!(sessions.open("r", session(1, "a")) && sessions.open("s", session(2, "a")));
        let stream = sessions.find("r", &a, &x).unwrap().take_stream();
        assert!(sessions.find("s", &a, &x).is_some());
        assert!(sessions.open("t", session(3, "a")));
        assert!(sessions.find("r", &a, &x).is_some(), "used longest ago");
        drop(stream);
        let _later = sessions.find("t", &a, &x).unwrap();
        assert!(sessions.find("s", &a, &x).is_none());
    }

    #[test]
    fn what_a_resource_is_wanted_by_is_another_session_of_the_same_agent_and_server() {
        let sessions = Sessions::new(9);
        let mine = session(1, "a");
        let wants = |mut session: Session, server: &str| {
            session.server = server.parse().unwrap();
            session.subscribe("test://a", true);
            session
        };
        assert!(sessions.open("own", wants(session(1, "a"), "x")));
        assert!(sessions.open("other agent", wants(session(2, "b"), "x")));
        assert!(sessions.open("other server", wants(session(3, "a"), "y")));
        assert!(sessions.open("same", session(4, "a")));
        assert!(!sessions.others_want(&mine, "test://a"));
        assert!(sessions.open("another", wants(session(5, "a"), "x")));
        assert!(sessions.others_want(&mine, "test://a"));
        assert!(!sessions.others_want(&mine, "test://b"));
    }
}
