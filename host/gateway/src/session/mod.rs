//! Sessions of clients, for the revisions that have them.
//!
//! A session belongs to the agent that opened it: to anybody else it does not
//! exist. What the client holds is a secret; evidence has another name for it.
//! `table` has all that are open, `claim` the ids of a session's requests in
//! flight, `pending` what its server asks of its client, `wanted` the resources
//! that sessions are subscribed to.

mod claim;
mod pending;
mod table;
mod wanted;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_canon::Id;
use countersign_evidence::{Agent, ServerName, SessionId};
use countersign_mcp::{Revision, client};
use tokio::sync::{oneshot, watch};

pub(crate) use claim::Claim;
pub(crate) use pending::{Answer, Pending};
pub(crate) use table::Sessions;

/// The longest log level that is kept, in bytes of JSON.
const MOST_LEVEL_BYTES: usize = 64;

/// Places in lists that one session may go on from.
const MOST_CURSORS: usize = 16;
/// The longest cursor of a server that is kept, in bytes.
pub(crate) const MOST_CURSOR_BYTES: usize = 4_096;

/// One client's session with one server.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its name in evidence.
    pub(crate) id: SessionId,
    /// The revision that `initialize` settled.
    pub(crate) revision: Revision,
    /// The canonical client context, as `initialize` settled it.
    pub(crate) context: Vec<u8>,
    /// The last log level that the client set, in JSON.
    level: Mutex<Option<Vec<u8>>>,
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
    subscribed: Mutex<BTreeSet<Arc<str>>>,
    /// Where lists go on, the oldest first: the name that its client was given, and
    /// the server's own cursor, which may say what is not for this client.
    cursors: Mutex<VecDeque<(String, String)>>,
    /// Which of the client's own streams is the present one; 0 once the session
    /// has ended.
    stream: watch::Sender<u64>,
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
            level: Mutex::default(),
            agent,
            server,
            in_flight: Mutex::default(),
            used: AtomicU64::new(0),
            asked: Mutex::default(),
            last_asked: AtomicU64::new(0),
            subscribed: Mutex::default(),
            cursors: Mutex::default(),
            stream: watch::Sender::new(1),
        }
    }

    /// Whose it is.
    #[must_use]
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The canonical client context, with the log level that was set last.
    #[must_use]
    pub(crate) fn context(&self) -> Vec<u8> {
        match &*self.level() {
            Some(level) => client::with_log_level(&self.context, level),
            None => self.context.clone(),
        }
    }

    /// Sets the log level, in JSON. One that is longer than any that MCP names
    /// is none: it would stand in the entry of each call.
    pub(crate) fn log_from(&self, level: Option<Vec<u8>>) {
        *self.level() = level.filter(|level| level.len() <= MOST_LEVEL_BYTES);
    }

    fn level(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what belongs to it; answers with what it was subscribed to, which is
    /// counted still.
    fn end(&self) -> BTreeSet<Arc<str>> {
        self.stream.send_replace(0);
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        std::mem::take(&mut *self.subscribed())
    }

    /// Whether it has ended; requests that it had in flight may run on.
    fn has_ended(&self) -> bool {
        *self.stream.borrow() == 0
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

    fn subscribed(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        let subscribed = self.subscribed.lock();
        subscribed.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether changes of a resource are for it: of one that it is subscribed
    /// to, or of a part of one.
    #[must_use]
    pub(crate) fn wants(&self, uri: &str) -> bool {
        self.subscribed()
            .iter()
            .any(|wanted| uri.starts_with(&**wanted))
    }

    /// Keeps a server's cursor under a name; the oldest one is forgotten for it.
    pub(crate) fn keep_cursor(&self, name: &str, cursor: &str) {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        if cursors.len() == MOST_CURSORS {
            cursors.pop_front();
        }
        cursors.push_back((name.to_owned(), cursor.to_owned()));
    }

    /// The server's cursor that was kept under a name.
    pub(crate) fn cursor(&self, name: &str) -> Option<String> {
        let cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cursors.iter().find(|(known, _)| known == name);
        found.map(|(_, cursor)| cursor.clone())
    }

    /// Whether its client holds a stream of its own open.
    fn is_listening(&self) -> bool {
        self.stream.receiver_count() > 0
    }

    fn is_idle(&self) -> bool {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session without requests, of that agent with the server `x`.
    pub(super) fn session(number: u8, subject: &str) -> Session {
        let agent = crate::sample::agent(subject);
        let id = SessionId::from_random([number; 16]);
        let server = "x".parse().unwrap();
        Session::new(id, agent, server, Revision::R2025_11_25, b"{}".to_vec())
    }

    #[test]
    fn a_new_stream_takes_over_and_none_opens_once_the_session_has_ended() {
        let session = session(0, "a");
        let (first, told) = session.take_stream();
        let (second, _) = session.take_stream();
        assert!(first > 0 && second > first && *told.borrow() == second);
        session.end();
        assert_eq!(session.take_stream().0, 0);
    }

    #[test]
    fn a_session_goes_on_from_the_last_places_that_it_was_given() {
        let session = session(0, "a");
        for number in 0..=MOST_CURSORS {
            session.keep_cursor(&format!("n{number}"), &format!("c{number}"));
        }
        assert_eq!(session.cursor("n0"), None, "forgotten");
        for number in 1..=MOST_CURSORS {
            let cursor = session.cursor(&format!("n{number}"));
            assert_eq!(cursor, Some(format!("c{number}")));
        }
        assert_eq!(session.cursor("c1"), None, "the server's own is no name");
    }
}
