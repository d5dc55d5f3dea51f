//! Sessions of clients, for the revisions that have them.
//!
//! A session belongs to the agent that opened it: to anybody else it does not
//! exist. What the client holds is a secret; evidence has another name for it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_canon::Id;
use countersign_evidence::{Agent, ServerName, SessionId};
use countersign_mcp::Revision;
use tokio::sync::{oneshot, watch};

use crate::delivery::Cancel;

/// Requests of servers that one client may have to answer at once.
const MOST_ASKED: usize = 32;
/// Resources that one session may be subscribed to.
const MOST_SUBSCRIBED: usize = 1_024;

/// A client's answer to a request of a server: a result or an error, as written.
pub(crate) type Answer = Result<Vec<u8>, Vec<u8>>;

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
    /// Requests of the server that the client has not answered yet.
    asked: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    last_asked: AtomicU64,
    /// Resources whose changes the client wants to hear of.
    subscribed: Mutex<BTreeSet<String>>,
    /// Which of the client's own streams is the present one; 0 once the session
    /// has ended.
    stream: watch::Sender<u64>,
}

/// A request of a server that waits for the client's answer; given up when it
/// is dropped.
#[derive(Debug)]
pub(crate) struct Pending {
    session: Arc<Session>,
    id: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Pending {
    /// The id under which the client was asked.
    #[must_use]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The answer; none where the session ended first.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut asked = self
            .session
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        asked.remove(&self.id);
    }
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
            asked: Mutex::default(),
            last_asked: AtomicU64::new(0),
            subscribed: Mutex::default(),
            stream: watch::Sender::new(1),
        }
    }

    /// Whose it is.
    #[must_use]
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Ends what belongs to it.
    fn end(&self) {
        self.stream.send_replace(0);
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Takes over the session's own stream: the number of this one, and what
    /// tells it that another has come, or that the session has ended.
    #[must_use]
    pub(crate) fn take_stream(&self) -> (u64, watch::Receiver<u64>) {
        let mut mine = 0;
        self.stream.send_modify(|number| {
            if *number > 0 {
                *number += 1;
            }
            mine = *number;
        });
        (mine, self.stream.subscribe())
    }

    /// Subscribes to a resource, or ends that; false where there are too many.
    pub(crate) fn subscribe(&self, uri: &str, wanted: bool) -> bool {
        let mut subscribed = self
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !wanted {
            subscribed.remove(uri);
            return true;
        }
        let room = subscribed.contains(uri) || subscribed.len() < MOST_SUBSCRIBED;
        if room {
            subscribed.insert(uri.to_owned());
        }
        room
    }

    /// Whether changes of a resource are for it: of one that it is subscribed
    /// to, or of a part of one.
    #[must_use]
    pub(crate) fn wants(&self, uri: &str) -> bool {
        let subscribed = self
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscribed
            .iter()
            .any(|wanted| uri.starts_with(wanted.as_str()))
    }

    /// Mints an id for a request of the server; none where too many wait.
    #[must_use]
    pub(crate) fn ask(self: &Arc<Self>) -> Option<Pending> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= MOST_ASKED {
            return None;
        }
        let id = self.last_asked.fetch_add(1, Ordering::SeqCst) + 1;
        let (tell, answer) = oneshot::channel();
        asked.insert(id, tell);
        Some(Pending {
            session: Arc::clone(self),
            id,
            answer,
        })
    }

    /// Gives the client's answer to whoever asked; false where nobody did.
    pub(crate) fn answer(&self, id: &Id, answer: Answer) -> bool {
        let Id::Number(id) = id else { return false };
        let Ok(id) = u64::try_from(*id) else {
            return false;
        };
        let waiting = self
            .asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
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
    fn a_reply_reaches_who_asked_once_and_a_foreign_one_nobody() {
        let session = |id: u8| {
            let id = SessionId::from_random([id; 16]);
            let server = "x".parse().unwrap();
            Arc::new(Session::new(
                id,
                agent("a"),
                server,
                Revision::R2025_11_25,
                Vec::new(),
            ))
        };
        let (mine, other) = (session(1), session(2));
        let mut pending = mine.ask().unwrap();
        let id = Id::Number(pending.id().try_into().unwrap());
        assert!(!other.answer(&id, Ok(b"1".to_vec())));
        assert!(!mine.answer(&Id::Text("1".to_owned()), Ok(b"1".to_vec())));
        assert!(mine.answer(&id, Ok(b"1".to_vec())));
        assert!(!mine.answer(&id, Ok(b"2".to_vec())), "a second one");
        assert_eq!(pending.answer.try_recv().unwrap(), Ok(b"1".to_vec()));
        drop(pending);
        let many: Vec<_> = (0..MOST_ASKED).map(|_| mine.ask().unwrap()).collect();
        assert!(mine.ask().is_none());
        drop(many);
        assert!(mine.ask().is_some());
    }

    #[test]
    fn a_new_stream_takes_over_and_none_opens_once_the_session_has_ended() {
        let id = SessionId::from_random([0; 16]);
        let server: ServerName = "x".parse().unwrap();
        let session = Session::new(id, agent("a"), server, Revision::R2025_11_25, Vec::new());
        let (first, told) = session.take_stream();
        let (second, _) = session.take_stream();
        assert!(first > 0 && second > first && *told.borrow() == second);
        session.end();
        assert_eq!(session.take_stream().0, 0);
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
