//! The handle that the gateway holds.
//!
//! Writes go to the one writer over a bounded queue and come back as
//! [`Pending`]; reads use connections of their own and never wait for a write.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use countersign_canon::Digest;
use countersign_evidence::key::SigningKey;
use countersign_evidence::{
    Agent, CallId, Draft, ExecutionId, LogId, RefusalCode, ServerName, WorkflowId,
};
use tokio::sync::oneshot;

use crate::attempt::{Attempt, Epochs, Position, Verdict};
use crate::error::{BackupError, LedgerError, OpenError};
use crate::execution::Execution;
use crate::identity::{Incarnation, TaskId};
use crate::options::{Clock, Options};
use crate::queue::Queue;
use crate::request::{Act, InForce, Intent, Pending, Request, Which};
use crate::settlement::{Kept, Settled, Settlement};
use crate::sqlite::{Opened, Reads, open};
use crate::token::Token;
use crate::writer::Writer;

/// A handle on an open ledger; cloning it is cheap.
#[derive(Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Arc<Queue>,
    reads: Reads,
    log_id: LogId,
    writer: Mutex<Option<JoinHandle<Result<(), LedgerError>>>>,
}

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

/// One entry as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its place in the log.
    pub sequence: u64,
    /// Its hash.
    pub hash: Digest,
    /// Its bytes, as `countersign_evidence::Entry::parse` reads them.
    pub bytes: Vec<u8>,
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

impl Shared {
    fn stop(&self) -> Result<(), LedgerError> {
        self.queue.close();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        match writer.take() {
            // A writer that panicked has promised nothing more.
            Some(thread) => thread.join().unwrap_or(Err(LedgerError::Unavailable)),
            None => Ok(()),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever cares for the answer has called `Ledger::stop`.
        drop(self.stop());
    }
}

impl Ledger {
    /// Opens the SQLite ledger at `options.path`, creating it where there is
    /// none: takes the lock, migrates, compares the anchor, becomes a new
    /// incarnation, and blocks what earlier ones left in flight.
    ///
    /// `key` signs the log's checkpoints and names the log: a restart goes on with
    /// the same log and key.
    ///
    /// A database behind its anchor is opened for reading; everything else
    /// answers [`LedgerError::RolledBack`].
    ///
    /// # Errors
    ///
    /// [`OpenError`]; then nothing may be admitted.
    pub fn open_sqlite(
        options: Options,
        clock: Arc<dyn Clock>,
        key: SigningKey,
    ) -> Result<Self, OpenError> {
        let Opened {
            store,
            reads,
            log_id,
            incarnation,
            rolled_back,
        } = open(&options, clock.as_ref(), key.name())?;
        let queue = Arc::new(Queue::new(options.queue, options.agent_share));
        queue.set_rolled_back(rolled_back);
        queue.enlist(incarnation);
        let writer = Writer::new(store, options, clock, key, Arc::clone(&queue));
        let path = writer.path().to_owned();
        let thread = std::thread::Builder::new()
            .name("ledger-writer".into())
            .spawn(move || writer.run())
            .map_err(|source| OpenError::File {
                what: "start the writer of",
                path,
                source,
            })?;
        let writer = Mutex::new(Some(thread));
        let shared = Shared {
            queue,
            reads,
            log_id,
            writer,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The log that this ledger writes.
    #[must_use]
    pub fn log_id(&self) -> &LogId {
        &self.shared.log_id
    }

    /// This start of this process.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.shared.queue.incarnation()
    }

    /// Whether the database was found behind its anchor, and nobody has accepted
    /// that since.
    #[must_use]
    pub fn rolled_back(&self) -> bool {
        self.shared.queue.rolled_back()
    }

    /// Resolves once nothing can ever be admitted again by this process: a sync
    /// failed, so what the disk holds is not known. The host stops then; the
    /// next start recovers what is really there.
    pub async fn fatal(&self) {
        let mut fatal = self.shared.queue.fatal();
        // The sender lives as long as the queue that this handle holds.
        let _ = fatal.wait_for(|failed| *failed).await;
    }

    /// Whether [`Ledger::fatal`] has resolved.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.shared.queue.failed()
    }

    fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, LedgerError>>) -> Request,
    ) -> Pending<T> {
        let (reply, receiver) = oneshot::channel();
        match self.shared.queue.push(request(reply)) {
            Ok(()) => Pending::waiting(receiver),
            Err(error) => Pending::failed(error),
        }
    }

    /// Asks for the permit to invoke. In one transaction the attempt is
    /// classified again and its row (or claimed round) and entry are written;
    /// every answer but [`Verdict::DecideAgain`] has its entry in the log.
    pub fn reserve(&self, attempt: Attempt) -> Pending<Verdict> {
        let attempt = Box::new(attempt);
        self.ask(|reply| Request::Attempt {
            attempt,
            intent: Intent::Reserve,
            reply,
        })
    }

    /// Records the refusal of an attempt: by its classification where that
    /// admits nothing, or else by `code` (a denial, drift, a full gateway).
    /// With a `code` an attempt is refused whatever it now is; without one it
    /// is sent back where it may now go on.
    pub fn refuse(&self, attempt: Attempt, code: Option<RefusalCode>) -> Pending<Verdict> {
        let attempt = Box::new(attempt);
        self.ask(|reply| Request::Attempt {
            attempt,
            intent: Intent::Refuse(code),
            reply,
        })
    }

    /// Makes the outcome of an invocation durable, with its entry. Deliver the
    /// answer only after this said so.
    ///
    /// On [`LedgerError::Settlement`] the settlement is kept and tried again
    /// while this process lives.
    pub fn settle(&self, token: Token, settlement: Settlement) -> Pending<Settled> {
        self.settle_keeping(token, settlement, None)
    }

    /// The same, and keeps the answer in the same transaction, where it settles
    /// the execution. What is kept may be dropped before its time to make room.
    pub fn settle_keeping(
        &self,
        token: Token,
        settlement: Settlement,
        keep: Option<Kept>,
    ) -> Pending<Settled> {
        let Some(mut closed) = token.close() else {
            return Pending::failed(LedgerError::Fenced);
        };
        closed.keep = keep;
        let (reply, receiver) = oneshot::channel();
        let request = Request::Settle {
            closed,
            settlement,
            reply: Some(reply),
        };
        match self.shared.queue.push(request) {
            Ok(()) => Pending::waiting(receiver),
            Err(_) => Pending::failed(LedgerError::Settlement),
        }
    }

    /// Appends an entry that belongs to no execution: a start, a load, an
    /// approval, a suppressed count, the refusal of what could not be read.
    pub fn append(&self, draft: Draft, in_force: InForce) -> Pending<(Position, Epochs)> {
        let draft = Box::new(draft);
        self.ask(|reply| Request::Append {
            draft,
            in_force,
            reply,
        })
    }

    /// Does what an operator or the observer of a task asks. `draft` brings who
    /// asks and why; everything known of the execution is filled in.
    pub fn act(&self, which: Which, act: Act, draft: Draft) -> Pending<Execution> {
        let draft = Box::new(draft);
        self.ask(|reply| Request::Act {
            which,
            act,
            draft,
            reply,
        })
    }

    /// Accepts that the database is behind its anchor: appends `draft`, which
    /// brings who accepts it and why, begins a new incarnation, appends `then`,
    /// and admits from there on. What was used in the time that is lost looks
    /// new from then on. What the anchor knew joins the reason.
    ///
    /// [`LedgerError::NotRolledBack`] where there is nothing to accept.
    pub fn accept_rollback(
        &self,
        draft: Draft,
        then: Vec<(Draft, InForce)>,
    ) -> Pending<(Position, Epochs)> {
        let draft = Box::new(draft);
        self.ask(|reply| Request::AcceptRollback { draft, then, reply })
    }

    /// Cuts a checkpoint now, where entries came since the last one; answers
    /// with the size that is signed. Call it before an export.
    pub fn checkpoint(&self) -> Pending<u64> {
        self.ask(|reply| Request::Checkpoint { reply })
    }

    /// Carries out what waits, cuts the last checkpoint, and ends the writer.
    /// Settle open tokens first: what is dropped later stays in flight and is
    /// blocked at the next start.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`] where something could not be made durable.
    pub fn stop(&self) -> Result<(), LedgerError> {
        self.shared.stop()
    }

    /// The execution under `(agent, execution_id)`, as committed last.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn lookup(
        &self,
        agent: &Agent,
        id: &ExecutionId,
    ) -> Result<Option<Execution>, LedgerError> {
        self.shared.reads.by_execution(agent, id)
    }

    /// The execution that a call opened.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn lookup_call(&self, call_id: &CallId) -> Result<Option<Execution>, LedgerError> {
        self.shared.reads.by_call(call_id)
    }

    /// The answer that is kept for the execution that a call opened; `now_us` is
    /// the time by which it must not have expired. Whose it is, is the caller's
    /// to compare.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn kept_answer(&self, call_id: &CallId, now_us: i64) -> Result<Option<Kept>, LedgerError> {
        self.shared.reads.kept_answer(call_id, now_us)
    }

    /// Copies the database into a new file, while the writer goes on; answers
    /// with its size in bytes. Blocks for as long as that takes: never call it on
    /// a thread that runs async tasks.
    ///
    /// # Errors
    ///
    /// [`BackupError`]; then there is no file.
    pub fn backup(&self, to: &Path) -> Result<u64, BackupError> {
        self.shared.reads.backup(to)
    }

    /// The execution of that agent at that server whose task it is; the newest,
    /// should a server have named two alike.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn lookup_task(
        &self,
        agent: &Agent,
        server: &ServerName,
        task: &TaskId,
    ) -> Result<Option<Execution>, LedgerError> {
        self.shared.reads.by_task(agent, server, task)
    }

    /// The executions that stand at `standing`, oldest first, at most `limit`
    /// after the one with the number `after`; each with its number.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn list(
        &self,
        standing: Standing,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Execution)>, LedgerError> {
        self.shared.reads.list(standing, after, limit)
    }

    /// The epochs that are in force.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn epochs(&self) -> Result<Epochs, LedgerError> {
        self.shared.reads.epochs()
    }

    /// The end of the log.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn head(&self) -> Result<LogHead, LedgerError> {
        self.shared.reads.head()
    }

    /// At most `limit` entries of `selection` from `from` on, in order. One
    /// page is one short read, so that an export never holds up the writer.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn entries(
        &self,
        selection: &Selection,
        from: u64,
        limit: usize,
    ) -> Result<Page, LedgerError> {
        self.shared.reads.entries(selection, from, limit)
    }

    /// At most `limit` checkpoints of size `from` or more, in order.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn checkpoints(
        &self,
        from: u64,
        limit: usize,
    ) -> Result<Vec<StoredCheckpoint>, LedgerError> {
        self.shared.reads.checkpoints(from, limit)
    }

    /// The newest checkpoint.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Unavailable`].
    pub fn newest_checkpoint(&self) -> Result<Option<StoredCheckpoint>, LedgerError> {
        self.shared.reads.newest_checkpoint()
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger")
            .field("log_id", self.log_id())
            .finish_non_exhaustive()
    }
}
