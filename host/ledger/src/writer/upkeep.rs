//! What is due beside requests: what was kept is tried again, checkpoints are
//! cut and the anchor moved, the store does its own chores, and rows whose
//! owner is gone are given up.

use std::time::Duration;

use countersign_evidence::checkpoint::Checkpoint;

use super::Writer;
use crate::anchor::Anchor;
use crate::recovery;
use crate::store::{Store, StoreError, Upkeep, Wanted};

/// How long the writer waits before it tries again what failed.
const RETRY: Duration = Duration::from_secs(1);

/// How often expired answers are looked for.
const EXPIRE: Duration = Duration::from_secs(30);

/// The last checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signed {
    size: u64,
    at: Duration,
    /// Entries that were committed since this process began.
    pub(super) log_size: u64,
}

impl Signed {
    pub(super) fn nothing(at: Duration) -> Self {
        Self {
            size: 0,
            at,
            log_size: 0,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

impl<S: Store> Writer<S> {
    /// How long to wait for a request; `None` where nothing else is due.
    pub(super) fn wait(&self) -> Option<Duration> {
        if self.queue.rolled_back() || self.queue.failed() {
            return None;
        }
        if self.orphans && self.connected {
            return Some(Duration::ZERO);
        }
        let retry =
            !self.kept.is_empty() || self.doubt.is_some() || self.anchor_failed || !self.connected;
        let retry = retry.then_some(RETRY);
        let since = self.clock.monotonic().saturating_sub(self.signed.at);
        let checkpoint = (self.signed.size < self.signed.log_size)
            .then(|| self.options.checkpoint_every.saturating_sub(since));
        let chores = self.connected.then(|| self.store.due()).flatten();
        let expire = EXPIRE.saturating_sub(self.clock.monotonic().saturating_sub(self.expired));
        let expire = retry.is_none().then_some(expire);
        let checkpoint = checkpoint.filter(|_| retry.is_none());
        [retry, checkpoint, chores, expire]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn upkeep(&mut self, last: bool) {
        if self.queue.rolled_back() || self.queue.failed() {
            return;
        }
        let now = self.clock.monotonic();
        let again = last || now.saturating_sub(self.tried) >= RETRY;
        let waiting = !self.kept.is_empty() || self.doubt.is_some() || !self.connected;
        if again && waiting {
            self.tried = now;
            self.retry(last);
        }
        if last && self.connected {
            // How far the others are, for the anchor that is written last.
            if let Err(error) = self.store.look() {
                self.lost(&error);
                // A connection that broke while nobody asked is found now.
                if self.connect()
                    && let Err(error) = self.store.look()
                {
                    self.lost(&error);
                }
            }
        }
        let due = now.saturating_sub(self.signed.at) >= self.options.checkpoint_every;
        if last || due || (self.anchor_failed && again) {
            // Where nothing is to be signed this is due all the time, and must not put
            // off what is tried again.
            if self.anchor_failed {
                self.tried = now;
            }
            self.cut_checkpoint();
        }
        if self.connected && now.saturating_sub(self.expired) >= EXPIRE {
            match self.store.expire_answers(self.clock.wall_us()) {
                // What is left goes with the next look.
                Ok(true) => {}
                Ok(false) => self.expired = now,
                Err(error) => self.lost(&error),
            }
        }
        self.keep_store();
        if self.orphans && self.connected {
            self.give_up();
        }
    }

    /// Lets the store do what is due.
    pub(super) fn keep_store(&mut self) {
        if !self.connected {
            return;
        }
        match self.store.upkeep() {
            Ok(Upkeep::Quiet) => {}
            Ok(Upkeep::Orphans) => self.orphans = true,
            Ok(Upkeep::Ended) => {
                if let Err(error) = self.enlist() {
                    self.lost(&error);
                }
            }
            Err(error) => self.lost(&error),
        }
    }

    fn give_up(&mut self) {
        match recovery::give_up(&mut self.store, self.clock.as_ref()) {
            Ok(Some(log_size)) => self.signed.log_size = log_size,
            Ok(None) => self.orphans = false,
            Err(error) => {
                // They are found again.
                self.orphans = false;
                self.lost(&error);
            }
        }
    }

    /// Signs what is committed, keeps that, and moves the anchor.
    pub(super) fn cut_checkpoint(&mut self) {
        // What the others have come to since belongs into the anchor too.
        let due = self.signed.size < self.signed.log_size
            || self.anchor_failed
            || self.store.known().others() != self.anchored;
        if !self.connected || !due {
            return;
        }
        let key = &self.key;
        let cut = |store: &mut S| {
            let head = store.begin(&Wanted::default())?.head;
            store.keep_checkpoint(head.size(), &Checkpoint::of(&head).sign(key))?;
            store.commit()?;
            Ok(head)
        };
        let head = match cut(&mut self.store) {
            Ok(head) => head,
            Err(error) => return self.lost(&error),
        };
        self.signed = Signed {
            size: head.size(),
            at: self.clock.monotonic(),
            log_size: head.size(),
        };
        let anchor = Anchor::of(&head, self.store.known().others());
        let anchored = anchor.write(&self.options.anchor);
        if let Err(error) = &anchored {
            tracing::error!(%error, "the anchor cannot be written: nothing is admitted");
        }
        self.anchor_failed = anchored.is_err();
        self.anchored = anchor.others;
    }

    /// The store failed beside a group.
    pub(super) fn lost(&mut self, error: &StoreError) {
        match error {
            StoreError::Rival(_) | StoreError::Refused(_) => {
                tracing::warn!(%error, "a chore of the ledger waits");
                if self.store.rollback().is_err() {
                    self.connected = false;
                }
            }
            StoreError::Ended => match self.store.rollback().and_then(|()| self.enlist()) {
                Ok(()) => {}
                Err(StoreError::RolledBack) => self.found_rolled_back(),
                Err(_) => self.connected = false,
            },
            StoreError::RolledBack => self.found_rolled_back(),
            _ => {
                tracing::error!(%error, "the ledger failed");
                self.connected = false;
            }
        }
        if matches!(error, StoreError::Sync(_)) {
            self.queue.fail();
        }
    }
}
