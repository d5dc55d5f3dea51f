//! What waits for the client of one request before its answer: bounded in messages
//! and in bytes, and counted for its agent until it is written.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::bodies::{Account, Room};

/// Events that may wait for a slow client; the last answer has a place of its
/// own.
pub(crate) const MOST_EVENTS: usize = 255;
/// And their bytes, which are those of the largest event too.
pub(crate) const MOST_BYTES: usize = 2_097_152;

/// A message before the last one.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) body: Bytes,
    pub(crate) held: Held,
}

/// What a message that its client has not taken yet takes of the bytes that may
/// wait, of one request and of one agent.
#[derive(Debug)]
pub(crate) struct Held {
    _request: Option<OwnedSemaphorePermit>,
    _agent: Room,
}

/// Bytes on their way to a client, which hold their room until they are written.
struct Kept {
    bytes: Vec<u8>,
    _held: Held,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Held {
    /// What is to be written in place of the message that took this.
    pub(crate) fn keep(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Kept { bytes, _held: self })
    }
}

/// Where events wait for their client.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    events: mpsc::Sender<Event>,
    /// The bytes that may wait still.
    left: Arc<Semaphore>,
    account: Account,
}

impl Queue {
    /// An empty one, counted for an agent, and the end that is read from.
    pub(crate) fn new(account: Account) -> (Self, mpsc::Receiver<Event>) {
        let (events, received) = mpsc::channel(MOST_EVENTS);
        let left = Arc::new(Semaphore::new(MOST_BYTES));
        let queue = Self {
            events,
            left,
            account,
        };
        (queue, received)
    }

    /// What an answer of so many bytes takes, which is never turned away.
    pub(crate) fn answer(&self, bytes: usize) -> Held {
        Held {
            _request: None,
            _agent: self.account.add(bytes),
        }
    }

    /// Takes no more events, whoever puts them.
    pub(crate) fn close(&self) {
        self.left.close();
    }

    /// Puts an event there; false where there is no room for it, and it is lost.
    pub(crate) fn put(&self, body: impl Into<Bytes>) -> bool {
        let body = body.into();
        let held = || {
            let bytes = u32::try_from(body.len()).ok()?;
            let request = Arc::clone(&self.left).try_acquire_many_owned(bytes).ok()?;
            Some(Held {
                _request: Some(request),
                _agent: self.account.take(body.len())?,
            })
        };
        let Some(held) = held() else {
            return false;
        };
        self.events.try_send(Event { body, held }).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Bodies;
    use crate::sample::agent;

    #[test]
    fn an_event_gives_its_room_back_once_it_is_written_and_one_of_another_size_takes_it() {
        let account = Bodies::new(1 << 28).account(&agent("a"));
        let (queue, mut events) = Queue::new(account);
        let event = || Bytes::from(vec![b'a'; MOST_BYTES]);
        queue.put(event());
        let first = events.try_recv().unwrap();
        let written = first.held.keep(first.body.to_vec());
        queue.put(event());
        assert!(events.try_recv().is_err(), "not written yet");
        drop(written);
        queue.put(event());
        assert!(events.try_recv().is_ok());
        queue.close();
        queue.put(&b"a"[..]);
        assert!(events.try_recv().is_err(), "nothing more");
    }
}
