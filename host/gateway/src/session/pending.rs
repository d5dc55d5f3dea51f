//! What a session's server asks of its client, and the client's answers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use countersign_canon::Id;
use tokio::sync::oneshot;

use super::Session;

/// Requests of servers that one client may have to answer at once.
const MOST_ASKED: usize = 32;

/// A client's answer to a request of a server: a result or an error, as written.
pub(crate) type Answer = Result<Vec<u8>, Vec<u8>>;

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

impl Session {
    /// Mints an id for a request of the server; none where too many wait, or the
    /// session has ended: nobody could answer.
    #[must_use]
    pub(crate) fn ask(self: &Arc<Self>) -> Option<Pending> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at under the lock: what is asked before the end is given up with it.
        if self.has_ended() || asked.len() >= MOST_ASKED {
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::session;
    use super::*;

    #[test]
    fn a_reply_reaches_who_asked_once_and_a_foreign_one_nobody() {
        let (mine, other) = (Arc::new(session(1, "a")), Arc::new(session(2, "a")));
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

    #[tokio::test]
    async fn whoever_asked_in_a_session_that_ends_is_told_that_nobody_answers() {
        let session = Arc::new(session(1, "a"));
        let mut pending = session.ask().unwrap();
        session.end();
        assert_eq!(pending.answer().await, None);
        drop(pending);
        assert!(session.ask().is_none(), "nor is it asked any more");
    }
}
