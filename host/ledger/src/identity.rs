//! The names that owners and tasks go by; those of calls and executions are
//! evidence's, since they stand in entries.

use std::str::FromStr;

use countersign_canon::Digest;

/// A task that an upstream minted. It is the upstream's own text: 1 to 1,024
/// bytes of UTF-8, and bound to the agent that received it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(String);

/// One start of one process on a ledger. It rises with each start and is never
/// given twice; only where a rollback was accepted by a process that started after
/// it, may one be given again that a lost entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(i64);

/// A number that rises with each owner of an execution and stands in the
/// condition of every write, so that who was given up cannot write any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(i64);

impl TaskId {
    /// The identifier as the upstream wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How entries name it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&[b"countersign.task-id.v1\n", self.0.as_bytes()])
    }
}

impl FromStr for TaskId {
    type Err = MalformedTaskId;

    fn from_str(text: &str) -> Result<Self, MalformedTaskId> {
        if (1..=1024).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(MalformedTaskId)
        }
    }
}

/// A text that is no task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task id is 1 to 1024 bytes")]
pub struct MalformedTaskId;

impl Incarnation {
    /// Only a store names incarnations; the number is that of its row.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number that stores keep.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl Fence {
    /// The fence of an execution's first owner.
    pub const FIRST: Self = Self(1);

    /// Reads the number that a store kept.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number that stores keep.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The fence of the next owner.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}
