//! What may happen to an execution, and who says so.

use countersign_canon::{Digest, Outcome};

use super::table::On;
use crate::identity::{Fence, Incarnation, TaskId};

/// The name under which an owner writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The incarnation that reserved or claimed.
    pub incarnation: Incarnation,
    /// The fence that it was given.
    pub fence: Fence,
}

/// An answer that says what became of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answered {
    /// A result without `isError`.
    Succeeded,
    /// A result with `isError`.
    ToolError,
    /// A JSON-RPC error from the upstream.
    UpstreamError,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// An attempt that nothing was recorded for takes the identifier.
    Reserve {
        /// Whether there is an `execution_id`.
        identified: bool,
        /// Who takes it.
        by: Incarnation,
    },
    /// The owner is certain that no application byte of this round left.
    NotSent {
        /// Who says so.
        by: Owner,
    },
    /// Bytes may have left, and no authoritative answer came.
    Unanswered {
        /// Who says so.
        by: Owner,
        /// An answer came and could not be read strictly, or was too large.
        received: bool,
    },
    /// The upstream answered.
    Answered {
        /// Who says so.
        by: Owner,
        /// What it answered.
        with: Answered,
    },
    /// The upstream asked for another round.
    Asked {
        /// Who says so.
        by: Owner,
        /// Digest of the `requestState` that it issued, if it did.
        issued: Option<Digest>,
    },
    /// The upstream minted a task.
    TaskOpened {
        /// Who says so.
        by: Owner,
        /// The task.
        task: TaskId,
    },
    /// The owner is gone: its process is dead, or its lease has run out.
    OwnerLost {
        /// Whom the observer found gone.
        lost: Owner,
    },
    /// A continuation takes the round that is awaited.
    Claim {
        /// Who takes it.
        by: Incarnation,
        /// Digest of the continuation, claimed once.
        continuation: Digest,
    },
    /// Nobody will answer the round that is awaited.
    Abandon,
    /// A state of the task that is not its last.
    TaskObserved,
    /// The last state of the task, or its time is up.
    TaskEnded {
        /// The outcome it maps to; `not-attempted` is none.
        outcome: Outcome,
    },
    /// An owner that was given up still got an answer.
    LateAnswer {
        /// Whose answer it is.
        by: Owner,
        /// What it says.
        with: Answered,
    },
    /// An operator states an outcome.
    Resolve {
        /// The outcome stated.
        outcome: Outcome,
        /// The owning incarnation is proved dead.
        owner_dead: bool,
    },
    /// Another attempt met the execution and was refused.
    Refuse,
}

impl Event {
    /// The kind of this event.
    #[must_use]
    pub fn on(&self) -> On {
        match self {
            Self::Reserve { .. } => On::Reserve,
            Self::NotSent { .. } => On::NotSent,
            Self::Unanswered { .. } => On::Unanswered,
            Self::Answered { .. } => On::Answered,
            Self::Asked { .. } => On::Asked,
            Self::TaskOpened { .. } => On::TaskOpened,
            Self::OwnerLost { .. } => On::OwnerLost,
            Self::Claim { .. } => On::Claim,
            Self::Abandon => On::Abandon,
            Self::TaskObserved => On::TaskObserved,
            Self::TaskEnded { .. } => On::TaskEnded,
            Self::LateAnswer { .. } => On::LateAnswer,
            Self::Resolve { .. } => On::Resolve,
            Self::Refuse => On::Refuse,
        }
    }
}

impl Answered {
    /// The outcome that this answer is.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Succeeded => Outcome::Succeeded,
            Self::ToolError => Outcome::ToolError,
            Self::UpstreamError => Outcome::UpstreamError,
        }
    }
}
