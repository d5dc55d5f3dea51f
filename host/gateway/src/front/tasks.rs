//! `tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/list`: a client asks
//! for the task that a server made of its call.
//!
//! A task is known by the execution that it was acknowledged for, so it is
//! bound to its agent and server and survives restarts; a foreign one is refused
//! as unknown, and nothing is asked upstream. What an answer says of the task is
//! in the log before the client sees it (`docs/spec/executions.md` §6). A task
//! that nobody asks for ends when its time is up: see [`end_overdue`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::response::Response;
use countersign_canon::document::Item;
use countersign_canon::{Digest, Document, Limits, Outcome, Request};
use countersign_evidence::answer::{self as evidence, Form};
use countersign_evidence::{CallId, Draft, Kind, RefusalCode, Task as Named};
use countersign_ledger::{Act, Execution, LedgerError, Standing, State, TaskId, Which};
use countersign_mcp::answer::ResultType;
use countersign_mcp::json::Object;
use countersign_mcp::task::{self, Task};
use countersign_mcp::{Answer, ErrorCode, Problem, envelope};

use super::{malformed, respond};
use crate::delivery::{self, Reply};
use crate::pipeline::{Arrival, ledger_problem, overloaded, unavailable, unread_because};
use crate::session::{Claim, MOST_CURSOR_BYTES};
use crate::state::Gateway;
use crate::upstream::{self, Exchange};

/// What is said of a cursor that this session was not given, or no more has.
const NO_CURSOR: &str = "no such cursor was given";

/// Open tasks that one page of [`end_overdue`] looks at.
const PAGE: usize = 256;

/// The last status of each task that was put into the log, so that the same
/// one is not put there again and again. Nothing rests on it.
#[derive(Debug, Default)]
pub(crate) struct Observed(Mutex<HashMap<CallId, &'static str>>);

impl Observed {
    /// Whether a status is new for that execution; from then on it is not.
    fn is_new(&self, execution: &Execution, status: &'static str) -> bool {
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        observed.insert(execution.call_id.clone(), status) != Some(status)
    }

    fn forget(&self, execution: &Execution) {
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        observed.remove(&execution.call_id);
    }
}

/// What an upstream answered about a task.
struct About {
    answer: Answer,
    /// The task as the answer describes it, if it does.
    task: Option<Task>,
    /// Of an error.
    code: Option<i128>,
    digest: Option<(Digest, u64)>,
}

/// Answers one of the four methods.
pub(super) async fn answer(gateway: &Gateway, arrival: Arrival, request: &Request) -> Response {
    let answered = match request.method.as_str() {
        "tasks/list" => list(gateway, &arrival, request).await,
        _ => one(gateway, &arrival, request).await,
    };
    match answered {
        Ok(reply) => respond::counted(&gateway.untaken.account(&arrival.agent), reply),
        Err(problem) => {
            let refused = unread_because(gateway, &arrival, *problem).await;
            respond::reply(refused.reply(Some(&request.id)))
        }
    }
}

async fn one(
    gateway: &Gateway,
    arrival: &Arrival,
    request: &Request,
) -> Result<Reply, Box<Problem>> {
    let id = named(request.params.as_deref().unwrap_or(b"{}"))?;
    let execution = known(gateway, arrival, &id).await?;
    let params = Object::new().text("taskId", id.as_str()).finish();
    let about = ask(gateway, arrival, request, Some(id.as_str()), &params).await?;
    let execution = observe(gateway, &request.method, execution, &id, &about).await?;
    let error = about.answer.is_error();
    let ended = request.method == "tasks/result" && execution.terminal.is_some();
    let bytes = if ended {
        about.answer.with_receipt(&execution.receipt().to_json())
    } else {
        about.answer.without_receipt()
    };
    Ok(Reply::ok(if error {
        envelope::error(&request.id, &bytes)
    } else {
        envelope::result(&request.id, &bytes)
    }))
}

/// The task that is asked for.
fn named(params: &[u8]) -> Result<TaskId, Box<Problem>> {
    let malformed = || Box::new(malformed("/params/taskId", "it names no task"));
    let document = Document::read(params, Limits::STANDARD).ok();
    let text = document
        .as_ref()
        .and_then(|document| document.root().get("taskId"))
        .and_then(Item::text);
    text.and_then(|text| text.parse().ok())
        .ok_or_else(malformed)
}

/// The execution of this agent, at this server, that the task belongs to.
async fn known(
    gateway: &Gateway,
    arrival: &Arrival,
    id: &TaskId,
) -> Result<Execution, Box<Problem>> {
    let server = &arrival.server;
    let found = gateway
        .ledger
        .lookup_task(&arrival.agent, &server.name, id)
        .await
        .map_err(|error| ledger_problem(&error))?;
    found
        .filter(|execution| execution.admitted.target.server_digest == server.digest)
        .ok_or_else(|| Problem::new(ErrorCode::TaskUnknown).into())
}

/// Asks the upstream, once, in one of the places that requests of this agent have.
async fn ask(
    gateway: &Gateway,
    arrival: &Arrival,
    request: &Request,
    name: Option<&str>,
    params: &[u8],
) -> Result<About, Box<Problem>> {
    if gateway.running.is_draining() {
        return Err(Problem::new(ErrorCode::ShuttingDown).into());
    }
    let claim = match &arrival.session {
        None => None,
        Some(session) => match session.claim(&request.id) {
            Some(claim) => Some(claim),
            None => return Err(Problem::new(ErrorCode::DuplicateId).into()),
        },
    };
    let Arrival { agent, server, .. } = arrival;
    let Some(_place) = gateway.limits.place(agent, &server.name, None) else {
        return Err(overloaded().into());
    };
    let method = request.method.as_str();
    let upstream = &arrival.server.upstream;
    upstream.ready(&arrival.agent).await.map_err(unavailable)?;
    let body = |id| Some(envelope::message(Some(id), method, Some(params)));
    let request = upstream::Request {
        method,
        name,
        mirrored: &[],
        body: &body,
        gate: None,
        // A client's request, and on its answer nothing can be asked.
        line: Some(delivery::channel(gateway.untaken.account(agent)).0.line()),
        endless: false,
        cancel: claim.as_ref().map(Claim::cancel).unwrap_or_default(),
    };
    match upstream.exchange(&arrival.agent, request, about).await {
        Exchange::Answered(about) => Ok(about),
        Exchange::NotSent(reason) => Err(unavailable(reason.into()).into()),
        Exchange::Unanswered { .. } => Err(Problem::new(ErrorCode::TaskUnanswered).into()),
    }
}

fn about(answer: upstream::Answer<'_>) -> Option<About> {
    let (form, item) = match answer {
        Ok(result) => (Form::Result, result),
        Err(error) => (Form::Error, error),
    };
    let answer = match form {
        Form::Result => Answer::result(item, ResultType::AsIs, false).ok()?,
        Form::Error => Answer::error(item).ok()?,
    };
    let digested = evidence::Answer::of(form, item);
    Some(About {
        answer,
        task: task::read(item),
        code: item.get("code").and_then(Item::integer).map(i128::from),
        digest: digested.map(|answer| (answer.digest(), answer.bytes())),
    })
}

/// Puts what an answer says of a task into the log; answers with the execution
/// as it is then.
async fn observe(
    gateway: &Gateway,
    method: &str,
    execution: Execution,
    id: &TaskId,
    about: &About,
) -> Result<Execution, Box<Problem>> {
    if execution.record.state != State::TaskOpen {
        return Ok(execution);
    }
    let described = about.task.as_ref().filter(|task| task.id == id.as_str());
    let ended = match method {
        "tasks/result" => task::outcome(about.answer.verdict(), about.code),
        _ => described.and_then(|task| task.status.outcome()),
    };
    let status = described.map(|task| task.status.as_str());
    let act = match (ended, status) {
        (Some(outcome), _) => Act::TaskEnded(outcome),
        (None, Some(status)) if gateway.tasks.is_new(&execution, status) => Act::TaskObserved,
        (None, _) => return Ok(execution),
    };
    let status = status.unwrap_or("ended").to_owned();
    let mut draft = draft(gateway, id, status);
    if method == "tasks/result" {
        (draft.answer_digest, draft.answer_bytes) = about.digest.unzip();
    }
    match act_on(gateway, &execution, act, draft).await {
        Ok(execution) => Ok(execution),
        // Another observer came first; its end counts.
        Err(LedgerError::Illegal(_)) => Ok(execution),
        // The end is not in the log, so it is not told as if it were.
        Err(_) if ended.is_some() => Err(Problem::new(ErrorCode::SettlementFailed).into()),
        Err(error) => Err(ledger_problem(&error).into()),
    }
}

async fn act_on(
    gateway: &Gateway,
    execution: &Execution,
    act: Act,
    draft: Draft,
) -> Result<Execution, LedgerError> {
    let ends = matches!(act, Act::TaskEnded(_));
    let which = Which::Call(execution.call_id.clone());
    let execution = gateway.ledger.act(which, act, draft).await?;
    if ends {
        gateway.tasks.forget(&execution);
    }
    Ok(execution)
}

fn draft(gateway: &Gateway, id: &TaskId, status: String) -> Draft {
    let mut draft = Draft::new(Kind::Task, gateway.environment.now());
    draft.task = Some(Named {
        id: id.digest(),
        status,
    });
    draft
}

/// Asks for one page, and gives on the tasks that are this agent's.
async fn list(
    gateway: &Gateway,
    arrival: &Arrival,
    request: &Request,
) -> Result<Reply, Box<Problem>> {
    if !arrival.server.upstream.revision().has_tasks() {
        let problem = Problem::new(ErrorCode::MethodNotSupported)
            .because("the protocol version that the server speaks has no tasks");
        return Err(problem.into());
    }
    let params = request.params.as_deref().unwrap_or(b"{}");
    let document = Document::read(params, Limits::STANDARD).ok();
    let cursor = document
        .as_ref()
        .and_then(|document| document.root().get("cursor"));
    let params = match cursor {
        Some(name) => {
            let session = arrival.session.as_ref();
            let cursor = name.text().and_then(|name| session?.cursor(&name));
            let cursor = cursor.ok_or_else(|| malformed("/params/cursor", NO_CURSOR))?;
            Object::new().text("cursor", &cursor).finish()
        }
        None => b"{}".to_vec(),
    };
    let about = ask(gateway, arrival, request, None, &params).await?;
    if about.answer.is_error() {
        let bytes = about.answer.without_receipt();
        return Ok(Reply::ok(envelope::error(&request.id, &bytes)));
    }
    let bytes = about.answer.without_receipt();
    let unanswered = || Box::new(Problem::new(ErrorCode::TaskUnanswered));
    let document = Document::read(&bytes, Limits::STANDARD).map_err(|_| unanswered())?;
    let root = document.root();
    let mut tasks = vec![b'['];
    for item in root.get("tasks").into_iter().flat_map(Item::children) {
        let id = task::read(item).and_then(|task| task.id.parse::<TaskId>().ok());
        let mine = match id {
            Some(id) => known(gateway, arrival, &id).await.is_ok(),
            None => false,
        };
        if mine {
            if tasks.len() > 1 {
                tasks.push(b',');
            }
            tasks.extend_from_slice(item.raw());
        }
    }
    tasks.push(b']');
    let mut result = Object::new().raw("tasks", &tasks);
    // A server's cursor may name a task of another agent.
    let next = root.get("nextCursor").and_then(Item::text);
    if let (Some(session), Some(next)) = (&arrival.session, next) {
        if next.len() > MOST_CURSOR_BYTES {
            return Err(unanswered());
        }
        let name = gateway.environment.session_secret();
        let name = name.map_err(|_| Box::new(Problem::new(ErrorCode::Internal)))?;
        session.keep_cursor(&name, &next);
        result = result.text("nextCursor", &name);
    }
    Ok(Reply::ok(envelope::result(&request.id, &result.finish())))
}

/// Ends tasks whose time is up: what becomes of them is then not known.
pub(crate) async fn end_overdue(gateway: &Gateway) {
    // Nothing is written then, and asking would only fill the log.
    if gateway.ledger.rolled_back() || gateway.ledger.failed() {
        return;
    }
    let keep_us = i64::try_from(gateway.task_timeout.as_micros()).unwrap_or(i64::MAX);
    let before = gateway.environment.now().micros().saturating_sub(keep_us);
    let mut after = 0;
    loop {
        let Ok(page) = gateway.ledger.list(Standing::TaskOpen, after, PAGE).await else {
            return;
        };
        let more = page.len() == PAGE;
        for (number, execution) in page {
            after = number;
            let Some(id) = execution.record.task.clone() else {
                continue;
            };
            if execution.reserved_us > before {
                continue;
            }
            let mut draft = draft(gateway, &id, "overdue".to_owned());
            // INVARIANT: the code is made of letters and `-`.
            draft.refusal = RefusalCode::new("task-timeout").ok();
            let act = Act::TaskEnded(Outcome::OutcomeUnknown);
            if let Err(error) = act_on(gateway, &execution, act, draft).await {
                tracing::warn!(call_id = %execution.call_id, "a task was not ended: {error}");
            }
        }
        if !more {
            return;
        }
    }
}
