//! What became of an invocation, as its owner tells it.

use countersign_canon::{Digest, Outcome};
use countersign_evidence::{Receipt, RefusalCode};

use crate::attempt::Position;
use crate::identity::TaskId;
use crate::record::State;
use crate::step::Answered;

/// What an entry says of an answer (`countersign_evidence::answer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A settled answer to be kept for a while. It is sealed by whoever settles;
/// the ledger cannot read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The sealed answer.
    pub bytes: Vec<u8>,
    /// Until when, microseconds since 1970.
    pub expires_us: i64,
}

/// What became of an invocation. The outcome is the state machine's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It is certain that no application byte left in this round. It counts
    /// only while the token's gate was never passed; after that, and in a later
    /// round, the outcome is `outcome-unknown` all the same.
    NotSent {
        /// Why, for example `upstream-unreachable`.
        reason: RefusalCode,
    },
    /// Bytes may have left and no authoritative answer came.
    Unanswered {
        /// Why, for example `upstream-timeout`.
        reason: RefusalCode,
        /// An answer came, but could not be read strictly or was too large.
        received: bool,
    },
    /// The upstream answered.
    Answered {
        /// What it answered.
        with: Answered,
        /// The answer's digest and length.
        answer: Answer,
    },
    /// The upstream asked for another round.
    Asked {
        /// Digest of the `requestState` that it issued, if it did.
        issued: Option<Digest>,
        /// The answer's digest and length.
        answer: Answer,
        /// The answer itself, to be given again on a replay of this round.
        retained: Vec<u8>,
    },
    /// The upstream minted a task.
    TaskOpened {
        /// The task.
        task: TaskId,
        /// Its first status, in the words of the protocol.
        status: String,
        /// The answer's digest and length.
        answer: Answer,
    },
}

/// A settlement that is durable: now the answer may be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What the caller gets with the answer.
    pub receipt: Receipt,
    /// The entry that made it durable.
    pub entry: Position,
    /// Where the execution stands now.
    pub state: State,
}

impl Settled {
    /// The outcome; `None` where another round or a task goes on.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.state.outcome()
    }
}
