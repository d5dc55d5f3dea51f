//! What makes the ledger of a gateway in this process fail, or the whole gateway
//! die, at a durable boundary.
//!
//! It is called at the points of the ledger's writer. To die is: the files are
//! copied as they are at that moment, which is what a process leaves that is
//! killed there; the writer is held, so that nothing more is written or told;
//! then the stage drops the whole gateway and goes on with the copy.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

use countersign_ledger::{Fault as Fails, Point, Probe};
use tokio::sync::watch;

use super::folder;
use crate::plan::{Does, Fault};

/// One incarnation's.
pub(super) struct Saboteur {
    from: PathBuf,
    to: PathBuf,
    state: Mutex<State>,
    released: Condvar,
    died: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    /// Boundaries since the fault was armed.
    passed: usize,
    fired: bool,
    dead: bool,
    released: bool,
}

impl Saboteur {
    pub(super) fn new(from: PathBuf, to: PathBuf, fault: Option<Fault>) -> Self {
        Self {
            from,
            to,
            state: Mutex::new(State {
                fault,
                ..State::default()
            }),
            released: Condvar::new(),
            died: watch::Sender::new(false),
        }
    }

    pub(super) fn arm(&self, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        state.fault = Some(fault);
        state.passed = 0;
        state.fired = false;
    }

    pub(super) fn disarm(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        state.fault = None;
        std::mem::take(&mut state.fired)
    }

    pub(super) fn died(&self) -> watch::Receiver<bool> {
        self.died.subscribe()
    }

    /// Dies now, where it has not died yet.
    pub(super) fn die(&self) {
        self.copy_files(&mut self.state.lock().unwrap());
    }

    fn copy_files(&self, state: &mut State) {
        if !state.dead {
            state.dead = true;
            folder::copy(&self.from, &self.to);
            self.died.send_replace(true);
        }
    }

    /// Dies without a trace: nothing more is written, and nothing goes on.
    /// INVARIANT: it does not panic.
    pub(super) fn abandon(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.dead, state.released) = (true, true);
        drop(state);
        self.died.send_replace(true);
        self.released.notify_all();
    }

    /// Lets the writer of a dead gateway come to its end; it writes nothing.
    pub(super) fn release(&self) {
        self.state.lock().unwrap().released = true;
        self.released.notify_all();
    }
}

impl Probe for Saboteur {
    fn at(&self, point: Point) -> Result<(), Fails> {
        let mut state = self.state.lock().unwrap();
        if point == Point::Decided {
            state.passed += 1;
        }
        let now = state.passed.checked_sub(1);
        let fault = state.fault.filter(|fault| {
            let lasts = fault.does == Does::DiskFull;
            now.is_some_and(|now| now == fault.boundary || lasts && now > fault.boundary)
        });
        let result = match (fault.map(|fault| fault.does), point) {
            (Some(Does::DiesBefore), Point::Written)
            | (Some(Does::DiesAfter), Point::Committed) => {
                state.fired = true;
                self.copy_files(&mut state);
                Ok(())
            }
            (Some(Does::CommitLost), Point::Committing)
            | (Some(Does::Unacknowledged), Point::Committed) => {
                (state.fired, state.fault) = (true, None);
                Err(Fails::Error)
            }
            (Some(Does::DiskFull), Point::Written) => {
                state.fired = true;
                Err(Fails::Error)
            }
            (Some(Does::SyncFails), Point::Committing) => {
                (state.fired, state.fault) = (true, None);
                Err(Fails::Sync)
            }
            _ => Ok(()),
        };
        if state.dead {
            drop(
                self.released
                    .wait_while(state, |state| !state.released)
                    .unwrap(),
            );
            return Err(Fails::Error);
        }
        result
    }
}
