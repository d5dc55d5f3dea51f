//! What can go wrong, each with its stable code.
//!
//! A refusal of an attempt is no error: see [`crate::Refused`]. The gateway
//! shows callers the code and nothing of the message.

use std::path::PathBuf;

use crate::step::Illegal;

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the ledger is in use: another process holds the lock `{}`", path.display())]
    InUse {
        /// The lock file.
        path: PathBuf,
    },
    /// The lock or the anchor could not be read or written.
    #[error("cannot {what} `{}`: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The database could not be opened or migrated.
    #[error("cannot open the database `{database}`: {detail}")]
    Database {
        /// The database: its path, or its address without credentials.
        database: String,
        /// What it said.
        detail: String,
    },
    /// A property that durability rests on does not hold.
    #[error("the database does not keep `{what}`: wanted `{wanted}`, found `{found}`")]
    Durability {
        /// Which property.
        what: &'static str,
        /// The value that is needed.
        wanted: &'static str,
        /// The value that was read back.
        found: String,
    },
    /// The database was written by a newer program.
    #[error("the database has schema version {found}; this program knows up to {known}")]
    TooNew {
        /// The database's version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The signing key is that of another log.
    #[error("the database holds the log `{held}`, and the key is that of `{given}`")]
    OtherLog {
        /// The log that the database holds.
        held: String,
        /// The log that the key signs for.
        given: String,
    },
    /// The log goes on under another key.
    #[error("the log `{log}` goes on under another key than this one")]
    OtherKey {
        /// The log.
        log: String,
    },
    /// What the database holds does not fit together.
    #[error("the ledger is damaged: {0}")]
    Damaged(String),
}

impl OpenError {
    /// The stable code, which names the page that explains it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "ledger-in-use",
            Self::File { .. } | Self::Database { .. } => "ledger-unavailable",
            Self::Durability { .. } => "ledger-not-durable",
            Self::TooNew { .. } => "ledger-too-new",
            Self::OtherLog { .. } | Self::OtherKey { .. } => "ledger-other-log",
            Self::Damaged(_) => "ledger-damaged",
        }
    }
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file is there already, or cannot be written.
    #[error("the backup `{}` cannot be written: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The database could not be read, or its copy not written.
    #[error("the database cannot be copied: {0}")]
    Database(String),
    /// The database is a server's, which copies it.
    #[error("a shared database is copied by its server's own means")]
    Elsewhere,
}

impl BackupError {
    /// The stable code, which names the page that explains it.
    pub const CODE: &'static str = "ledger-backup";
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string())
    }
}

/// Why a database could not be checked: nothing is said of what it holds.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no such file.
    #[error("there is no database `{}`", .0.display())]
    Missing(PathBuf),
    /// It is not of the schema that this program writes.
    #[error("the database has schema version {found}; this program checks {known}")]
    Version {
        /// The database's version.
        found: i64,
        /// The version that is written now.
        known: i64,
    },
    /// It is no ledger.
    #[error("the database holds no ledger")]
    NoLedger,
    /// It cannot be read at all.
    #[error("the database cannot be read: {0}")]
    Database(String),
}

impl From<rusqlite::Error> for CheckError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string())
    }
}

/// Why a request to an open ledger was not carried out. Nothing was written,
/// except where [`LedgerError::Settlement`] says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// The store cannot be reached or failed; nothing may be sent.
    #[error("the ledger is unavailable")]
    Unavailable,
    /// The queue, or this agent's share of it, is full. Try again after
    /// `retry_after_ms`.
    #[error("the ledger's queue is full")]
    Overloaded {
        /// A hint in milliseconds.
        retry_after_ms: u64,
    },
    /// An outcome could not be made durable. It is kept and tried again while
    /// this process lives; the answer must not be given as if it were safe.
    #[error("the outcome could not be made durable")]
    Settlement,
    /// The owner was fenced: what it brought is kept as a late answer, and
    /// settles nothing.
    #[error("the execution has another owner, or none")]
    Fenced,
    /// The database is older than it was; nothing is admitted until an operator
    /// accepts it.
    #[error("the ledger was rolled back")]
    RolledBack,
    /// The log goes on under another key than this ledger's: nothing may be signed.
    #[error("the log goes on under another key")]
    OtherKey,
    /// The database did not go back: there is nothing to accept.
    #[error("the ledger is not rolled back")]
    NotRolledBack,
    /// The state machine refuses the event.
    #[error("not possible: {0}")]
    Illegal(#[from] Illegal),
    /// There is no such execution.
    #[error("no such execution")]
    NotFound,
    /// The attempt names nothing that could be classified, and no code to refuse
    /// it by.
    #[error("the attempt can be neither classified nor reserved")]
    Unclassified,
    /// The entry would be longer than anyone reads
    /// ([`countersign_evidence::Entry::MAX_BYTES`]).
    #[error("the entry would be too long")]
    EntryTooLong,
}

impl LedgerError {
    /// The stable code, which names the page that explains it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable => "ledger-unavailable",
            Self::Overloaded { .. } => "overloaded",
            Self::Settlement => "settlement-failed",
            Self::Fenced => "execution-fenced",
            Self::RolledBack => "ledger-rolled-back",
            Self::OtherKey => "ledger-other-log",
            Self::NotRolledBack => "ledger-not-rolled-back",
            Self::Illegal(_) => "execution-state",
            Self::NotFound => "execution-unknown",
            Self::Unclassified => "attempt-unclassified",
            Self::EntryTooLong => "entry-too-long",
        }
    }

    /// Every code that [`LedgerError::code`] gives.
    pub const CODES: [&'static str; 11] = [
        "ledger-unavailable",
        "overloaded",
        "settlement-failed",
        "execution-fenced",
        "ledger-rolled-back",
        "ledger-other-log",
        "ledger-not-rolled-back",
        "execution-state",
        "execution-unknown",
        "attempt-unclassified",
        "entry-too-long",
    ];
}
