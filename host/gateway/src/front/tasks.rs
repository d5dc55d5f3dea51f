//! `tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/list`: a client asks
//! for the task that a server made of its call.
//!
//! A task is known by the execution that it was acknowledged for, so it is
//! bound to its agent and server and survives restarts; a foreign one is refused
//! as unknown, and nothing is asked upstream. What an answer says of the task is
//! in the log before the client sees it (`docs/spec/executions.md` §6). A task
//! that nobody asks for ends when its time is up: see [`end_overdue`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;
use countersign_canon::document::Item;
use countersign_canon::{Digest, Document, Limits, Outcome, Request};
use countersign_evidence::answer::{self as evidence, Form};
use countersign_evidence::{CallId, Draft, Kind, RefusalCode, Task as Named};
use countersign_ledger::{Act, Execution, LedgerError, Standing, State, TaskId, Which};
use countersign_mcp::answer::ResultType;
use countersign_mcp::json::Object;
use countersign_mcp::task::{self, Status, Task};
use countersign_mcp::{Answer, ErrorCode, Problem, envelope};

use super::{malformed, respond};
use crate::delivery::{self, Reply};
use crate::limits::Place;
use crate::pipeline::{Arrival, ledger_problem, overloaded, unavailable, unread_because};
use crate::session::{Claim, MOST_CURSOR_BYTES};
use crate::state::Gateway;
use crate::upstream::{self, Exchange};

/// What is said of a cursor that this session was not given, or no more has.
const NO_CURSOR: &str = "no such cursor was given";

/// Tasks of one page of a server's list; a page with more is no answer.
const MOST_LISTED: usize = 1_000;

/// Open tasks that one page of [`end_overdue`] looks at.
const PAGE: usize = 256;

/// The last status of each task that was put into the log, so that the same
/// one is not put there again and again. Nothing rests on it.
#[derive(Debug, Default)]
pub(crate) struct Observed(Mutex<HashMap<CallId, &'static str>>);

impl Observed {
    /// Whether this status of that execution is the last one in the log.
    fn is_known(&self, execution: &Execution, status: &'static str) -> bool {
        let observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        observed.get(&execution.call_id) == Some(&status)
    }

    /// Notes a status that is in the log now. Sooner it would be told, to another
    /// who asks at the same time too, before its entry is durable.
    fn note(&self, execution: &Execution, status: &'static str) {
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        observed.insert(execution.call_id.clone(), status);
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

/// What an answer says of one task.
#[derive(Clone, Copy)]
struct Said {
    status: Option<&'static str>,
    /// How it ended, where it did.
    ended: Option<Outcome>,
    /// Of the task's own result.
    digest: Option<(Digest, u64)>,
}

impl Said {
    /// By the status that a task is described with.
    fn status(status: Option<Status>) -> Self {
        Self {
            status: status.map(Status::as_str),
            ended: status.and_then(Status::outcome),
            digest: None,
        }
    }
}

impl About {
    /// What the answer to a method says of the task that it was asked about.
    fn of(&self, method: &str, id: &TaskId) -> Said {
        let described = self.task.as_ref().filter(|task| task.id == id.as_str());
        let said = Said::status(described.map(|task| task.status));
        if method == "tasks/result" {
            return Said {
                ended: task::outcome(self.answer.verdict(), self.code),
                digest: self.digest,
                ..said
            };
        }
        said
    }
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
    let (about, _place) = ask(gateway, arrival, request, Some(id.as_str()), &params).await?;
    let said = about.of(&request.method, &id);
    let execution = observe(gateway, execution, &id, said).await?;
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
    let found = find(gateway, arrival, id).await?;
    found.ok_or_else(|| Problem::new(ErrorCode::TaskUnknown).into())
}

/// The same; none where the task is nobody's or another's.
async fn find(
    gateway: &Gateway,
    arrival: &Arrival,
    id: &TaskId,
) -> Result<Option<Execution>, Box<Problem>> {
    let server = &arrival.server;
    let found = gateway
        .ledger
        .lookup_task(&arrival.agent, &server.name, id)
        .await
        .map_err(|error| ledger_problem(&error))?;
    Ok(found.filter(|execution| execution.admitted.target.server_digest == server.digest))
}

/// Asks the upstream, once, in one of the places that requests of this agent have;
/// the place is held for as long as the answer is at work.
async fn ask(
    gateway: &Gateway,
    arrival: &Arrival,
    request: &Request,
    name: Option<&str>,
    params: &[u8],
) -> Result<(About, Arc<Place>), Box<Problem>> {
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
    let Some(place) = gateway.limits.place(agent, &server.name, None) else {
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
        Exchange::Answered(about) => Ok((about, place)),
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
    execution: Execution,
    id: &TaskId,
    said: Said,
) -> Result<Execution, Box<Problem>> {
    if execution.record.state != State::TaskOpen {
        return Ok(execution);
    }
    let Said { status, ended, .. } = said;
    let act = match (ended, status) {
        (Some(outcome), _) => Act::TaskEnded(outcome),
        (None, Some(status)) if !gateway.tasks.is_known(&execution, status) => Act::TaskObserved,
        (None, _) => return Ok(execution),
    };
    let mut draft = draft(gateway, id, status.unwrap_or("ended").to_owned());
    (draft.answer_digest, draft.answer_bytes) = said.digest.unzip();
    match act_on(gateway, &execution, act, draft).await {
        Ok(execution) => {
            if let (None, Some(status)) = (ended, status) {
                gateway.tasks.note(&execution, status);
            }
            Ok(execution)
        }
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

/// Asks for one page, and gives on the tasks that are this agent's. An end that it
/// tells is in the log before, as with `tasks/get`; what goes on is `tasks/get`'s to
/// record, one entry for each request.
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
    let (about, _place) = ask(gateway, arrival, request, None, &params).await?;
    if about.answer.is_error() {
        let bytes = about.answer.without_receipt();
        return Ok(Reply::ok(envelope::error(&request.id, &bytes)));
    }
    let bytes = about.answer.without_receipt();
    let unanswered = || Box::new(Problem::new(ErrorCode::TaskUnanswered));
    let document = Document::read(&bytes, Limits::STANDARD).map_err(|_| unanswered())?;
    let root = document.root();
    let mut tasks = vec![b'['];
    for (number, item) in root
        .get("tasks")
        .into_iter()
        .flat_map(Item::children)
        .enumerate()
    {
        if number == MOST_LISTED {
            return Err(unanswered());
        }
        // Each is looked up without waiting, and others want to be served meanwhile.
        tokio::task::yield_now().await;
        let Some(task) = task::read(item) else {
            continue;
        };
        let Ok(id) = task.id.parse::<TaskId>() else {
            continue;
        };
        let Some(execution) = find(gateway, arrival, &id).await? else {
            continue;
        };
        let said = Said::status(Some(task.status));
        // A server chooses how often a status changes, and how many tasks it lists.
        if said.ended.is_some() {
            observe(gateway, execution, &id, said).await?;
        }
        if tasks.len() > 1 {
            tasks.push(b',');
        }
        tasks.extend_from_slice(item.raw());
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

/// Ends tasks whose time is up: what becomes of them is then not known. They stand
/// in the order of their calls, so a page of which none is due is the last that is
/// looked at; `all` are where the clock may have been set back since.
pub(crate) async fn end_overdue(gateway: &Gateway, all: bool) {
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
        let mut more = page.len() == PAGE;
        let mut due = all;
        for (number, execution) in page {
            after = number;
            let Some(id) = execution.record.task.clone() else {
                continue;
            };
            if execution.reserved_us > before {
                continue;
            }
            due = true;
            let mut draft = draft(gateway, &id, "overdue".to_owned());
            // INVARIANT: the code is made of letters and `-`.
            draft.refusal = RefusalCode::new("task-timeout").ok();
            let act = Act::TaskEnded(Outcome::OutcomeUnknown);
            if let Err(error) = act_on(gateway, &execution, act, draft).await {
                tracing::warn!(call_id = %execution.call_id, "a task was not ended: {error}");
                // The next look finds it again.
                more &= !matches!(error, LedgerError::Unavailable);
            }
        }
        if !more || !due {
            return;
        }
        // A page is read without waiting, and others want to be served meanwhile.
        tokio::task::yield_now().await;
    }
}
