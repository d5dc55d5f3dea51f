//! The bounded queue between callers and the writer.
//!
//! Attempts are bounded in all and for each agent, and are turned away when
//! there is no room: nobody waits for ever, and one agent cannot fill the
//! queue. Settlements are not bounded here, since there are never more than
//! tokens, and turning one away would lose an outcome.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_evidence::{Agent, RefusalCode};
use tokio::sync::watch;

use crate::error::LedgerError;
use crate::identity::Incarnation;
use crate::request::Request;
use crate::settlement::Settlement;
use crate::token::Closed;

/// How long a caller that was turned away should wait, in milliseconds.
const RETRY_AFTER_MS: u64 = 250;

pub(crate) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    failed: AtomicBool,
    rolled_back: AtomicBool,
    /// What the writer found last: its connection is gone, or its anchor cannot be
    /// written.
    away: AtomicBool,
    incarnation: AtomicI64,
    fatal: watch::Sender<bool>,
    limit: usize,
    share: usize,
}

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    attempts: usize,
    shares: HashMap<Agent, usize>,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize, share: usize) -> Self {
        Self {
            state: Mutex::default(),
            arrived: Condvar::new(),
            failed: AtomicBool::new(false),
            rolled_back: AtomicBool::new(false),
            away: AtomicBool::new(false),
            incarnation: AtomicI64::new(0),
            fatal: watch::Sender::new(false),
            limit,
            share,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock; if something did, the queue
        // is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a request at the end.
    pub(crate) fn push(&self, request: Request) -> Result<(), LedgerError> {
        let mut state = self.lock();
        if state.closed || self.failed() {
            return Err(LedgerError::Unavailable);
        }
        if let Some(agent) = bounded(&request) {
            let held = state.shares.get(agent).copied().unwrap_or(0);
            if state.attempts >= self.limit || held >= self.share {
                return Err(LedgerError::Overloaded {
                    retry_after_ms: RETRY_AFTER_MS,
                });
            }
            state.attempts += 1;
            *state.shares.entry(agent.clone()).or_default() += 1;
        }
        state.requests.push_back(request);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// Settles what a token that was dropped leaves behind.
    pub(crate) fn give_up(&self, closed: Closed) {
        // INVARIANT: the code is made of letters and `-`.
        let Ok(reason) = RefusalCode::new("abandoned") else {
            return;
        };
        let settlement = Settlement::NotSent { reason };
        let mut state = self.lock();
        if !state.closed {
            state.requests.push_back(Request::Settle {
                closed,
                settlement,
                reply: None,
            });
            drop(state);
            self.arrived.notify_one();
        }
    }

    /// How many requests wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().requests.len()
    }

    /// Takes up to `most` requests, waiting for the first one at most `wait`;
    /// `None` once the queue is closed and empty.
    pub(crate) fn drain(&self, most: usize, wait: Option<Duration>) -> Option<Vec<Request>> {
        let mut state = self.lock();
        if state.requests.is_empty() && state.closed {
            return None;
        }
        if state.requests.is_empty() {
            state = match wait {
                None => self
                    .arrived
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(wait) => {
                    self.arrived
                        .wait_timeout(state, wait)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
        let count = state.requests.len().min(most);
        let taken: Vec<Request> = state.requests.drain(..count).collect();
        for request in &taken {
            if let Some(agent) = bounded(request) {
                state.attempts = state.attempts.saturating_sub(1);
                if let Some(held) = state.shares.get_mut(agent) {
                    *held = held.saturating_sub(1);
                    if *held == 0 {
                        state.shares.remove(agent);
                    }
                }
            }
        }
        Some(taken)
    }

    /// Takes no more requests; those that wait are still served.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Takes no more requests, and gives back those that wait: nobody serves them.
    pub(crate) fn abandon(&self) -> Vec<Request> {
        let mut state = self.lock();
        state.closed = true;
        state.requests.drain(..).collect()
    }

    /// Nothing is admitted any more, for the life of this process.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
        self.fatal.send_replace(true);
    }

    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    /// Whether the store went back in time, so that nothing is admitted.
    pub(crate) fn rolled_back(&self) -> bool {
        self.rolled_back.load(Ordering::SeqCst)
    }

    /// The database was found older than it was, or that was accepted.
    pub(crate) fn set_rolled_back(&self, rolled_back: bool) {
        self.rolled_back.store(rolled_back, Ordering::SeqCst);
    }

    /// Whether the writer admits anything now.
    pub(crate) fn admits(&self) -> bool {
        !(self.failed() || self.rolled_back() || self.away.load(Ordering::SeqCst))
    }

    pub(crate) fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// Who writes.
    pub(crate) fn incarnation(&self) -> Incarnation {
        Incarnation::new(self.incarnation.load(Ordering::SeqCst))
    }

    pub(crate) fn enlist(&self, incarnation: Incarnation) {
        self.incarnation.store(incarnation.get(), Ordering::SeqCst);
    }

    pub(crate) fn fatal(&self) -> watch::Receiver<bool> {
        self.fatal.subscribe()
    }
}

/// The agent in whose share a request counts.
fn bounded(request: &Request) -> Option<&Agent> {
    match request {
        Request::Attempt { attempt, .. } => Some(&attempt.agent),
        Request::Append { draft, .. } => draft.agent.as_ref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use countersign_evidence::{Draft, Kind, Time};
    use tokio::sync::oneshot;

    use super::*;
    use crate::request::InForce;

    fn from(agent: &str) -> Request {
        let mut draft = Draft::new(Kind::Refusal, Time::from_micros(0));
        draft.agent = Some(Agent {
            method: "token".into(),
            issuer: String::new(),
            subject: agent.into(),
        });
        let (reply, _) = oneshot::channel();
        Request::Append {
            draft: Box::new(draft),
            in_force: InForce::Unchanged,
            reply,
        }
    }

    fn code(result: Result<(), LedgerError>) -> &'static str {
        result.map_or_else(|error| error.code(), |()| "queued")
    }

    #[test]
    fn one_agent_cannot_fill_the_queue_and_nobody_waits_for_room() {
        let queue = Queue::new(3, 2);
        assert_eq!(code(queue.push(from("a"))), "queued");
        assert_eq!(code(queue.push(from("a"))), "queued");
        assert_eq!(
            code(queue.push(from("a"))),
            "overloaded",
            "its share is full"
        );
        assert_eq!(code(queue.push(from("b"))), "queued");
        assert_eq!(
            code(queue.push(from("c"))),
            "overloaded",
            "the queue is full"
        );
        assert_eq!(queue.drain(1, None).unwrap().len(), 1);
        assert_eq!(
            code(queue.push(from("a"))),
            "queued",
            "what was taken makes room"
        );
    }

    #[test]
    fn a_queue_that_failed_takes_nothing_and_says_so_to_whoever_watches() {
        let queue = Arc::new(Queue::new(1, 1));
        let fatal = queue.fatal();
        queue.fail();
        assert!(*fatal.borrow());
        assert_eq!(code(queue.push(from("a"))), "ledger-unavailable");
    }
}
