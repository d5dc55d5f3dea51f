//! token → what the upstream said.
//!
//! The body is spliced from the canonical action; what the gateway adds is its
//! own id, its own progress token, and names under `countersign.dev/`.

use countersign_canon::document::Item;
use countersign_evidence::answer::{self as evidence, Form};
use countersign_ledger::{Answer as Digested, Reserved, Token};
use countersign_mcp::answer::ResultType;
use countersign_mcp::capability::Capability;
use countersign_mcp::envelope::{Additions, tool_call};
use countersign_mcp::task::{self, Task};
use countersign_mcp::{Answer, Verdict, client, incoming};

use super::attempt::Attempt;
use super::catalog::Offered;
use crate::config::OnDisconnect;
use crate::delivery::Outbox;
use crate::upstream::{Answer as Reply, Exchange, IDENTITY, Request};

/// An invocation that has ended, with the token that is to be settled. Made by
/// [`invoke`] alone.
#[derive(Debug)]
pub(super) struct Invoked {
    pub(super) token: Token,
    pub(super) exchange: Exchange<Answered>,
}

/// An answer, and what evidence says of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) digested: Digested,
    /// The task that the upstream made of the call instead of answering it.
    pub(super) task: Option<Task>,
}

/// Sends the call, once.
pub(super) async fn invoke(
    attempt: &Attempt,
    offered: &Offered,
    reserved: Box<Reserved>,
    outbox: &Outbox,
) -> Invoked {
    let token = reserved.token;
    let server = &attempt.arrival.server;
    let upstream = &server.upstream;
    // Where its client takes no events there is no use for what would go in them.
    let progress = attempt.progress.as_deref().filter(|_| attempt.streams);
    let logs = server.passed.touches(Capability::Logging) && attempt.streams;
    let traceparent = attempt.trace.onward();
    let body = |id: u64| {
        let mut meta = Vec::new();
        if progress.is_some() {
            meta.push(("progressToken", id.to_string().into_bytes()));
        }
        if let Some(traceparent) = &traceparent {
            meta.push(("traceparent", format!("\"{traceparent}\"").into_bytes()));
        }
        if server.send_call_id {
            let call_id = format!("\"{}\"", attempt.arrival.call_id).into_bytes();
            meta.push(("countersign.dev/call_id", call_id));
        }
        if !upstream.revision().has_sessions() {
            let capabilities = upstream.permitted().of_client(&attempt.context);
            meta.extend(IDENTITY.meta(upstream.revision(), &capabilities));
            if let Some(level) = client::log_level(&attempt.context).filter(|_| logs) {
                meta.push((client::LOG_LEVEL, level));
            }
        }
        let continuation = attempt
            .bound
            .continuation
            .as_ref()
            .map(|c| c.canonical.as_slice());
        tool_call(id, &attempt.bound.action, &Additions { meta, continuation }).ok()
    };
    let mut line = outbox.line().with_progress(progress).with_messages(logs);
    if let Some(session) = attempt.arrival.session.as_ref().filter(|_| attempt.streams) {
        line = line.asking(session, upstream.permitted());
    }
    let mut cancel = attempt.cancel.clone();
    if !attempt.revision.has_sessions()
        && server.on_disconnect(&attempt.bound.interpreted.tool, offered.class())
            == OnDisconnect::Forward
    {
        cancel = cancel.or(outbox.left());
    }
    let request = Request {
        method: "tools/call",
        name: Some(&attempt.bound.interpreted.tool),
        mirrored: offered.mirrored(),
        body: &body,
        gate: Some(token.gate()),
        line: Some(line),
        endless: false,
        cancel,
    };
    let kind = if attempt.revision.has_sessions() {
        ResultType::AsIs
    } else {
        ResultType::Stated
    };
    let rounds = upstream.revision().has_rounds() && attempt.revision.has_rounds();
    let asked = attempt.bound.interpreted.view.root().get("task").is_some();
    let tasks = upstream.revision().has_tasks() && asked;
    let read = move |answer: Reply<'_>| {
        let created = match answer {
            Ok(result) if tasks => task::created(result),
            _ => None,
        };
        let mut answered = read(answer, kind, rounds)?;
        // An error is never a task, nor is what asks for another round.
        answered.task = created.filter(|_| *answered.answer.verdict() == Verdict::Succeeded);
        Some(answered)
    };
    let exchange = upstream
        .exchange(&attempt.arrival.agent, request, read)
        .await;
    Invoked { token, exchange }
}

fn read(answer: Reply<'_>, kind: ResultType, rounds: bool) -> Option<Answered> {
    let (form, item) = match answer {
        Ok(result) => (Form::Result, result),
        Err(error) => (Form::Error, error),
    };
    let answer = match form {
        Form::Result => Answer::result(item, kind, rounds).ok()?,
        Form::Error => Answer::error(item).ok()?,
    };
    if answer.removed() > 0 {
        tracing::warn!(
            removed = answer.removed(),
            "an upstream used names of the gateway's own"
        );
    }
    let digested = if answer.added() {
        // What the caller holds is what is digested, so that it can compute it.
        let whole = answer.without_receipt();
        let document = incoming::read(&whole).ok()?;
        digest(form, document.root())?
    } else {
        digest(form, item)?
    };
    Some(Answered {
        answer,
        digested,
        task: None,
    })
}

fn digest(form: Form, item: Item<'_>) -> Option<Digested> {
    let answer = evidence::Answer::of(form, item)?;
    Some(Digested {
        digest: answer.digest(),
        bytes: answer.bytes(),
    })
}
