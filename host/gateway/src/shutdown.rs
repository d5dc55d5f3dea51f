//! Knowing what still runs, and letting it end.
//!
//! 1. nothing new is admitted;
//! 2. what runs may end by itself, for as long as is configured;
//! 3. what then still runs is told to hurry: it lets go of its upstream,
//!    settles, and says so to its client;
//! 4. ten seconds later nobody waits any more, and what is left is blocked at
//!    the next start.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

/// How long calls have to settle after they were told to hurry.
const SETTLING: Duration = Duration::from_secs(10);

/// What runs in one gateway.
#[derive(Debug)]
pub(crate) struct Running {
    draining: watch::Sender<bool>,
    hurry: watch::Sender<bool>,
    // Each task holds a clone; when the last is gone, all have ended.
    alive: Mutex<Option<mpsc::Sender<()>>>,
    ended: tokio::sync::Mutex<mpsc::Receiver<()>>,
}

/// Held by a task for as long as it runs.
#[derive(Clone, Debug)]
pub(crate) struct Alive(#[allow(dead_code, reason = "held for its drop")] mpsc::Sender<()>);

impl Running {
    /// Nothing runs yet. `hurry` is what upstreams watch.
    pub(crate) fn new(hurry: watch::Sender<bool>) -> Self {
        let (alive, ended) = mpsc::channel(1);
        Self {
            draining: watch::Sender::new(false),
            hurry,
            alive: Mutex::new(Some(alive)),
            ended: tokio::sync::Mutex::new(ended),
        }
    }

    /// Counts a task in; none once nothing new is admitted.
    pub(crate) fn enter(&self) -> Option<Alive> {
        self.alive
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .map(Alive)
    }

    /// Whether nothing new is admitted any more.
    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Resolves once nothing new is admitted.
    pub(crate) fn draining(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }

    /// Ends everything, in the order that the module's doc gives; answers
    /// whether all that ran has ended.
    pub(crate) async fn end(&self, drain: Duration) -> bool {
        self.draining.send_replace(true);
        self.alive
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut ended = self.ended.lock().await;
        if tokio::time::timeout(drain, ended.recv()).await.is_ok() {
            return true;
        }
        self.hurry.send_replace(true);
        tokio::time::timeout(SETTLING, ended.recv()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_runs_may_end_by_itself_and_is_hurried_only_then() {
        let (hurry, watching) = watch::channel(false);
        let running = Running::new(hurry);
        let alive = running.enter().unwrap();
        let mut hurried = watching.clone();
        tokio::spawn(async move {
            let _ = hurried.wait_for(|hurry| *hurry).await;
            drop(alive);
        });
        assert!(running.end(Duration::from_millis(20)).await);
        assert!(*watching.borrow());
        assert!(running.enter().is_none(), "nothing new");
        assert!(running.is_draining());
    }
}
