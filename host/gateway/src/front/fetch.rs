//! `countersign.dev/answer`: a settled answer, fetched again by its owner.
//!
//! Asked with the `execution_id` or, for a call without one, with the `call_id`
//! of its first attempt. The answer comes as it was given, with its receipt; to
//! any other agent, and at any other server, the execution does not exist.
//! Nothing is sent anywhere (`docs/operators/answers.md`).

use axum::response::Response;
use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits, Request};
use countersign_evidence::{CallId, Entry, ExecutionId, Receipt};
use countersign_ledger::{Execution, LedgerError, Selection, State};
use countersign_mcp::answer::ResultType;
use countersign_mcp::{Answer, ErrorCode, Problem, Revision, envelope};

use super::{malformed, respond};
use crate::answers::Form;
use crate::delivery::Reply;
use crate::pipeline::{Arrival, describe_execution, ledger_problem, unread_because};
use crate::state::Gateway;

/// The method's name.
pub(super) const METHOD: &str = "countersign.dev/answer";

/// Answers with what was kept, or says why it cannot.
pub(super) async fn answer(
    gateway: &Gateway,
    arrival: Arrival,
    revision: Revision,
    request: &Request,
) -> Response {
    match fetch(gateway, &arrival, revision, request).await {
        Ok(reply) => respond::counted(&gateway.untaken.account(&arrival.agent), reply),
        Err(problem) => {
            let refused = unread_because(gateway, &arrival, *problem).await;
            respond::reply(refused.reply(Some(&request.id)))
        }
    }
}

/// What is asked for.
enum Asked {
    Execution(ExecutionId),
    Call(CallId),
}

async fn fetch(
    gateway: &Gateway,
    arrival: &Arrival,
    revision: Revision,
    request: &Request,
) -> Result<Reply, Box<Problem>> {
    let asked = asked(request.params.as_deref().unwrap_or(b"{}"))?;
    let unread = |error: LedgerError| Box::new(ledger_problem(&error));
    let found = match &asked {
        Asked::Execution(id) => gateway.ledger.lookup(&arrival.agent, id).await,
        Asked::Call(call_id) => gateway.ledger.lookup_call(call_id).await,
    };
    let execution = found.map_err(unread)?.filter(|execution| {
        execution.agent == arrival.agent && execution.admitted.target.server == arrival.server.name
    });
    let Some(execution) = execution else {
        return Err(Problem::new(ErrorCode::ExecutionUnknown).into());
    };
    let told = |code| {
        let mut problem = Problem::new(code);
        describe_execution(&mut problem, &execution);
        Box::new(problem)
    };
    match execution.record.state {
        State::Settled(_) => {}
        State::Blocked => return Err(told(ErrorCode::Blocked)),
        State::InFlight | State::AwaitingInput | State::TaskOpen => {
            return Err(told(ErrorCode::InFlight));
        }
    }
    let now_us = gateway.environment.now().micros();
    let kept = gateway.ledger.kept_answer(&execution.call_id, now_us).await;
    let kept = kept.map_err(unread)?;
    let opened = kept.and_then(|kept| {
        let agent = &execution.agent;
        gateway
            .answers
            .unseal(agent, &execution.call_id, &kept.bytes)
    });
    let receipt = receipt(gateway, &execution).await;
    let whole = opened.and_then(|(form, bytes)| whole(&receipt, revision, &form, &bytes));
    let Some((form, bytes)) = whole else {
        return Err(told(ErrorCode::AnswerNotRetained));
    };
    Ok(Reply::ok(match form {
        Form::Result | Form::Asked => envelope::result(&request.id, &bytes),
        Form::Error => envelope::error(&request.id, &bytes),
    }))
}

/// The receipt that was given with the answer: after rounds, that of the attempt
/// that claimed the last one, which its entry names.
async fn receipt(gateway: &Gateway, execution: &Execution) -> Receipt {
    let place = execution.terminal.as_ref().unwrap_or(&execution.last);
    let (log, all) = (&place.log_id, Selection::All);
    let page = gateway
        .ledger
        .entries_of(log, &all, place.sequence, 1)
        .await;
    let stored = page.ok().and_then(|page| page.entries.into_iter().next());
    let entry = stored.and_then(|stored| Entry::parse(&stored.bytes).ok());
    match entry.and_then(|entry| Receipt::of(&entry)) {
        Some(receipt) => Receipt {
            salt: execution.salt,
            ..receipt
        },
        None => execution.receipt(),
    }
}

/// The answer with its receipt.
fn whole(
    receipt: &Receipt,
    revision: Revision,
    form: &Form,
    bytes: &[u8],
) -> Option<(Form, Vec<u8>)> {
    let document = Document::read(bytes, Limits::STANDARD).ok()?;
    let kind = if revision.has_sessions() {
        ResultType::AsIs
    } else {
        ResultType::Stated
    };
    let answer = match form {
        Form::Result => Answer::result(document.root(), kind, false).ok()?,
        Form::Error => Answer::error(document.root()).ok()?,
        // It settled nothing, so it is nobody's to fetch.
        Form::Asked => return None,
    };
    Some((form.clone(), answer.with_receipt(&receipt.to_json())))
}

/// Exactly one of the two names, and beside it nothing but `_meta`.
fn asked(params: &[u8]) -> Result<Asked, Box<Problem>> {
    let malformed = |pointer: &str| {
        let why = "either `execution_id` or `call_id` names what is asked for";
        Box::new(malformed(pointer, why))
    };
    let document = Document::read(params, Limits::STANDARD).map_err(|_| malformed("/params"))?;
    let root = document.root();
    if root.kind() != Kind::Object {
        return Err(malformed("/params"));
    }
    let text = |name: &str| root.get(name).map(Item::text);
    match (text("execution_id"), text("call_id")) {
        (Some(Some(id)), None) => ExecutionId::new(&id)
            .map(Asked::Execution)
            .map_err(|_| malformed("/params/execution_id")),
        (None, Some(Some(id))) => CallId::new(&id)
            .map(Asked::Call)
            .map_err(|_| malformed("/params/call_id")),
        _ => Err(malformed("/params")),
    }
}
