//! Who waits for which of a process's lines: the map of ids.
//!
//! What is kept for a request is bounded, whatever its process says: some notes, in
//! lines and bytes, and one answer, which has a place of its own. Of a request
//! that the process has not begun to get nothing is kept: ids can be guessed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_evidence::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::process::Process;
use crate::delivery::Line;
use crate::queue::MOST_BYTES;
use crate::upstream::Trace;

/// Notes that wait for one request, and their bytes are `MOST_BYTES`: what is
/// longer than that no client is told either.
const MOST_NOTES: usize = 256;

/// Of how many requests that were given up and not answered the sessions are
/// remembered.
const MOST_GIVEN_UP: usize = 1_024;

/// The requests that are open at one process.
#[derive(Default)]
pub(super) struct Desk {
    open: Mutex<Open>,
    given_up: Mutex<GivenUp>,
    last_id: AtomicU64,
}

/// Who waits, by id.
#[derive(Default)]
struct Open {
    waiters: HashMap<u64, Waiter>,
    /// Nothing more comes, for nobody.
    closed: bool,
}

/// Requests of clients that nobody waits for any more and that the process has
/// not answered, so that it may still ask for them.
#[derive(Default)]
struct GivenUp {
    /// Each with the session that may be asked.
    sessions: HashMap<u64, Option<SessionId>>,
    /// There were too many: for whom else it may ask is not known any more.
    overflowed: bool,
}

impl GivenUp {
    fn add(&mut self, id: u64, session: Option<SessionId>) {
        if self.sessions.len() < MOST_GIVEN_UP {
            self.sessions.insert(id, session);
        } else {
            self.overflowed = true;
        }
    }

    /// Whether the process may ask for nobody but this session.
    fn are_of(&self, session: &SessionId) -> bool {
        let mut sessions = self.sessions.values();
        !self.overflowed && sessions.all(|of| of.as_ref() == Some(session))
    }
}

struct Waiter {
    /// With a place more than there may be notes, for the answer.
    lines: mpsc::Sender<Said>,
    /// The bytes that notes may still have.
    left: Arc<Semaphore>,
    /// How far the request came.
    trace: Trace,
    /// Of the client whose request it is; none for one of the gateway's own.
    line: Option<Line>,
    /// Closed when it is not open any more.
    open: watch::Sender<()>,
    /// Whether its answer has come.
    replied: bool,
}

/// A line on its way to whoever waits for it.
struct Said {
    line: Vec<u8>,
    /// What it takes of the bytes that notes may have; an answer takes none.
    _held: Option<OwnedSemaphorePermit>,
}

/// One request's place in the id map; gives it back when dropped.
pub(super) struct Waiting {
    process: Arc<Process>,
    id: u64,
    lines: mpsc::Receiver<Said>,
}

/// The one client whose requests are open.
pub(super) struct Whose {
    line: Line,
    open: Vec<watch::Receiver<()>>,
}

impl Desk {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a note to whoever waits under `id`; false where nobody does, or
    /// more waits already than may, and it is lost.
    pub(super) fn note(&self, id: u64, line: Vec<u8>) -> bool {
        let mut open = self.open();
        let waiter = open.waiters.get_mut(&id);
        waiter.is_some_and(|waiter| waiter.note(line))
    }

    /// Gives an answer to whoever waits under `id`; nothing is asked for that
    /// request from then on. False where nobody waits for one.
    pub(super) fn reply(&self, id: u64, line: Vec<u8>) -> bool {
        let mut open = self.open();
        let waiter = open.waiters.get_mut(&id);
        let given = waiter.is_some_and(|waiter| waiter.reply(line));
        drop(open);
        self.given_up().sessions.remove(&id);
        given
    }

    fn given_up(&self) -> MutexGuard<'_, GivenUp> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody that nothing more comes, also who is to come.
    pub(super) fn close(&self) {
        let mut open = self.open();
        open.closed = true;
        open.waiters.clear();
        drop(open);
        *self.given_up() = GivenUp::default();
    }

    /// The client that a request of the process is for: where every request of a
    /// client that it works on is of one session that may be asked. That includes
    /// those that nobody waits for any more. Requests of the gateway's own are no
    /// client's.
    pub(super) fn whose(&self) -> Option<Whose> {
        let open = self.open();
        let mut clients: Vec<(u64, &Line, &Waiter)> = open
            .waiters
            .iter()
            .filter_map(|(id, waiter)| Some((*id, waiter.line.as_ref()?, waiter)))
            .collect();
        // On the stream of the newest one.
        clients.sort_by_key(|(id, ..)| *id);
        let (_, newest, _) = clients.last()?;
        let session = newest.asks()?;
        if clients
            .iter()
            .any(|(_, line, _)| line.asks() != Some(session))
        {
            return None;
        }
        if !self.given_up().are_of(session) {
            return None;
        }
        Some(Whose {
            line: (*newest).clone(),
            open: clients
                .iter()
                .map(|(.., waiter)| waiter.open.subscribe())
                .collect(),
        })
    }
}

impl Waiter {
    /// Whether what the process says under its id can be about it.
    fn is_open(&self) -> bool {
        self.trace.left() && !self.replied
    }

    fn note(&self, line: Vec<u8>) -> bool {
        // All that is given is given under the lock, so that the last place is
        // still there for the answer.
        if !self.is_open() || self.lines.capacity() < 2 {
            return false;
        }
        let bytes = u32::try_from(line.len()).ok();
        let held =
            bytes.and_then(|bytes| Arc::clone(&self.left).try_acquire_many_owned(bytes).ok());
        let said = held.map(|held| Said {
            line,
            _held: Some(held),
        });
        said.is_some_and(|said| self.lines.try_send(said).is_ok())
    }

    fn reply(&mut self, line: Vec<u8>) -> bool {
        if !self.is_open() {
            return false;
        }
        self.replied = true;
        let said = Said { line, _held: None };
        self.lines.try_send(said).is_ok()
    }
}

impl Whose {
    pub(super) fn line(&self) -> &Line {
        &self.line
    }

    /// Resolves when none of those requests is open any more.
    pub(super) async fn ended(self) {
        for mut open in self.open {
            while open.changed().await.is_ok() {}
        }
    }
}

impl Waiting {
    /// Mints an id at a process and waits under it, for what is said once a byte
    /// of the request may have left.
    pub(super) fn new(process: Arc<Process>, line: Option<Line>, trace: Trace) -> Self {
        let desk = process.desk();
        let id = desk.last_id.fetch_add(1, Ordering::SeqCst) + 1;
        let (sender, lines) = mpsc::channel(MOST_NOTES + 1);
        let waiter = Waiter {
            lines: sender,
            left: Arc::new(Semaphore::new(MOST_BYTES)),
            trace,
            line,
            open: watch::Sender::new(()),
            replied: false,
        };
        let mut open = desk.open();
        if !open.closed {
            open.waiters.insert(id, waiter);
        }
        drop(open);
        Self { process, id, lines }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The next line for this request; none once the process has ended.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        let said = self.lines.recv().await?;
        Some(said.line)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let desk = self.process.desk();
        let mut open = desk.open();
        // What was never sent is counted too: who would ask for it is not known.
        if let Some(Waiter {
            line: Some(line),
            replied: false,
            ..
        }) = open.waiters.remove(&self.id)
        {
            desk.given_up().add(self.id, line.asks().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_mcp::Revision;

    use super::*;
    use crate::sample::agent;
    use crate::upstream::stdio::tests::stdio;

    #[tokio::test]
    async fn what_is_kept_for_a_request_is_bounded_and_never_costs_it_its_answer() {
        let (stdio, agent) = (stdio(), agent("a"));
        stdio.prepare(&agent, Revision::R2026_07_28).await.unwrap();
        let seat = stdio.seat(&agent).unwrap();
        let process = seat.place.turn().await.running().unwrap();
        for (count, size, most) in [
            (0, 0, 0),
            (MOST_NOTES, 0, MOST_NOTES),
            (2 * MOST_NOTES, 0, MOST_NOTES),
            (2 * MOST_NOTES, 10_000, 209),
            (3, MOST_BYTES / 2, 2),
            (3, MOST_BYTES, 1),
            (3, MOST_BYTES + 1, 0),
        ] {
            for begun in [false, true] {
                let why = format!("{count} of {size} bytes, begun: {begun}");
                let trace = Trace::default();
                let mut waiting = process.register(None, &trace);
                let (desk, id) = (process.desk(), waiting.id());
                if begun {
                    trace.pass(None).unwrap();
                }
                let kept = (0..count).filter(|_| desk.note(id, vec![b'n'; size]));
                assert_eq!(kept.count(), if begun { most } else { 0 }, "{why}");
                assert_eq!(desk.reply(id, b"first".to_vec()), begun, "{why}");
                assert!(!desk.reply(id, b"second".to_vec()), "{why}");
                assert!(!desk.note(id, b"late".to_vec()), "{why}");
                assert!(!desk.note(id + 1, b"nobody's".to_vec()), "{why}");
                if begun {
                    for _ in 0..most {
                        assert_eq!(waiting.next().await.unwrap().len(), size, "{why}");
                    }
                    assert_eq!(waiting.next().await.unwrap(), b"first", "{why}");
                }
                assert!(waiting.lines.try_recv().is_err(), "{why}");
            }
        }
        let trace = Trace::default();
        let mut waiting = process.register(None, &trace);
        trace.pass(None).unwrap();
        for _ in 0..MOST_NOTES {
            assert!(process.desk().note(waiting.id(), vec![b'n'; MOST_BYTES]));
            waiting.next().await.unwrap();
        }
    }

    #[test]
    fn of_too_many_that_were_given_up_nobody_is_asked_again() {
        let [session, other] = [1, 2].map(|byte| SessionId::from_random([byte; 16]));
        let mut given_up = GivenUp::default();
        assert!(given_up.are_of(&session));
        let most = u64::try_from(MOST_GIVEN_UP).unwrap();
        (0..most).for_each(|id| given_up.add(id, Some(session.clone())));
        assert!(given_up.are_of(&session) && !given_up.are_of(&other));
        given_up.add(most, Some(other));
        assert_eq!(given_up.sessions.len(), MOST_GIVEN_UP);
        given_up.sessions.clear();
        assert!(
            !given_up.are_of(&session),
            "whose the last one was is not known"
        );
    }

    #[test]
    fn one_given_up_request_that_may_not_ask_keeps_everybody_from_being_asked() {
        let session = SessionId::from_random([1; 16]);
        let mut given_up = GivenUp::default();
        given_up.add(1, None);
        assert!(!given_up.are_of(&session));
    }
}
