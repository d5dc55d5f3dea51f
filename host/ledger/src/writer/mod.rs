//! The one thread that writes.
//!
//! 1. Take what waits, up to a group, or what is due.
//! 2. Begin a transaction; let the plan decide every request of the group.
//! 3. Write what was decided, and commit.
//! 4. Answer all. Only now do tokens exist.
//! 5. On any error: nothing of the group counts. The connection is opened
//!    again, and where the commit itself failed it is read back whether it took
//!    effect. Settlements are kept and tried again.
//! 6. After a sync that failed nothing is written any more
//!    (`docs/spec/executions.md` §5).
//!
//! `answers` says what was decided once it is durable; `failure` is step 5.

mod answers;
mod failure;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::Draft;
use countersign_evidence::checkpoint::Checkpoint;
use countersign_evidence::key::SigningKey;

use crate::anchor::Anchor;
use crate::attempt::{Epochs, Position};
use crate::error::LedgerError;
use crate::options::{Clock, Options};
use crate::plan::{Batch, Nearing, Plan};
use crate::probe::Point;
use crate::queue::Queue;
use crate::request::{InForce, Request};
use crate::settlement::Settlement;
use crate::sqlite::{Backfill, Store, accept};
use crate::store::StoreError;
use crate::token::Closed;
use answers::Said;
use failure::{AtCommit, Doubt, Failed};

/// How long the writer waits before it tries again what failed.
const RETRY: Duration = Duration::from_secs(1);
/// How often expired answers are looked for.
const EXPIRE: Duration = Duration::from_secs(30);

pub(crate) struct Writer {
    store: Store,
    options: Options,
    clock: Arc<dyn Clock>,
    key: SigningKey,
    queue: Arc<Queue>,
    backfill: Backfill,
    /// Settlements that could not be made durable yet.
    kept: Vec<(Closed, Settlement)>,
    /// A commit of which it is not known whether it took effect.
    doubt: Option<Doubt>,
    connected: bool,
    anchor_failed: bool,
    signed: Signed,
    tried: Duration,
    /// When no expired answer was left last.
    expired: Duration,
}

/// The last checkpoint.
#[derive(Clone, Copy, Debug)]
struct Signed {
    size: u64,
    at: Duration,
    /// Entries that were committed since this process began.
    log_size: u64,
}

impl Writer {
    pub(crate) fn new(
        store: Store,
        options: Options,
        clock: Arc<dyn Clock>,
        key: SigningKey,
        queue: Arc<Queue>,
    ) -> Self {
        let watcher = Arc::clone(&queue);
        let backfill = Backfill::start(store.path(), move || watcher.fail());
        let now = clock.monotonic();
        Self {
            store,
            options,
            clock,
            key,
            queue,
            backfill,
            kept: Vec::new(),
            doubt: None,
            connected: true,
            anchor_failed: false,
            // The entries of the start are signed with the first that follow.
            signed: Signed {
                size: 0,
                at: now,
                log_size: 0,
            },
            tried: now,
            expired: now,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.store.path()
    }

    /// Serves until the queue is closed and empty; says whether everything that
    /// was promised is durable.
    pub(crate) fn run(mut self) -> Result<(), LedgerError> {
        if !self.queue.rolled_back()
            && let Ok(size) = self.store.log_size()
        {
            self.signed.log_size = size;
        }
        while let Some(requests) = self.queue.drain(self.options.group, self.wait()) {
            self.serve(requests);
            self.upkeep(false);
        }
        self.upkeep(true);
        let whole = self.kept.is_empty() && self.doubt.is_none() && !self.queue.failed();
        if whole {
            Ok(())
        } else {
            Err(LedgerError::Unavailable)
        }
    }

    /// How long to wait for a request; `None` where nothing else is due.
    fn wait(&self) -> Option<Duration> {
        if self.queue.rolled_back() || self.queue.failed() {
            return None;
        }
        if !self.kept.is_empty() || self.doubt.is_some() || self.anchor_failed || !self.connected {
            return Some(RETRY);
        }
        let now = self.clock.monotonic();
        let since = now.saturating_sub(self.signed.at);
        let expire = EXPIRE.saturating_sub(now.saturating_sub(self.expired));
        let unsigned = self.signed.size < self.signed.log_size;
        let checkpoint = unsigned.then(|| self.options.checkpoint_every.saturating_sub(since));
        Some(checkpoint.map_or(expire, |checkpoint| checkpoint.min(expire)))
    }

    fn serve(&mut self, requests: Vec<Request>) {
        if requests.is_empty() {
            return;
        }
        if self.queue.rolled_back() {
            return self.while_rolled_back(requests);
        }
        if self.queue.failed() || !self.connect() {
            return self.fail_all(requests, &LedgerError::Unavailable);
        }
        drop(self.probe(Point::Taken));
        match self.group(&requests) {
            Ok(said) => {
                self.answer_all(requests, said);
                drop(self.probe(Point::Answered));
            }
            Err(failed) => self.recover(requests, failed),
        }
    }

    /// Decides, writes and commits one group.
    fn group(&mut self, requests: &[Request]) -> Result<Vec<Said>, Failed> {
        let base = self.store.begin()?;
        let (now_us, me) = (self.clock.wall_us(), self.store.incarnation());
        let rows = self.store.rows()?;
        let mut plan = Plan::new(&rows, base, now_us, me, self.options.agent_rows);
        let mut said = Vec::with_capacity(requests.len());
        for request in requests {
            said.push(match request {
                Request::Attempt { .. } if self.anchor_failed => {
                    Said::Attempt(Err(LedgerError::Unavailable))
                }
                Request::Attempt {
                    attempt, intent, ..
                } => Said::Attempt(plan.attempt(attempt, intent)?),
                Request::Settle {
                    closed, settlement, ..
                } => Said::Settle(plan.settle(closed, settlement)?),
                Request::Append {
                    draft, in_force, ..
                } => Said::Append(plan.append(draft, *in_force)),
                Request::Act {
                    which, act, draft, ..
                } => Said::Act(Box::new(plan.act(which, act, draft)?)),
                Request::AcceptRollback { .. } => Said::Append(Err(LedgerError::NotRolledBack)),
                Request::Checkpoint { .. } => Said::Checkpoint,
            });
        }
        let batch = plan.into_batch();
        let Some((sequence, hash)) = last_entry(&batch) else {
            self.store.rollback()?;
            return Ok(said);
        };
        self.probe(Point::Decided)?;
        self.store.write(&batch)?;
        self.probe(Point::Written)?;
        let committed = self
            .probe(Point::Committing)
            .and_then(|()| self.store.commit())
            .and_then(|()| self.probe(Point::Committed));
        if let Err(error) = committed {
            let at_commit = AtCommit {
                error,
                said,
                sequence,
                hash,
            };
            return Err(Failed::AtCommit(Box::new(at_commit)));
        }
        self.signed.log_size = batch.head.size();
        for Nearing { agent, held, limit } in &batch.nearing {
            tracing::warn!(
                method = agent.method,
                issuer = agent.issuer,
                subject = agent.subject,
                held,
                limit,
                "an agent holds four fifths of the executions that it may hold"
            );
        }
        Ok(said)
    }

    /// Nothing is done on a store that is behind its anchor, until an operator
    /// accepts that; what waits behind the acceptance is served.
    fn while_rolled_back(&mut self, requests: Vec<Request>) {
        let mut requests = requests.into_iter();
        while let Some(request) = requests.next() {
            let Request::AcceptRollback { draft, then, reply } = request else {
                self.fail_all(vec![request], &LedgerError::RolledBack);
                continue;
            };
            let accepted = self.accept_rollback(*draft, &then);
            let admits = accepted.is_ok();
            answers::send(reply, accepted);
            if admits {
                return self.serve(requests.collect());
            }
        }
    }

    fn accept_rollback(
        &mut self,
        draft: Draft,
        then: &[(Draft, InForce)],
    ) -> Result<(Position, Epochs), LedgerError> {
        if self.queue.failed() || !self.connect() {
            return Err(LedgerError::Unavailable);
        }
        let accepted = accept(
            &mut self.store,
            &self.options,
            self.clock.as_ref(),
            draft,
            then,
        );
        let (place, epochs) = accepted.map_err(|error| {
            tracing::error!(%error, "the rollback was not accepted");
            self.connected = false;
            LedgerError::Unavailable
        })?;
        tracing::warn!("an operator accepted that the ledger was rolled back");
        if let Ok(size) = self.store.log_size() {
            self.signed.log_size = size;
        }
        self.queue.enlist(self.store.incarnation());
        self.queue.set_rolled_back(false);
        Ok((place, epochs))
    }

    fn probe(&self, point: Point) -> Result<(), StoreError> {
        match &self.options.probe {
            Some(probe) => Ok(probe.at(point)?),
            None => Ok(()),
        }
    }

    /// What is due beside requests.
    fn upkeep(&mut self, last: bool) {
        if self.queue.rolled_back() || self.queue.failed() {
            return;
        }
        let now = self.clock.monotonic();
        let again = last || now.saturating_sub(self.tried) >= RETRY;
        let waiting = !self.kept.is_empty() || self.doubt.is_some() || !self.connected;
        if again && waiting {
            self.tried = now;
            self.retry();
        }
        let due = now.saturating_sub(self.signed.at) >= self.options.checkpoint_every;
        if last || due || (self.anchor_failed && again) {
            self.tried = now;
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
        let wal_bytes = self.store.wal_bytes();
        self.backfill.wal_grew(wal_bytes, self.options.wal_bytes);
        if wal_bytes >= self.options.wal_bytes && self.connected {
            // At twice its bound the writer waits rather than let it grow.
            // Not for one who reads long, since that wait would be for nothing.
            let wait = wal_bytes >= self.options.wal_bytes.saturating_mul(2)
                && !self.store.read_at_length();
            let turn = self.backfill.turn(wait);
            let reset = turn.map_or(Ok(()), |_turn| self.store.reset_wal(wait));
            if let Err(error) = reset {
                self.lost(&error);
            }
        }
    }

    /// Signs what is committed, keeps that, and moves the anchor.
    fn cut_checkpoint(&mut self) {
        if !self.connected || (self.signed.size >= self.signed.log_size && !self.anchor_failed) {
            return;
        }
        let key = &self.key;
        let cut = |store: &mut Store| {
            let head = store.begin()?.head;
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
        let anchored = Anchor::of(&head).write(&self.options.anchor);
        if let Err(error) = &anchored {
            tracing::error!(%error, "the anchor cannot be written: nothing is admitted");
        }
        self.anchor_failed = anchored.is_err();
    }
}

fn last_entry(batch: &Batch) -> Option<(u64, Digest)> {
    let last = batch.entries.last()?;
    Some((last.entry.sequence(), last.entry.hash()))
}
