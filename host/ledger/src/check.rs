//! What a whole check looks at, and what it finds; the looking is a store's.

use countersign_evidence::LogId;

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is looked at.
    pub step: Step,
    /// How many of them were.
    pub done: u64,
    /// How many there are.
    pub of: u64,
}

/// What a check looks at, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The database's own pages and indexes.
    Pages,
    /// Every entry, and every checkpoint.
    Entries,
    /// Every execution, with its chain.
    Executions,
}

impl Step {
    /// The step in a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Entries => "entries",
            Self::Executions => "executions",
        }
    }
}

/// What does not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: String,
    /// What.
    pub what: String,
}

/// What was looked at, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The log.
    pub log_id: LogId,
    /// Entries that were read.
    pub entries: u64,
    /// Executions that were read.
    pub executions: u64,
    /// Checkpoints that were read.
    pub checkpoints: u64,
    /// How much does not fit.
    pub found: u64,
    /// The first hundred of that.
    pub findings: Vec<Finding>,
}

impl Checked {
    pub(crate) fn of(log_id: LogId) -> Self {
        Self {
            log_id,
            entries: 0,
            executions: 0,
            checkpoints: 0,
            found: 0,
            findings: Vec::new(),
        }
    }

    /// Whether everything fits.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.found == 0
    }
}
