//! What the writer needs of a store, and what a store says when it fails.
//!
//! A store carries out and decides nothing: the plan decides, on rows that the
//! store read inside the transaction that will carry the plan's writes. One
//! group is one transaction: [`Store::begin`], the plan, [`Store::write`],
//! [`Store::commit`]. The rules are those of `docs/spec/executions.md` §4–5.

use std::sync::Arc;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId, Head};

use crate::error::OpenError;
use crate::identity::Incarnation;
use crate::known::{End, Known};
use crate::lease::Lease;
use crate::plan::{Base, Batch, Row, Rows};
use crate::reading::{Page, StoredCheckpoint};
use crate::request::{Intent, Request, Which};
use crate::step::Owner;

/// The writer's side of a store.
pub(crate) trait Store {
    /// The rows as the transaction that has begun sees them.
    type Rows<'a>: Rows
    where
        Self: 'a;

    /// Who writes.
    fn incarnation(&self) -> Incarnation;

    /// How long this incarnation may send.
    fn lease(&self) -> &Arc<Lease>;

    /// Begins a group, and reads what its plan starts from, which must be what was
    /// committed last. `wanted` is what the group is going to ask for, so that a
    /// store far away reads it at once.
    fn begin(&mut self, wanted: &Wanted<'_>) -> Result<Base, StoreError>;

    /// The rows that the plan reads.
    fn rows(&self) -> Result<Self::Rows<'_>, StoreError>;

    /// Writes what was decided. After an error nothing of the group may be
    /// written any more.
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Keeps a signed checkpoint of the log.
    fn keep_checkpoint(&mut self, size: u64, text: &str) -> Result<(), StoreError>;

    /// Makes the group durable.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Ends a group that writes nothing, or that lost against a rival.
    fn rollback(&mut self) -> Result<(), StoreError>;

    /// Closes the connection, with whatever it had begun, and opens it again.
    fn reopen(&mut self) -> Result<(), StoreError>;

    /// The end of the log as it was committed last.
    fn head(&mut self) -> Result<Head, StoreError>;

    /// Whether the log holds this entry.
    fn holds(&mut self, sequence: u64, hash: Digest) -> Result<bool, StoreError>;

    /// The newest checkpoint of the log.
    fn newest_checkpoint(&mut self) -> Result<Option<StoredCheckpoint>, StoreError>;

    /// At most `most` entries of the log from `from` on, in order.
    fn entries(&mut self, from: u64, most: usize) -> Result<Page, StoreError>;

    /// Compares what is known of every log of the store, and takes up how far the
    /// others have come; outside of transactions.
    fn look(&mut self) -> Result<(), StoreError>;

    /// How far the other logs of the store have come, as it was seen last.
    fn known(&self) -> &Known;

    /// Takes up what an anchor names of other logs.
    fn remember(&mut self, others: &[End]);

    /// Takes what is there for what should be there: an operator accepts it.
    fn forget(&mut self) -> Result<(), StoreError>;

    /// What became of a commit whose acknowledgement was lost. Answers only once
    /// the transaction is certainly over.
    fn read_back(&mut self, lost: &Lost<'_>) -> Result<ReadBack, StoreError>;

    /// Begins a group like [`Store::begin`] and becomes a new incarnation in it.
    fn enlist(&mut self, started_us: i64) -> Result<(Incarnation, Base), StoreError>;

    /// At most `most` rows in flight whose owner is gone for good, read in the
    /// transaction that has begun.
    fn orphans(&mut self, most: usize) -> Result<Vec<Row>, StoreError>;

    /// Does what is due beside groups.
    fn upkeep(&mut self) -> Result<Upkeep, StoreError>;

    /// Drops answers that are expired, a few at a time; says whether there may
    /// be more.
    fn expire_answers(&mut self, now_us: i64) -> Result<bool, StoreError>;

    /// How long until [`Store::upkeep`] is due; `None` where only groups make
    /// work.
    fn due(&self) -> Option<Duration>;

    /// The last thing that is asked of a store: nothing is written after it.
    fn leave(&mut self);

    /// What it means for opening that the store failed.
    fn cannot_open(&self, error: &StoreError) -> OpenError;
}

/// What upkeep found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upkeep {
    /// Nothing else is to be done.
    Quiet,
    /// Owners are gone: their rows are to be given up ([`Store::orphans`]).
    Orphans,
    /// Others gave this incarnation up: a new one is to begin.
    Ended,
}

/// A commit whose acknowledgement was lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost<'a> {
    /// The last entry of its group.
    pub(crate) sequence: u64,
    pub(crate) hash: Digest,
    /// The rows that it reserved or claimed, and for whom.
    pub(crate) permits: &'a [(i64, Owner)],
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadBack {
    /// Nothing of it is there, and nothing will be.
    Absent,
    /// It is durable, and its permits hold: their rows are in flight under the
    /// same fence, and the lease was renewed as they were read.
    Durable,
    /// It is durable, and nobody may send under its permits.
    WithoutPermits,
}

/// What a group is going to ask for.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) executions: Vec<(&'a Agent, &'a ExecutionId)>,
    pub(crate) calls: Vec<&'a CallId>,
    pub(crate) numbers: Vec<i64>,
    /// Agents of whom it is asked how many executions they hold.
    pub(crate) agents: Vec<&'a Agent>,
}

impl<'a> Wanted<'a> {
    pub(crate) fn by(requests: &'a [Request]) -> Self {
        let mut wanted = Self::default();
        for request in requests {
            match request {
                Request::Attempt {
                    attempt, intent, ..
                } => {
                    if let Some(id) = &attempt.execution_id {
                        wanted.executions.push((&attempt.agent, id));
                    }
                    if matches!(intent, Intent::Reserve) {
                        wanted.calls.push(&attempt.call_id);
                        wanted.agents.push(&attempt.agent);
                    }
                }
                Request::Settle { closed, .. } => wanted.numbers.push(closed.row),
                Request::Act { which, .. } => match which {
                    Which::Execution(agent, id) => wanted.executions.push((agent, id)),
                    Which::Call(call_id) => wanted.calls.push(call_id),
                },
                Request::Append { .. }
                | Request::AcceptRollback { .. }
                | Request::Checkpoint { .. } => {}
            }
        }
        wanted
    }
}

/// Why a store could not do what was planned. The detail is for the operator's
/// log and holds no caller's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    /// The statement or the commit failed; what was written of the group is
    /// gone, once the connection is closed.
    #[error("the store failed: {0}")]
    Failed(String),
    /// Another writer came first, or holds what this group needs. Nothing of the
    /// group is there; planned again, it will see what the other did.
    #[error("another writer was in the way: {0}")]
    Rival(String),
    /// The store refuses something in the group. Nothing of the group is there;
    /// its members may fare better alone.
    #[error("the store refuses the group: {0}")]
    Refused(String),
    /// Others gave this incarnation up; nothing is written in its name any more.
    #[error("this incarnation was given up")]
    Ended,
    /// What was committed, or seen, is not there any more: nothing is written.
    #[error("the store is older than it was")]
    RolledBack,
    /// A sync failed: what the disk holds is not known, and asking again could
    /// be answered from memory.
    #[error("a sync failed: {0}")]
    Sync(String),
    /// A row is not as the transaction read it, or holds what is never written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}
