//! The resources that sessions are subscribed to, counted for their agents.
//!
//! The sessions of an agent with one server share the upstream's: what is given up
//! there is given up for all of them. Which resources are wanted still is counted, so
//! that nobody has to look at every session; and how much all sessions of an agent are
//! subscribed to together is bounded, since an agent may have many.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_evidence::{Agent, ServerName};

use super::{Session, Sessions};

/// Resources that one session may be subscribed to, and the bytes of their names.
const MOST_OF_SESSION: Bound = Bound {
    count: 1_024,
    bytes: 131_072,
};
/// The same of all sessions of one agent together; what two of them want counts twice.
const MOST_OF_AGENT: Bound = Bound {
    count: 16_384,
    bytes: 2_097_152,
};

/// How many resources, and the bytes of their names.
#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    count: usize,
    bytes: usize,
}

impl Bound {
    /// Whether one more name is within it, where so much is there.
    fn has_room(self, there: Self, uri: &str) -> bool {
        there.count < self.count && there.bytes.saturating_add(uri.len()) <= self.bytes
    }
}

/// What the sessions of all agents are subscribed to.
#[derive(Debug, Default)]
pub(super) struct Wanted(Mutex<HashMap<Agent, Own>>);

/// What the sessions of one agent are subscribed to.
#[derive(Debug, Default)]
struct Own {
    all: Bound,
    /// By server and name, how many sessions.
    sessions: HashMap<ServerName, HashMap<Arc<str>, usize>>,
}

impl Wanted {
    fn agents(&self) -> MutexGuard<'_, HashMap<Agent, Own>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a session, and what it is subscribed to.
    pub(super) fn end(&self, session: &Session) {
        for uri in session.end() {
            self.release(session, &uri);
        }
    }

    /// Whether an agent may be subscribed to one more.
    fn has_room(&self, agent: &Agent, uri: &str) -> bool {
        let agents = self.agents();
        let there = agents.get(agent).map(|own| own.all).unwrap_or_default();
        MOST_OF_AGENT.has_room(there, uri)
    }

    /// Counts one in, and gives the name that all who want it share; none where
    /// there is no room.
    fn take(&self, session: &Session, uri: &str) -> Option<Arc<str>> {
        let mut agents = self.agents();
        let there = agents
            .get(&session.agent)
            .map(|own| own.all)
            .unwrap_or_default();
        if !MOST_OF_AGENT.has_room(there, uri) {
            return None;
        }
        let own = agents.entry(session.agent.clone()).or_default();
        own.all.count += 1;
        own.all.bytes += uri.len();
        let names = own.sessions.entry(session.server.clone()).or_default();
        let name = names
            .get_key_value(uri)
            .map_or_else(|| uri.into(), |(name, _)| Arc::clone(name));
        *names.entry(Arc::clone(&name)).or_default() += 1;
        Some(name)
    }

    /// Counts one out.
    fn release(&self, session: &Session, uri: &str) {
        let mut agents = self.agents();
        let Some(own) = agents.get_mut(&session.agent) else {
            return;
        };
        own.all.count = own.all.count.saturating_sub(1);
        own.all.bytes = own.all.bytes.saturating_sub(uri.len());
        if let Some(names) = own.sessions.get_mut(&session.server) {
            if let Some(count) = names.get_mut(uri) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    names.remove(uri);
                }
            }
            if names.is_empty() {
                own.sessions.remove(&session.server);
            }
        }
        if own.sessions.is_empty() {
            agents.remove(&session.agent);
        }
    }

    /// Whether any session of that session's agent and server wants a resource.
    fn is_wanted(&self, session: &Session, uri: &str) -> bool {
        let agents = self.agents();
        let own = agents.get(&session.agent);
        own.and_then(|own| own.sessions.get(&session.server))
            .is_some_and(|names| names.contains_key(uri))
    }
}

impl Sessions {
    /// Subscribes a session to a resource; false where it or its agent is subscribed
    /// to as much as it may be, or it has ended.
    pub(crate) fn subscribe(&self, session: &Session, uri: &str) -> bool {
        let mut subscribed = session.subscribed();
        // Looked at under the lock: what is there before the end ends with it.
        if session.has_ended() {
            return false;
        }
        if subscribed.contains(uri) {
            return true;
        }
        if !MOST_OF_SESSION.has_room(sum(&subscribed), uri) {
            return false;
        }
        let name = self.wanted.take(session, uri);
        name.is_some_and(|name| subscribed.insert(name))
    }

    /// Whether a session may be subscribed to a resource.
    pub(crate) fn may_subscribe(&self, session: &Session, uri: &str) -> bool {
        let subscribed = session.subscribed();
        subscribed.contains(uri)
            || MOST_OF_SESSION.has_room(sum(&subscribed), uri)
                && self.wanted.has_room(&session.agent, uri)
    }

    /// Ends a session's subscription to a resource; says whether another session of
    /// its agent, with the same server, is subscribed to that one.
    pub(crate) fn unsubscribe(&self, session: &Session, uri: &str) -> bool {
        if session.subscribed().remove(uri) {
            self.wanted.release(session, uri);
        }
        self.wanted.is_wanted(session, uri)
    }
}

fn sum(subscribed: &BTreeSet<Arc<str>>) -> Bound {
    Bound {
        count: subscribed.len(),
        bytes: subscribed.iter().map(|name| name.len()).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::session;
    use super::*;

    #[test]
    fn a_session_subscribes_to_so_many_resources_and_to_parts_of_them() {
        let sessions = Sessions::new(9);
        let (session, long) = (session(0, "a"), session(8, "a"));
        let uri = |number| format!("test://{number}/");
        assert!((0..MOST_OF_SESSION.count).all(|n| sessions.subscribe(&session, &uri(n))));
        assert!(!sessions.may_subscribe(&session, "test://more/"));
        assert!(!sessions.subscribe(&session, "test://more/"));
        assert!(sessions.subscribe(&session, &uri(7)), "one that it has");
        let name = |letter: &str| letter.repeat(MOST_OF_SESSION.bytes / 2);
        assert!(sessions.subscribe(&long, &name("a")) && sessions.subscribe(&long, &name("b")));
        assert!(
            !sessions.may_subscribe(&long, "c") && !sessions.subscribe(&long, "c"),
            "their names are too long together"
        );
        assert!(session.wants("test://7/part") && !session.wants("test://more/"));
        assert!(!sessions.unsubscribe(&session, &uri(7)));
        assert!(sessions.subscribe(&session, "test://more/"));
        assert!(session.wants("test://more/") && !session.wants("test://7/part"));
    }

    #[test]
    fn all_sessions_of_an_agent_have_so_many_together_and_another_agent_its_own() {
        let sessions = Sessions::new(99);
        let uri = |number| format!("test://{number}/");
        let full: Vec<_> = (0..16).map(|_| session(1, "a")).collect();
        for session in &full {
            assert!((0..MOST_OF_SESSION.count).all(|n| sessions.subscribe(session, &uri(n))));
        }
        let (more, other) = (session(2, "a"), session(3, "b"));
        let may = |session, uri: &str| {
            let may = sessions.may_subscribe(session, uri);
            assert_eq!(sessions.subscribe(session, uri), may, "{uri}");
            may
        };
        assert!(!may(&more, "test://0/") && may(&other, "test://0/"));
        assert!(may(&full[3], "test://0/"), "one that it has");
        sessions.wanted.end(&full[3]);
        assert!(may(&more, "test://0/"));
    }

    /// The same by looking at every session.
    fn others_want(open: &[Arc<Session>], mine: &Arc<Session>, uri: &str) -> bool {
        open.iter().any(|other| {
            !Arc::ptr_eq(other, mine)
                && (&other.agent, &other.server) == (&mine.agent, &mine.server)
                && other.subscribed().contains(uri)
        })
    }

    #[test]
    fn what_others_want_is_what_looking_at_every_session_would_find() {
        let mut random = 11_u64;
        let mut next = |below: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(random >> 33).unwrap() % below
        };
        let sessions = Sessions::new(99);
        let mut open: Vec<Arc<Session>> = Vec::new();
        for step in 0..4_000 {
            let uri = ["test://a", "test://a/part", "test://b"][next(3)];
            let at = next(12);
            match (next(8), open.get(at).cloned()) {
                (0, None) => {
                    let mut session = session(1, ["a", "b"][next(2)]);
                    session.server = ["x", "y"][next(2)].parse().unwrap();
                    open.push(Arc::new(session));
                }
                (1, Some(session)) => {
                    open.remove(at);
                    sessions.wanted.end(&session);
                    assert!(!sessions.subscribe(&session, uri), "{step}: it has ended");
                }
                (2..5, Some(session)) => {
                    assert!(sessions.subscribe(&session, uri), "{step}");
                }
                (5..8, Some(session)) => {
                    let others = others_want(&open, &session, uri);
                    assert_eq!(sessions.unsubscribe(&session, uri), others, "{step}");
                }
                _ => {}
            }
            let counted: usize = sessions
                .wanted
                .agents()
                .values()
                .map(|own| own.all.count)
                .sum();
            let there: usize = open.iter().map(|session| session.subscribed().len()).sum();
            assert_eq!(counted, there, "{step}");
        }
        for session in open {
            sessions.wanted.end(&session);
        }
        assert!(sessions.wanted.agents().is_empty());
    }
}
