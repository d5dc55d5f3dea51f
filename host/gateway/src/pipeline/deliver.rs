//! settlement → what the caller gets, with its receipt.

use countersign_ledger::outcome_str;
use countersign_mcp::code::called_status;
use countersign_mcp::{ErrorCode, Problem, envelope};

use super::attempt::Attempt;
use super::refuse::{position, reply};
use super::settle::Settling;
use crate::delivery::Reply;
use crate::upstream::Reason;

/// Writes the answer: the upstream's own, or why there is none.
pub(super) fn deliver(attempt: &Attempt, settling: Settling) -> Reply {
    let (settled, answer) = match settling {
        Settling::Done { settled, answer } => (settled, answer),
        Settling::Failed => {
            // The call was made, whatever the ledger says of its record.
            let mut problem = Problem::new(ErrorCode::SettlementFailed);
            let call_id = attempt.arrival.call_id.to_string();
            problem.attempt = Some(call_id.clone());
            problem.call_id = Some(call_id);
            return reply(&problem, Some(&attempt.id), attempt.revision);
        }
    };
    let receipt = settled.receipt.to_json();
    match answer {
        Ok(answer) if answer.is_error() => Reply {
            status: called_status(attempt.revision, answer.number()),
            body: envelope::error(&attempt.id, &answer.with_receipt(&receipt)).into(),
            retry_after_ms: None,
        },
        Ok(answer) => Reply::ok(envelope::result(
            &attempt.id,
            &answer.with_receipt(&receipt),
        )),
        Err(reason) => {
            let outcome = settled.outcome();
            let not_sent = outcome == Some(countersign_canon::Outcome::NotAttempted);
            let code = if not_sent {
                ErrorCode::UpstreamUnavailable
            } else {
                ErrorCode::OutcomeUnknown
            };
            let mut problem = Problem::new(code).because(explained(reason));
            let call_id = attempt.arrival.call_id.to_string();
            problem.attempt = Some(call_id.clone());
            problem.call_id = Some(call_id);
            problem.state = Some(settled.state.as_str());
            problem.outcome = outcome.map(outcome_str);
            problem.log_position = Some(position(&settled.entry));
            problem.safe_with_new_id = not_sent;
            problem.receipt = Some(receipt);
            reply(&problem, Some(&attempt.id), attempt.revision)
        }
    }
}

/// Why, for the caller; nothing of the upstream's address or of its words.
pub(super) const fn explained(reason: Reason) -> &'static str {
    match reason {
        Reason::Unreachable | Reason::Ungreeted => "the server cannot be reached",
        Reason::ReservationLost => "the reservation did not hold",
        Reason::Timeout => "the time was up",
        Reason::Closed => "the connection broke off",
        Reason::NoAnswer => "the response ended without an answer to this request",
        Reason::Status => "the response's status carries no answer",
        Reason::Unreadable => "the answer cannot be read strictly",
        Reason::TooLarge => "the answer is too large",
        Reason::Unwritable => "the request could not be put together",
        Reason::Cancelled => "the caller cancelled it",
        Reason::ShuttingDown => "the gateway is shutting down",
        Reason::Crowded => "too many agents use the server",
    }
}
