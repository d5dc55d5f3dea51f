//! The one thread that writes.
//!
//! 1. Take what waits, up to a group, or what is due.
//! 2. Begin a transaction; let the plan decide every request of the group.
//! 3. Write what was decided, and commit.
//! 4. Answer all. Only now do tokens exist.
//! 5. Where another writer came first the group is planned again, and where the
//!    store refuses it its members are carried out alone.
//! 6. Where the store is not as it was left, nothing is written any more until an
//!    operator accepts that.
//! 7. On any other error: nothing of the group counts. The connection is opened
//!    again, and where the commit itself failed it is read back whether it took
//!    effect. Settlements are kept and tried again.
//! 8. After a sync that failed nothing is written any more
//!    (`docs/spec/executions.md` §5).
//!
//! `answers` says what was decided once it is durable; `failure` is step 7;
//! `kept` tries again what it left; `upkeep` is what is due beside groups; `rollback` waits for an operator.

mod answers;
mod failure;
mod kept;
mod rollback;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::key::SigningKey;

use crate::error::LedgerError;
use crate::known::End;
use crate::options::{Clock, Options};
use crate::plan::{Batch, Nearing, Plan};
use crate::probe::Point;
use crate::queue::Queue;
use crate::recovery;
use crate::request::Request;
use crate::store::{Store, StoreError, Wanted};
use answers::Said;
pub(crate) use answers::refuse;
use failure::{AtCommit, Doubt, Failed};
use upkeep::Signed;

/// How often a group is planned again where another writer came first.
const RIVALS: u32 = 3;

pub(crate) struct Writer<S> {
    store: S,
    options: Options,
    clock: Arc<dyn Clock>,
    key: SigningKey,
    queue: Arc<Queue>,
    /// Settlements that could not be made durable yet.
    kept: Vec<kept::Outcome>,
    /// A commit of which it is not known whether it took effect.
    doubt: Option<Doubt>,
    connected: bool,
    anchor_failed: bool,
    /// What the anchor names of other logs.
    anchored: Vec<End>,
    /// Owners are gone, and some of their rows are still to be given up.
    orphans: bool,
    signed: Signed,
    tried: Duration,
    /// When no expired answer was left last.
    expired: Duration,
}

impl<S: Store> Writer<S> {
    pub(crate) fn new(
        store: S,
        options: Options,
        clock: Arc<dyn Clock>,
        key: SigningKey,
        queue: Arc<Queue>,
    ) -> Self {
        let now = clock.monotonic();
        let anchored = store.known().others().to_vec();
        Self {
            store,
            options,
            clock,
            key,
            queue,
            kept: Vec::new(),
            doubt: None,
            connected: true,
            anchor_failed: false,
            anchored,
            orphans: false,
            // The entries of the start are signed with the first that follow.
            signed: Signed::nothing(now),
            tried: now,
            expired: now,
        }
    }

    /// Serves until the queue is closed and empty; says whether everything that
    /// was promised is durable.
    pub(crate) fn run(mut self) -> Result<(), LedgerError> {
        if !self.queue.rolled_back()
            && let Ok(head) = self.store.head()
        {
            self.signed.log_size = head.size();
        }
        while let Some(requests) = self.queue.drain(self.options.group, self.wait()) {
            self.serve(requests);
            self.upkeep(false);
            self.queue.set_away(!self.connected || self.anchor_failed);
        }
        self.upkeep(true);
        if self.connected {
            self.store.leave();
        }
        let whole = self.kept.is_empty() && self.doubt.is_none() && !self.queue.failed();
        if whole {
            Ok(())
        } else {
            Err(LedgerError::Unavailable)
        }
    }

    fn serve(&mut self, requests: Vec<Request>) {
        if requests.is_empty() {
            return;
        }
        if self.queue.rolled_back() {
            return self.while_rolled_back(requests);
        }
        if self.queue.failed() || !self.connect() {
            return self.fail_all(requests, &self.refusal());
        }
        drop(self.probe(Point::Taken));
        if self.carry_out(requests) {
            drop(self.probe(Point::Answered));
        }
    }

    /// Carries out a group and answers it; says whether it is durable.
    fn carry_out(&mut self, requests: Vec<Request>) -> bool {
        match self.group(&requests) {
            Ok(said) => {
                self.answer_all(requests, said);
                true
            }
            Err(Failed::Before(StoreError::Rival(detail) | StoreError::Refused(detail))) => {
                tracing::warn!(%detail, requests = requests.len(), "a group could not be written");
                self.one_by_one(requests);
                false
            }
            Err(failed) => {
                self.recover(requests, failed);
                false
            }
        }
    }

    /// Carries out alone what could not be carried out together.
    fn one_by_one(&mut self, requests: Vec<Request>) {
        if requests.len() < 2 {
            return self.fail_all(requests, &LedgerError::Unavailable);
        }
        for request in requests {
            if self.queue.failed() || !self.connect() {
                // It may have been found rolled back with the one before.
                self.fail_all(vec![request], &self.refusal());
            } else {
                self.carry_out(vec![request]);
                // It may take long, and a lease does not wait.
                self.keep_store();
            }
        }
    }

    /// Decides, writes and commits one group, again where that may help.
    fn group(&mut self, requests: &[Request]) -> Result<Vec<Said>, Failed> {
        let mut tries = 0;
        let mut reconnected = false;
        loop {
            let error = match self.group_once(requests) {
                Err(Failed::AtBegin(StoreError::Failed(detail))) if !reconnected => {
                    // A connection that was lost while nobody asked is found now.
                    tracing::warn!(%detail, "the ledger is opened again");
                    reconnected = true;
                    self.connected = false;
                    if self.connect() {
                        continue;
                    }
                    return Err(Failed::Before(if self.queue.rolled_back() {
                        StoreError::RolledBack
                    } else {
                        StoreError::Failed(detail)
                    }));
                }
                Err(Failed::AtBegin(error) | Failed::Before(error)) => error,
                other => return other,
            };
            tries += 1;
            match error {
                StoreError::Rival(_) if tries <= RIVALS => {
                    self.store.rollback()?;
                    self.keep_store();
                }
                StoreError::Rival(_) | StoreError::Refused(_) => {
                    self.store.rollback()?;
                    return Err(Failed::Before(error));
                }
                StoreError::Ended if tries <= RIVALS => {
                    self.store.rollback()?;
                    self.enlist()?;
                }
                _ => return Err(Failed::Before(error)),
            }
            if !self.connected {
                return Err(Failed::Before(error));
            }
        }
    }

    fn group_once(&mut self, requests: &[Request]) -> Result<Vec<Said>, Failed> {
        let begun = self.store.begin(&Wanted::by(requests));
        let base = begun.map_err(Failed::AtBegin)?;
        let (now_us, me) = (self.clock.wall_us(), self.store.incarnation());
        let rows = self.store.rows()?;
        let mut plan = Plan::new(&rows, base, now_us, me, self.options.agent_rows);
        plan = plan.in_era(self.store.known().era());
        plan = plan.blinded(self.options.blind.as_ref());
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
                } => Said::Settle(Box::new(plan.settle(closed, settlement)?)),
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
        drop(rows);
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

    /// Becomes a new incarnation, where others gave this one up.
    fn enlist(&mut self) -> Result<(), StoreError> {
        recovery::enlist(&mut self.store, self.clock.as_ref(), &[])?;
        let incarnation = self.store.incarnation();
        tracing::warn!(
            incarnation = incarnation.get(),
            "this gateway was given up by the others: it begins again"
        );
        self.queue.enlist(incarnation);
        Ok(())
    }

    /// Why nothing is carried out now.
    fn refusal(&self) -> LedgerError {
        if self.queue.rolled_back() {
            LedgerError::RolledBack
        } else {
            LedgerError::Unavailable
        }
    }

    fn probe(&self, point: Point) -> Result<(), StoreError> {
        match &self.options.probe {
            Some(probe) => Ok(probe.at(point)?),
            None => Ok(()),
        }
    }
}

fn last_entry(batch: &Batch) -> Option<(u64, Digest)> {
    let last = batch.entries.last()?;
    Some((last.entry.sequence(), last.entry.hash()))
}
