//! One row of the ledger, as readers see it.

use countersign_canon::{Classification, Digest, Presented, Recorded, Round, classify};
use countersign_evidence::{Agent, CallId, ExecutionId, Receipt, Salt, WorkflowId};

use crate::attempt::{Admitted, Epochs, Position};
use crate::record::Record;

/// The durable record under `(agent, execution_id)`, or of an attempt without
/// an `execution_id` (`docs/spec/executions.md` §1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Who owns the identifier.
    pub agent: Agent,
    /// Absent for an attempt that brought none.
    pub execution_id: Option<ExecutionId>,
    /// The first attempt.
    pub call_id: CallId,
    /// What was admitted, and where it goes.
    pub admitted: Admitted,
    /// What rests beside it and is no part of the key.
    pub context: Context,
    /// What its entries are blinded with, all of them or, where there is none,
    /// none of them; never changes.
    pub salt: Option<Salt>,
    /// Where it stands.
    pub record: Record,
    /// How many entries its chain has.
    pub chain_length: u64,
    /// The last entry of its chain.
    pub last: Position,
    /// Its terminal entry, once there is one.
    pub terminal: Option<Position>,
    /// When it was reserved, microseconds since 1970.
    pub reserved_us: i64,
    /// When its last entry was written, microseconds since 1970.
    pub changed_us: i64,
}

/// What a decision rested on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The digest of the client context.
    pub client_digest: Option<Digest>,
    /// The caller's name of the work.
    pub workflow_id: Option<WorkflowId>,
    /// The user whom the agent represents.
    pub represented_user: Option<String>,
    /// What the agent's authority rests on.
    pub authority: Option<String>,
    /// The digest of the policy set.
    pub policy_digest: Option<Digest>,
    /// The digest that the tool's description was taken to have.
    pub catalog: Option<Digest>,
    /// The epochs of both.
    pub epochs: Epochs,
}

/// What an attempt brings to be classified.
#[derive(Clone, Copy, Debug)]
pub struct Presenting<'a> {
    /// The profile, binding and target.
    pub admitted: &'a Admitted,
    /// Digest of the continuation, if the attempt carries one.
    pub continuation: Option<Digest>,
    /// Digest of its `requestState`, if it carries one.
    pub request_state: Option<Digest>,
}

/// Classifies an attempt against an execution with the table of
/// `docs/spec/executions.md` §3.
#[must_use]
pub fn classify_attempt(
    presenting: &Presenting<'_>,
    execution: Option<&Execution>,
) -> Classification {
    let target = presenting.admitted.target.to_string();
    let presented = Presented {
        profile: &presenting.admitted.profile,
        binding: presenting.admitted.binding.as_str(),
        target: &target,
        round: presenting.continuation.as_ref().map(|continuation| Round {
            continuation: continuation.as_str(),
            request_state: presenting.request_state.as_ref().map(Digest::as_str),
        }),
    };
    let Some(execution) = execution else {
        return classify(&presented, None);
    };
    classify(&presented, Some(&execution.remembered().recorded()))
}

/// An execution in the form that classification compares. It holds what
/// [`Recorded`] only borrows.
#[derive(Clone, Debug)]
pub struct Remembered<'e> {
    execution: &'e Execution,
    target: String,
    claimed: Vec<&'e str>,
}

impl Execution {
    /// The receipt for its terminal entry or, before there is one, for its last,
    /// as the call that opened it has it. After rounds the entry may name the
    /// call that claimed the last one.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        let entry = self.terminal.as_ref().unwrap_or(&self.last);
        Receipt {
            call_id: self.call_id.clone(),
            execution_id: self.execution_id.clone(),
            binding: Some(match &self.salt {
                Some(salt) => salt.blind(&self.admitted.binding),
                None => self.admitted.binding,
            }),
            profile: Some(self.admitted.profile.clone()),
            log_id: entry.log_id.clone(),
            sequence: entry.sequence,
            entry_hash: entry.hash,
            salt: self.salt,
        }
    }

    /// The execution as classification compares it.
    #[must_use]
    pub fn remembered(&self) -> Remembered<'_> {
        Remembered {
            execution: self,
            target: self.admitted.target.to_string(),
            claimed: self.record.claimed.iter().map(Digest::as_str).collect(),
        }
    }
}

impl Remembered<'_> {
    /// The record that an attempt is compared with.
    #[must_use]
    pub fn recorded(&self) -> Recorded<'_> {
        let admitted = &self.execution.admitted;
        Recorded {
            profile: &admitted.profile,
            binding: admitted.binding.as_str(),
            target: &self.target,
            state: self.execution.record.recorded_state(),
            claimed: &self.claimed,
        }
    }
}
