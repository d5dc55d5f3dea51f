//! view + identity + tool → a permit, or a denial.

use countersign_evidence::{self as evidence, Draft, PolicyInputs};
use countersign_ledger::Epochs;
use countersign_mcp::ErrorCode;
use countersign_policy::{Agent, Decision, Identity, RefusalCode, Request, Tool};

use super::attempt::Attempt;
use super::catalog::Offered;
use super::classify::Classified;
use crate::config::Enforcement;
use crate::decisions::Basis;

/// Policy allows this attempt, under these epochs. Made by [`decide`] alone,
/// and used up by reserving.
#[derive(Debug)]
pub(crate) struct Permit {
    classified: Classified,
    draft: Draft,
    epochs: Epochs,
}

impl Permit {
    pub(crate) fn classified(&self) -> &Classified {
        &self.classified
    }

    /// What the ledger is to record, and what it rests on.
    pub(crate) fn into_parts(self) -> (Classified, Draft, Epochs) {
        (self.classified, self.draft, self.epochs)
    }
}

/// Asks the policies.
///
/// # Errors
/// The denial, with the draft that says by what it was denied.
pub(crate) fn decide(
    basis: &Basis,
    attempt: &Attempt,
    classified: Classified,
    offered: &Offered,
) -> Result<Permit, Box<(Classified, Draft, ErrorCode)>> {
    let arrival = &attempt.arrival;
    let request = Request {
        agent: Agent {
            method: &arrival.agent.method,
            issuer: &arrival.agent.issuer,
            subject: &arrival.agent.subject,
        },
        identity: Identity {
            represented_user: arrival.facts.represented_user.as_deref(),
            audience: arrival.facts.audience.as_deref(),
            proof_key: arrival.facts.proof_key.as_deref(),
            authority: arrival.facts.authority.as_deref(),
        },
        tool: Tool {
            server: arrival.server.name.as_str(),
            name: &attempt.bound.interpreted.tool,
            class: offered.class(),
        },
        view: &attempt.bound.interpreted.view,
        shape: offered.shape(),
        execution_id: attempt
            .execution_id
            .as_ref()
            .map(evidence::ExecutionId::as_str),
        workflow_id: attempt
            .workflow_id
            .as_ref()
            .map(evidence::WorkflowId::as_str),
        client: &attempt.context,
        continuation: attempt
            .bound
            .continuation
            .as_ref()
            .map(|c| c.canonical.as_slice()),
        revision: attempt.revision.as_str(),
    };
    let decision = basis.policies.decide(&request);
    let observed = basis.enforcement == Enforcement::Observe;
    let draft = recorded(attempt, offered, &decision, basis);
    match decision.code().filter(|_| !observed) {
        None => Ok(Permit {
            classified,
            draft,
            epochs: basis.epochs,
        }),
        Some(code) => {
            let code = match code {
                RefusalCode::PolicyDenied => ErrorCode::PolicyDenied,
                RefusalCode::ExecutionIdRequired => ErrorCode::ExecutionIdRequired,
            };
            Err(Box::new((classified, draft, code)))
        }
    }
}

fn recorded(attempt: &Attempt, offered: &Offered, decision: &Decision, basis: &Basis) -> Draft {
    let mut draft = attempt.draft();
    draft.decision = Some(evidence::Decision {
        allow: decision.allow(),
        determining: decision
            .determining()
            .iter()
            .map(ToString::to_string)
            .collect(),
        reason: match basis.enforcement {
            Enforcement::Observe if !decision.allow() => {
                format!("{}{}", evidence::OBSERVED, decision.reason())
            }
            Enforcement::Enforce | Enforcement::Observe => decision.reason().to_string(),
        },
    });
    draft.policy_inputs = Some(PolicyInputs {
        class: offered.class().as_str().to_owned(),
        audience: attempt.arrival.facts.audience.clone(),
        proof_key: attempt.arrival.facts.proof_key.clone(),
    });
    draft.evaluator = Some(decision.evaluator().to_owned());
    draft.policy_digest = Some(basis.policies.digest());
    draft.catalog = offered.digests();
    draft
}
