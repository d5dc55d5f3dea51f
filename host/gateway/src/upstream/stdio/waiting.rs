//! Who waits for which of a process's lines: the map of ids.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_evidence::SessionId;
use tokio::sync::{mpsc, watch};

use super::process::Process;
use crate::delivery::Line;

/// Lines that wait for one request: progress, and then the answer.
const MOST_LINES: usize = 256;

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
    lines: mpsc::Sender<Vec<u8>>,
    /// Of the client whose request it is; none for one of the gateway's own.
    line: Option<Line>,
    /// Closed when it is not open any more.
    open: watch::Sender<()>,
    /// Whether its answer has come.
    replied: bool,
}

/// One request's place in the id map; gives it back when dropped.
pub(super) struct Waiting {
    process: Arc<Process>,
    id: u64,
    lines: mpsc::Receiver<Vec<u8>>,
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

    /// Gives a line to whoever waits under `id`; false where nobody does.
    pub(super) fn give(&self, id: u64, line: Vec<u8>) -> bool {
        let open = self.open();
        let Some(waiter) = open.waiters.get(&id) else {
            return false;
        };
        // A full channel loses progress, and in the end the answer: then the
        // upstream said more than anyone reads.
        let _ = waiter.lines.try_send(line);
        true
    }

    fn given_up(&self) -> MutexGuard<'_, GivenUp> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a request was answered: nothing is asked for it from then on.
    pub(super) fn replied(&self, id: u64) {
        if let Some(waiter) = self.open().waiters.get_mut(&id) {
            waiter.replied = true;
        }
        self.given_up().sessions.remove(&id);
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
    /// Mints an id at a process and waits under it.
    pub(super) fn new(process: Arc<Process>, line: Option<Line>) -> Self {
        let desk = process.desk();
        let id = desk.last_id.fetch_add(1, Ordering::SeqCst) + 1;
        let (sender, lines) = mpsc::channel(MOST_LINES);
        let waiter = Waiter {
            lines: sender,
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
        self.lines.recv().await
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
    use super::*;

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
