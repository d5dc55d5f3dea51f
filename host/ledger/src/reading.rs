//! What can be read of a ledger, beside its writer.
//!
//! A store answers through [`Reads`], on connections of its own and with what
//! was committed last; no read waits for a write. Answers are [`Pending`], since
//! a store may be far away: one that is at hand answers at once.

use std::path::Path;

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId, Head, LogId, Salt, ServerName, WorkflowId};

use crate::attempt::Epochs;
use crate::error::BackupError;
use crate::execution::Execution;
use crate::identity::TaskId;
use crate::ledger::Ledger;
use crate::request::Pending;
use crate::settlement::Kept;

/// The end of the log as it was committed last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// The log.
    pub log_id: LogId,
    /// How many entries it has.
    pub size: u64,
    /// The hash of the last one.
    pub last: Option<Digest>,
    /// The root of the tree over all of them.
    pub root: [u8; 32],
}

/// One log of a store, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLog {
    /// The end of it.
    pub head: LogHead,
    /// The verifier's text of the key that the log was begun with; `None` where
    /// the store does not keep it, since the log is its only one.
    pub key: Option<String>,
}

/// One entry as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its place in the log.
    pub sequence: u64,
    /// Its hash.
    pub hash: Digest,
    /// Its bytes, as `countersign_evidence::Entry::parse` reads them.
    pub bytes: Vec<u8>,
    /// What opens it, where the execution that it is about is blinded: the salt
    /// of its row, and the binding that was admitted.
    pub opening: Option<(Salt, Digest)>,
}

/// One page of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// In the order of the log; may be empty before the end.
    pub entries: Vec<StoredEntry>,
    /// From where to read on; `None` at the end of the log.
    pub next: Option<u64>,
}

/// One signed checkpoint as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// The size of the log that it signs.
    pub size: u64,
    /// The signed note.
    pub text: String,
}

/// Which entries are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of the log.
    All,
    /// The chain of one execution.
    Execution(Agent, ExecutionId),
    /// The chain of the execution that a call opened, and every entry that the
    /// call left.
    Call(CallId),
    /// Everything that one agent caused.
    Agent(Agent),
    /// Everything under one workflow.
    Workflow(WorkflowId),
    /// Everything written in `[from, to)`, microseconds since 1970.
    Time(i64, i64),
}

/// Which executions to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Reserved, and not settled.
    InFlight,
    /// Waiting for a continuation.
    AwaitingInput,
    /// Waiting for a task.
    TaskOpen,
    /// Waiting for an operator.
    Blocked,
}

impl LogHead {
    pub(crate) fn of(head: &Head) -> Self {
        Self {
            log_id: head.log_id().clone(),
            size: head.size(),
            last: head.last(),
            root: head.root(),
        }
    }
}

impl Standing {
    /// The state as stores and callers see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InFlight => "in-flight",
            Self::AwaitingInput => "awaiting-input",
            Self::TaskOpen => "task-open",
            Self::Blocked => "blocked",
        }
    }
}

/// The readers' side of a store.
pub(crate) trait Reads: Send + Sync {
    fn by_execution(&self, agent: &Agent, id: &ExecutionId) -> Pending<Option<Execution>>;
    fn by_call(&self, call_id: &CallId) -> Pending<Option<Execution>>;
    fn by_task(
        &self,
        agent: &Agent,
        server: &ServerName,
        task: &TaskId,
    ) -> Pending<Option<Execution>>;
    fn kept_answer(&self, call_id: &CallId, now_us: i64) -> Pending<Option<Kept>>;
    /// Copies the store into a new file; `None` where it is copied by other means.
    fn backup(&self, to: &Path) -> Option<Result<u64, BackupError>>;
    fn list(&self, standing: Standing, after: i64, limit: usize) -> Pending<Vec<(i64, Execution)>>;
    fn epochs(&self) -> Pending<Epochs>;
    fn logs(&self) -> Pending<Vec<KnownLog>>;
    fn head(&self, log: &LogId) -> Pending<LogHead>;
    fn entries(&self, log: &LogId, selection: &Selection, from: u64, limit: usize)
    -> Pending<Page>;
    fn checkpoints(&self, log: &LogId, from: u64, limit: usize) -> Pending<Vec<StoredCheckpoint>>;
    fn newest_checkpoint(&self, log: &LogId) -> Pending<Option<StoredCheckpoint>>;
}

/// Each of these can fail with [`crate::LedgerError::Unavailable`].
impl Ledger {
    /// The execution under `(agent, execution_id)`, as committed last.
    pub fn lookup(&self, agent: &Agent, id: &ExecutionId) -> Pending<Option<Execution>> {
        self.reads().by_execution(agent, id)
    }

    /// The execution that a call opened.
    pub fn lookup_call(&self, call_id: &CallId) -> Pending<Option<Execution>> {
        self.reads().by_call(call_id)
    }

    /// The execution of that agent at that server whose task it is; the newest,
    /// should a server have named two alike.
    pub fn lookup_task(
        &self,
        agent: &Agent,
        server: &ServerName,
        task: &TaskId,
    ) -> Pending<Option<Execution>> {
        self.reads().by_task(agent, server, task)
    }

    /// The answer that is kept for the execution that a call opened; `now_us` is
    /// the time by which it must not have expired. Whose it is, is the caller's
    /// to compare.
    pub fn kept_answer(&self, call_id: &CallId, now_us: i64) -> Pending<Option<Kept>> {
        self.reads().kept_answer(call_id, now_us)
    }

    /// Copies a SQLite database into a new file, while the writer goes on;
    /// answers with its size in bytes. Blocks for as long as that takes: never
    /// call it on a thread that runs async tasks.
    ///
    /// # Errors
    ///
    /// [`BackupError`]; then there is no file. PostgreSQL has means of its own.
    pub fn backup(&self, to: &Path) -> Result<u64, BackupError> {
        let copied = self.reads().backup(to);
        copied.unwrap_or(Err(BackupError::Elsewhere))
    }

    /// The executions that stand at `standing`, oldest first, at most `limit`
    /// after the one with the number `after`; each with its number.
    pub fn list(
        &self,
        standing: Standing,
        after: i64,
        limit: usize,
    ) -> Pending<Vec<(i64, Execution)>> {
        self.reads().list(standing, after, limit)
    }

    /// The epochs that are in force.
    pub fn epochs(&self) -> Pending<Epochs> {
        self.reads().epochs()
    }

    /// Every log of the store, this ledger's own among them: one for each
    /// replica that ever wrote here. Their ends are of one moment, so that no
    /// execution's chain goes on in one log beyond what another holds of it.
    pub fn logs(&self) -> Pending<Vec<KnownLog>> {
        self.reads().logs()
    }

    /// The end of this ledger's log.
    pub fn head(&self) -> Pending<LogHead> {
        self.head_of(self.log_id())
    }

    /// The end of a log; [`crate::LedgerError::NotFound`] where the store has no
    /// such log, as with all that follow.
    pub fn head_of(&self, log: &LogId) -> Pending<LogHead> {
        self.reads().head(log)
    }

    /// At most `limit` entries of `selection` in this ledger's log from `from`
    /// on, in order. One page is one short read, so that an export never holds up
    /// the writer.
    pub fn entries(&self, selection: &Selection, from: u64, limit: usize) -> Pending<Page> {
        self.entries_of(self.log_id(), selection, from, limit)
    }

    /// The same of another log of the store. An execution's chain may go over
    /// several.
    pub fn entries_of(
        &self,
        log: &LogId,
        selection: &Selection,
        from: u64,
        limit: usize,
    ) -> Pending<Page> {
        self.reads().entries(log, selection, from, limit)
    }

    /// At most `limit` checkpoints of this ledger's log, of size `from` or more,
    /// in order.
    pub fn checkpoints(&self, from: u64, limit: usize) -> Pending<Vec<StoredCheckpoint>> {
        self.checkpoints_of(self.log_id(), from, limit)
    }

    /// The same of another log of the store.
    pub fn checkpoints_of(
        &self,
        log: &LogId,
        from: u64,
        limit: usize,
    ) -> Pending<Vec<StoredCheckpoint>> {
        self.reads().checkpoints(log, from, limit)
    }

    /// The newest checkpoint of this ledger's log.
    pub fn newest_checkpoint(&self) -> Pending<Option<StoredCheckpoint>> {
        self.newest_checkpoint_of(self.log_id())
    }

    /// The same of another log of the store.
    pub fn newest_checkpoint_of(&self, log: &LogId) -> Pending<Option<StoredCheckpoint>> {
        self.reads().newest_checkpoint(log)
    }
}
