//! The handle that the gateway holds.
//!
//! Writes go to the one writer over a bounded queue and come back as
//! [`Pending`]; what can be read beside it stands in `reading`.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use countersign_evidence::key::{SigningKey, VerifyingKey};
use countersign_evidence::{Draft, LogId, RefusalCode};
use tokio::sync::oneshot;

use crate::attempt::{Attempt, Epochs, Position, Verdict};
use crate::error::{LedgerError, OpenError};
use crate::execution::Execution;
use crate::identity::Incarnation;
use crate::options::{Clock, Options};
use crate::postgres::{self, Postgres};
use crate::queue::Queue;
use crate::reading::Reads;
use crate::request::{Act, InForce, Intent, Pending, Request, Which};
use crate::settlement::{Kept, Settled, Settlement};
use crate::sqlite;
use crate::store::Store;
use crate::token::Token;
use crate::writer::{Writer, refuse};

/// A handle on an open ledger; cloning it is cheap.
#[derive(Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Arc<Queue>,
    reads: Arc<dyn Reads>,
    log_id: LogId,
    writer: Mutex<Option<JoinHandle<Result<(), LedgerError>>>>,
}

/// What a store is opened with.
pub(crate) struct Opening<'a> {
    pub(crate) options: &'a Options,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) log_id: &'a LogId,
    /// The log's key.
    pub(crate) key: &'a VerifyingKey,
    pub(crate) queue: &'a Arc<Queue>,
}

/// Turns away everybody where the writer ends by a panic: whoever waits would
/// wait for ever, and the host must stop.
struct Watching(Arc<Queue>);

impl Drop for Watching {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail();
            for request in self.0.abandon() {
                refuse(request, &LedgerError::Unavailable);
            }
        }
    }
}

/// A store that is open, with its readers' side.
pub(crate) struct Opened<S> {
    pub(crate) store: S,
    pub(crate) reads: Arc<dyn Reads>,
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
    /// A database that went back in time is opened for reading; everything else
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
        Self::open_on(options, clock, key, sqlite::open)
    }

    /// Opens the ledger of one replica in a shared PostgreSQL database: migrates,
    /// compares the anchor, becomes a new incarnation under a lease, and blocks
    /// what incarnations that have ended left in flight. Each replica has a key,
    /// and so a log, and an anchor of its own.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; then nothing may be admitted.
    pub fn open_postgres(
        postgres: Postgres,
        options: Options,
        clock: Arc<dyn Clock>,
        key: SigningKey,
    ) -> Result<Self, OpenError> {
        Self::open_on(options, clock, key, move |asked| {
            postgres::open(&postgres, asked)
        })
    }

    /// Opens a store on the writer's own thread, which it never leaves, and
    /// waits until it is open.
    fn open_on<S: Store>(
        options: Options,
        clock: Arc<dyn Clock>,
        key: SigningKey,
        open: impl FnOnce(&Opening<'_>) -> Result<Opened<S>, OpenError> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let queue = Arc::new(Queue::new(options.queue, options.agent_share));
        let log_id = key.name().clone();
        let anchor = options.anchor.clone();
        let (opened, opening) = mpsc::sync_channel(1);
        let theirs = Arc::clone(&queue);
        let run = move || {
            let _watching = Watching(Arc::clone(&theirs));
            let log_id = key.name().clone();
            let verifying = key.verifying_key();
            let asked = Opening {
                key: &verifying,
                options: &options,
                clock: &clock,
                log_id: &log_id,
                queue: &theirs,
            };
            match open(&asked) {
                Ok(Opened { store, reads }) => {
                    theirs.enlist(store.incarnation());
                    drop(opened.send(Ok(reads)));
                    Writer::new(store, options, clock, key, theirs).run()
                }
                Err(error) => {
                    drop(opened.send(Err(error)));
                    Err(LedgerError::Unavailable)
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("ledger-writer".into())
            .spawn(run)
            .map_err(|source| OpenError::File {
                what: "start the writer of",
                path: anchor,
                source,
            })?;
        let gone = || OpenError::Damaged("the writer ended while it opened the store".into());
        let reads = opening.recv().unwrap_or_else(|_| Err(gone()))?;
        let shared = Shared {
            queue,
            reads,
            log_id,
            writer: Mutex::new(Some(thread)),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    pub(crate) fn reads(&self) -> &dyn Reads {
        self.shared.reads.as_ref()
    }

    /// The log that this ledger writes.
    #[must_use]
    pub fn log_id(&self) -> &LogId {
        &self.shared.log_id
    }

    /// This start of this process; another one once the others of a fleet gave
    /// this one up.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.shared.queue.incarnation()
    }

    /// Whether the database was found older than it was, and nobody has accepted
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

    /// Whether attempts are admitted, as far as the writer knows: it has its
    /// connection and its anchor, and nothing is rolled back or failed. That a
    /// database is away is found by whoever asks it next.
    #[must_use]
    pub fn admits(&self) -> bool {
        self.shared.queue.admits()
    }

    /// How many requests wait for the writer.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.shared.queue.len()
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

    /// Accepts that the database went back in time: appends `draft`, which
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
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger")
            .field("log_id", self.log_id())
            .finish_non_exhaustive()
    }
}
