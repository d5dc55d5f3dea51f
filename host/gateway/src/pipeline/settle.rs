//! what the upstream said → an outcome that is durable.

use countersign_canon::preimage;
use countersign_ledger::{Answered as Outcome, Kept, Settled, Settlement, outcome_str};
use countersign_mcp::{Answer, Verdict};

use super::attempt::Attempt;
use super::invoke::{Answered, Invoked};
use crate::answers::Form;
use crate::state::Gateway;
use crate::upstream::{Exchange, Reason};

/// What became of a call. Made by [`settle`] alone.
#[derive(Debug)]
pub(super) enum Settling {
    /// It is in the log, and what there is of an answer may be delivered.
    Done {
        settled: Box<Settled>,
        /// The upstream's answer, or why there is none.
        answer: Result<Answer, Reason>,
    },
    /// It is not in the log yet, so nothing may be delivered as if it were.
    Failed,
}

/// Makes the outcome durable, with its entry, in one transaction.
pub(super) async fn settle(gateway: &Gateway, attempt: &Attempt, invoked: Invoked) -> Settling {
    let Invoked { token, exchange } = invoked;
    let Some((mut settlement, answer)) = settlement(exchange) else {
        // INVARIANT: every reason is a code. A dropped token settles by its gate.
        drop(token);
        return Settling::Failed;
    };
    let keep = keep(gateway, attempt, &settlement, &answer);
    if let Settlement::Asked { retained, .. } = &mut settlement {
        let sealed = seal(gateway, attempt, &Form::Asked, retained);
        // Where it is not kept, a repeat of this round is refused as one.
        *retained = sealed.map(|kept| kept.bytes).unwrap_or_default();
    }
    match gateway.ledger.settle_keeping(token, settlement, keep).await {
        Ok(settled) => {
            // Where it goes on, as another round or a task, that is its state.
            let outcome = settled.outcome().map(outcome_str);
            let word = outcome.unwrap_or(settled.state.as_str());
            gateway.telemetry.metrics.outcome(word);
            attempt.trace.say("countersign.outcome", word);
            let entry = &settled.entry;
            attempt.trace.at(entry.log_id.as_str(), entry.sequence);
            Settling::Done {
                settled: Box::new(settled),
                answer,
            }
        }
        Err(error) => {
            gateway.telemetry.metrics.outcome("settlement-failed");
            attempt.trace.failed("settlement-failed");
            tracing::error!(call_id = %attempt.arrival.call_id, "not settled: {error}");
            Settling::Failed
        }
    }
}

/// The answer, sealed for its owner, where the call settles with it. An attempt
/// without `execution_id` is named by its call, and keeps its answer likewise.
fn keep(
    gateway: &Gateway,
    attempt: &Attempt,
    settlement: &Settlement,
    answer: &Result<Answer, Reason>,
) -> Option<Kept> {
    let (Settlement::Answered { .. }, Ok(answer)) = (settlement, answer) else {
        return None;
    };
    let form = if answer.is_error() {
        Form::Error
    } else {
        Form::Result
    };
    seal(gateway, attempt, &form, &answer.without_receipt())
}

/// Seals an answer for the owner of its execution, which in a later round another
/// call opened. None where it is not kept.
fn seal(gateway: &Gateway, attempt: &Attempt, form: &Form, answer: &[u8]) -> Option<Kept> {
    let environment = &gateway.environment;
    let (agent, opened_by) = (&attempt.arrival.agent, &attempt.opened_by);
    gateway
        .answers
        .seal(environment, agent, opened_by, form, answer)
}

fn settlement(exchange: Exchange<Answered>) -> Option<(Settlement, Result<Answer, Reason>)> {
    Some(match exchange {
        Exchange::NotSent(reason) => (
            Settlement::NotSent {
                reason: reason.code()?,
            },
            Err(reason),
        ),
        Exchange::Unanswered { reason, received } => (
            Settlement::Unanswered {
                reason: reason.code()?,
                received,
            },
            Err(reason),
        ),
        Exchange::Answered(Answered {
            answer,
            digested,
            task: Some(task),
        }) => match task.id.parse() {
            Ok(id) => {
                let settlement = Settlement::TaskOpened {
                    task: id,
                    status: task.status.as_str().to_owned(),
                    answer: digested,
                };
                (settlement, Ok(answer))
            }
            // Nobody could ask for it again.
            Err(_) => (
                Settlement::Unanswered {
                    reason: Reason::Unreadable.code()?,
                    received: true,
                },
                Err(Reason::Unreadable),
            ),
        },
        Exchange::Answered(Answered {
            answer,
            digested,
            task: None,
        }) => {
            let with = match answer.verdict() {
                Verdict::Succeeded => Outcome::Succeeded,
                Verdict::ToolError => Outcome::ToolError,
                Verdict::UpstreamError => Outcome::UpstreamError,
                Verdict::InputRequired { request_state } => {
                    let settlement = Settlement::Asked {
                        issued: request_state.as_deref().map(preimage::request_state),
                        answer: digested,
                        retained: answer.without_receipt(),
                    };
                    return Some((settlement, Ok(answer)));
                }
            };
            (
                Settlement::Answered {
                    with,
                    answer: digested,
                },
                Ok(answer),
            )
        }
    })
}
