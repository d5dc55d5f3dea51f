//! What an attempt brings to the ledger, and what the ledger says to it.
//!
//! The draft of the attempt's entry is the one source of what is recorded: the
//! row, the classification and the entry are all made from it, so that they
//! cannot disagree. The ledger sets the entry's kind, time, classification,
//! refusal code, fence and place.

use countersign_canon::{Classification, Digest, Outcome};
use countersign_evidence::{
    Agent, CallId, Draft, ExecutionId, LogId, Receipt, RefusalCode, Target,
};

use crate::execution::Execution;
use crate::record::State;
use crate::token::Token;

/// The numbers of the policy set and the catalog that are in force. A decision
/// made under others does not count any more and is made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epochs {
    /// Rises with each policy set that comes into force.
    pub policy: u64,
    /// Rises with each change of the approved catalog.
    pub catalog: u64,
}

/// Where an entry stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The log.
    pub log_id: LogId,
    /// The entry's sequence in it.
    pub sequence: u64,
    /// The entry's hash.
    pub hash: Digest,
}

/// What was admitted, as far as an execution keeps it: never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// `NAME@MAJOR.MINOR.PATCH`
    pub profile: String,
    /// The digest of the profile's component.
    pub component: Digest,
    /// The binding of the action under that profile.
    pub binding: Digest,
    /// Where it goes.
    pub target: Target,
}

/// One authenticated attempt, ready for the ledger.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(crate) agent: Agent,
    pub(crate) call_id: CallId,
    pub(crate) execution_id: Option<ExecutionId>,
    pub(crate) admitted: Option<Admitted>,
    pub(crate) earlier: Option<Classification>,
    pub(crate) epochs: Epochs,
    pub(crate) draft: Draft,
}

/// A draft that lacks what an attempt must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the draft of an attempt has no `{0}`")]
pub struct Incomplete(pub &'static str);

impl Attempt {
    /// Takes the draft of an attempt's entry. `earlier` is the classification
    /// that the caller acted on; `None` where it made none, as for an attempt
    /// without `execution_id`. `epochs` are those under which it decided.
    ///
    /// The draft needs `agent` and `call_id`. Where any of `profile`,
    /// `component`, `binding`, `server`, `server_digest` and `tool` is absent
    /// the attempt can be refused but neither classified nor reserved.
    ///
    /// # Errors
    ///
    /// [`Incomplete`] names the field that is missing.
    pub fn new(
        draft: Draft,
        earlier: Option<Classification>,
        epochs: Epochs,
    ) -> Result<Self, Incomplete> {
        let admitted = match (
            &draft.profile,
            draft.component,
            draft.binding,
            draft.target(),
        ) {
            (Some(profile), Some(component), Some(binding), Some(target)) => Some(Admitted {
                profile: profile.clone(),
                component,
                binding,
                target,
            }),
            _ => None,
        };
        Ok(Self {
            agent: draft.agent.clone().ok_or(Incomplete("agent"))?,
            call_id: draft.call_id.clone().ok_or(Incomplete("call_id"))?,
            execution_id: draft.execution_id.clone(),
            admitted,
            earlier,
            epochs,
            draft,
        })
    }
}

/// What the ledger says to an attempt. Classification grants nothing: only
/// [`Verdict::Reserved`] carries a permit.
#[derive(Debug)]
pub enum Verdict {
    /// This attempt, and no other, may invoke.
    Reserved(Box<Reserved>),
    /// It may not; the refusal is in the log.
    Refused(Box<Refused>),
    /// What was decided does not hold any more: nothing was written, and the
    /// attempt starts again at classification.
    DecideAgain(Box<DecideAgain>),
}

/// A reservation, or a round that was claimed.
#[derive(Debug)]
pub struct Reserved {
    /// The permit. Dropping it settles the execution.
    pub token: Token,
    /// The entry that made it durable.
    pub entry: Position,
    /// `None` for an attempt without `execution_id`.
    pub classification: Option<Classification>,
}

/// A refusal that is in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The stable code.
    pub code: RefusalCode,
    /// As computed in the transaction; `None` where the attempt cannot be
    /// classified.
    pub classification: Option<Classification>,
    /// What is known of the execution, if there is one.
    pub known: Option<Known>,
    /// The refusal's own entry.
    pub entry: Position,
    /// The receipt for it.
    pub receipt: Option<Receipt>,
    /// Nothing was sent under this identifier: the same work may be tried under
    /// a new one.
    pub safe_with_new_id: bool,
    /// For a replay of the round that is awaited: the `input_required` answer,
    /// to be given again.
    pub retained: Option<Vec<u8>>,
    /// For a replay: until when the settled answer can be fetched, microseconds
    /// since 1970; `None` where it is not kept.
    pub answer_until_us: Option<i64>,
}

/// What callers are told of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Where it stands, with its outcome.
    pub state: State,
    /// The call that owns it.
    pub call_id: CallId,
    /// Its last entry before this attempt.
    pub last: Position,
}

impl Known {
    /// The outcome, once settled.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.state.outcome()
    }
}

/// Why an attempt must be decided again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecideAgain {
    /// What it is now.
    pub classification: Option<Classification>,
    /// The execution as it is now.
    pub execution: Option<Execution>,
    /// The epochs that are in force.
    pub epochs: Epochs,
}
