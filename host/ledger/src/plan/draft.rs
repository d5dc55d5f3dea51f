//! Fills in what the ledger knows better than whoever drafted an entry.

use countersign_evidence::{Draft, ExecutionIdStatus, Kind, Round, RoundSays, Task, Time};

use crate::execution::Execution;
use crate::identity::TaskId;
use crate::record::Record;
use crate::step::{Effects, Leaves};

/// Sets everything that follows from the state machine's decision.
pub(super) fn finished(mut draft: Draft, record: &Record, effects: &Effects) -> Draft {
    draft.kind = kind(effects.entry);
    draft.outcome = effects.outcome;
    draft.effect_boundary = effects.boundary;
    draft.fence = u64::try_from(record.fence.get()).ok();
    draft.incarnation = Some(record.owner.get().to_string());
    let claimed = u32::try_from(record.claimed.len()).unwrap_or(u32::MAX);
    draft.round = match effects.entry {
        Leaves::RoundAsked => Some(Round {
            says: RoundSays::Asked,
            number: claimed.saturating_add(1),
        }),
        Leaves::RoundClaimed => Some(Round {
            says: RoundSays::Claimed,
            number: claimed,
        }),
        _ => None,
    };
    draft
}

/// What later entries of an attempt repeat of its first one: who and what, but
/// not what was decided then.
pub(super) fn repeated(admission: &Draft, time: Time) -> Draft {
    let mut draft = admission.clone();
    draft.time = time;
    draft.continuation = None;
    draft.request_state_presented = None;
    draft.classification = None;
    draft.refusal = None;
    draft.decision = None;
    draft.policy_inputs = None;
    draft.evaluator = None;
    draft
}

/// An entry about an execution that no attempt causes; `draft` brings who
/// causes it, and why.
pub(super) fn about(mut draft: Draft, execution: &Execution) -> Draft {
    draft.call_id = Some(execution.call_id.clone());
    draft.agent = Some(execution.agent.clone());
    draft.execution_id = execution.execution_id.clone();
    draft.execution_id_status = Some(match execution.execution_id {
        Some(_) => ExecutionIdStatus::Present,
        None => ExecutionIdStatus::Absent,
    });
    let admitted = &execution.admitted;
    draft.profile = Some(admitted.profile.clone());
    draft.component = Some(admitted.component);
    draft.binding = Some(admitted.binding);
    draft.server = Some(admitted.target.server.clone());
    draft.server_digest = Some(admitted.target.server_digest);
    draft.tool = Some(admitted.target.tool.clone());
    let context = &execution.context;
    draft.workflow_id = context.workflow_id.clone();
    draft.represented_user = context.represented_user.clone();
    draft.authority = context.authority.clone();
    draft.client_digest = context.client_digest;
    draft.policy_digest = context.policy_digest;
    draft.catalog.attributed = context.catalog;
    draft
}

/// A task as entries name it: by the digest of its id, since whoever knows the
/// id can ask for the task.
pub(super) fn task(id: &TaskId, status: String) -> Task {
    Task {
        id: id.digest(),
        status,
    }
}

fn kind(leaves: Leaves) -> Kind {
    match leaves {
        Leaves::Admission => Kind::Admission,
        Leaves::Terminal => Kind::Terminal,
        Leaves::RoundAsked | Leaves::RoundClaimed => Kind::Round,
        Leaves::Task => Kind::Task,
        Leaves::Blocked => Kind::Blocked,
        Leaves::LateAnswer => Kind::LateAnswer,
        Leaves::Resolution => Kind::Resolution,
        Leaves::Refusal => Kind::Refusal,
    }
}
