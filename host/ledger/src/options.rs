//! What a ledger is given when it is opened.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::probe::Probe;

/// The only source of time.
pub trait Clock: Send + Sync + 'static {
    /// Microseconds since 1970-01-01T00:00:00Z, for entries and rows.
    fn wall_us(&self) -> i64;
    /// Time since some fixed instant; it never goes back.
    fn monotonic(&self) -> Duration;
    /// Time since some fixed instant, the time in which the machine was
    /// suspended included. Leases are counted by it: by any other clock a
    /// machine that slept would believe that it is in time.
    fn since_boot(&self) -> Duration;
}

/// How many settled answers are kept, and how many bytes in all; the first to
/// expire makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBounds {
    /// Answers. Default 10,000.
    pub count: u64,
    /// Bytes of all of them. Default 64 MiB.
    pub bytes: u64,
}

impl Default for AnswerBounds {
    fn default() -> Self {
        Self {
            count: 10_000,
            bytes: 64 << 20,
        }
    }
}

/// The source of salts: 32 unpredictable bytes, or none where the system has
/// none to give. Then nothing is reserved.
pub type Salts = Arc<dyn Fn() -> Option<[u8; 32]> + Send + Sync>;

/// Where the ledger lives, and its limits.
#[derive(Clone)]
pub struct Options {
    /// The SQLite database. Beside it stand its WAL and `PATH.lock`. Of no meaning
    /// to PostgreSQL, like `wal_bytes` and `max_pages`.
    pub path: PathBuf,
    /// The file that tells how far the log had come. Keep it where a restored
    /// backup of the database does not bring back an old one.
    pub anchor: PathBuf,
    /// Attempts that may wait, of all agents. Default 4,096.
    pub queue: usize,
    /// Attempts of one agent that may wait. Default 256.
    pub agent_share: usize,
    /// Requests that share one commit. Default 256.
    pub group: usize,
    /// Executions that one agent may hold. Default 10,000,000.
    pub agent_rows: u64,
    /// While entries arrive a checkpoint is cut at least this often.
    /// Default 5 s.
    pub checkpoint_every: Duration,
    /// The writer starts the WAL again once it is this long, in bytes.
    /// Default 16 MiB.
    pub wal_bytes: u64,
    /// The most pages that the database may have; `None` for no limit but the
    /// disk's.
    pub max_pages: Option<u32>,
    /// How many settled answers are kept.
    pub answers: AnswerBounds,
    /// Where executions that are reserved from now on are blinded: the source of
    /// their salts. Executions that are there stay as they are.
    pub blind: Option<Salts>,
    /// Called at named points of the writer's way; for tests.
    pub probe: Option<Arc<dyn Probe>>,
}

impl Options {
    /// The defaults for one replica on a shared database, and its anchor.
    #[must_use]
    pub fn shared(anchor: PathBuf) -> Self {
        Self::new(PathBuf::new(), anchor)
    }

    /// The defaults for a database and its anchor.
    #[must_use]
    pub fn new(path: PathBuf, anchor: PathBuf) -> Self {
        Self {
            path,
            anchor,
            queue: 4_096,
            agent_share: 256,
            group: 256,
            agent_rows: 10_000_000,
            checkpoint_every: Duration::from_secs(5),
            wal_bytes: 16 << 20,
            max_pages: None,
            answers: AnswerBounds::default(),
            blind: None,
            probe: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
