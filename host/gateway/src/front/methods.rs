//! Requests that are no tool call, answered by the gateway itself.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use countersign_canon::{Document, Limits, Request};
use countersign_mcp::capability::Offer;
use countersign_mcp::headers::SESSION_ID;
use countersign_mcp::{ErrorCode, Problem, Revision, client, envelope, server};
use http::HeaderValue;

use super::{fetch, malformed, respond, tasks};
use crate::catalog::Need;
use crate::delivery::{Cancel, Reply};
use crate::limits::Place;
use crate::pipeline::{Arrival, overloaded, unavailable, unread_because};
use crate::session::{Claim, Session};
use crate::state::Gateway;
use crate::upstream::{IDENTITY, Reason};

/// What a client may say of itself in `initialize`, in bytes of its canonical form.
const MOST_CONTEXT: usize = 16_384;

/// Answers a request in a task of its own: a client that goes away takes nothing
/// with it on which others rest, as what was heard of a list or what is to be
/// recorded of a task. The task holds the `message`, whose bytes are counted until
/// it ends.
pub(super) async fn answer(
    gateway: Arc<Gateway>,
    arrival: Arrival,
    revision: Revision,
    request: Request,
    message: Bytes,
) -> Response {
    let claim = match claim(&arrival, &request) {
        Ok(claim) => claim,
        Err(problem) => return refused(&gateway, &arrival, *problem, &request).await,
    };
    let Some(alive) = gateway.running.enter() else {
        let problem = Problem::new(ErrorCode::ShuttingDown);
        return refused(&gateway, &arrival, problem, &request).await;
    };
    let cancel = claim.as_ref().map(Claim::cancel).unwrap_or_default();
    let answering = tokio::spawn(async move {
        let response = match places(&gateway, &arrival, &request) {
            Ok(place) => {
                let response = answered(&gateway, arrival, revision, &request, &cancel).await;
                drop(place);
                response
            }
            Err(problem) => refused(&gateway, &arrival, *problem, &request).await,
        };
        // Its client may use the id again as soon as it has the answer.
        drop((message, claim, alive));
        response
    });
    let ended = answering.await;
    ended.unwrap_or_else(|_| respond::problem(&Problem::new(ErrorCode::Internal)))
}

/// The id of a request that is part of a session; those about tasks claim theirs
/// themselves.
fn claim(arrival: &Arrival, request: &Request) -> Result<Option<Claim>, Box<Problem>> {
    match &arrival.session {
        Some(session) if !request.method.starts_with("tasks/") => {
            let claim = session.claim(&request.id);
            let taken = || Box::new(Problem::new(ErrorCode::DuplicateId));
            claim.map(Some).ok_or_else(taken)
        }
        _ => Ok(None),
    }
}

/// The place that a request takes which has a server or the ledger asked. Those
/// about tasks take theirs themselves.
fn places(
    gateway: &Gateway,
    arrival: &Arrival,
    request: &Request,
) -> Result<Option<Arc<Place>>, Box<Problem>> {
    let Arrival { server, agent, .. } = arrival;
    let asks = match request.method.as_str() {
        // Where only tools pass nobody is asked what is offered beside them.
        "initialize" | "server/discover" => !server.passed.is_empty(),
        "tools/list" | fetch::METHOD => true,
        _ => false,
    };
    if !asks {
        return Ok(None);
    }
    let place = gateway.limits.place(agent, &server.name, None);
    place.map(Some).ok_or_else(|| overloaded().into())
}

async fn refused(
    gateway: &Gateway,
    arrival: &Arrival,
    problem: Problem,
    request: &Request,
) -> Response {
    let refused = unread_because(gateway, arrival, problem).await;
    respond::reply(refused.reply(Some(&request.id)))
}

/// Answers it, or says truthfully that it is not supported.
async fn answered(
    gateway: &Gateway,
    arrival: Arrival,
    revision: Revision,
    request: &Request,
    cancel: &Cancel,
) -> Response {
    let sessions = revision.has_sessions();
    let result = match request.method.as_str() {
        "initialize" if sessions => return initialize(gateway, arrival, request).await,
        "ping" if sessions => b"{}".to_vec(),
        "server/discover" if !sessions => {
            let capabilities = announced(&arrival, revision).await;
            server::discovered(IDENTITY, &capabilities)
        }
        fetch::METHOD => return fetch::answer(gateway, arrival, revision, request).await,
        "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/list" if revision.has_tasks() => {
            return tasks::answer(gateway, arrival, request).await;
        }
        "tools/list" => match list(gateway, &arrival, revision, request, cancel).await {
            Ok(result) => result,
            Err(problem) => return refused(gateway, &arrival, *problem, request).await,
        },
        _ => {
            let problem = Problem::new(ErrorCode::MethodNotSupported);
            return refused(gateway, &arrival, problem, request).await;
        }
    };
    let reply = Reply::ok(envelope::result(&request.id, &result));
    respond::counted(&gateway.untaken.account(&arrival.agent), reply)
}

async fn initialize(gateway: &Gateway, arrival: Arrival, request: &Request) -> Response {
    let read = request.params.as_deref().and_then(client::initialize);
    let Some(read) = read else {
        let problem = malformed("/params", "`initialize` lacks what it must say");
        return refused(gateway, &arrival, problem, request).await;
    };
    if read.context.len() > MOST_CONTEXT {
        // It is kept as long as the session, and stands in the entry of each call.
        let problem = malformed("/params", "what it says of the client is too long");
        return refused(gateway, &arrival, problem, request).await;
    }
    let environment = &gateway.environment;
    let (Ok(id), Ok(secret)) = (environment.session_id(), environment.session_secret()) else {
        return respond::problem(&Problem::new(ErrorCode::Internal));
    };
    let (agent, server) = (arrival.agent.clone(), arrival.server.name.clone());
    let session = Session::new(id, agent, server, read.revision, read.context);
    if !gateway.sessions.open(&secret, session) {
        let problem = Problem::new(ErrorCode::Overloaded);
        return refused(gateway, &arrival, problem, request).await;
    }
    let capabilities = announced(&arrival, read.revision).await;
    let result = server::initialized(read.revision, IDENTITY, &capabilities);
    let mut response = respond::reply(Reply::ok(envelope::result(&request.id, &result)));
    if let Ok(mut value) = HeaderValue::from_str(&secret) {
        value.set_sensitive(true);
        response.headers_mut().insert(SESSION_ID, value);
    }
    response
}

/// The capabilities that a client is told. Where only tools pass, nobody need be
/// asked for them; a server that cannot be asked offers nothing more.
async fn announced(arrival: &Arrival, revision: Revision) -> Vec<u8> {
    let Arrival { server, agent, .. } = arrival;
    let offer = if server.passed.is_empty() {
        Offer::default()
    } else {
        server.upstream.offer(agent).await.unwrap_or_else(|reason| {
            let reason = reason.as_str();
            tracing::warn!(server = %server.name, reason, "what it offers is not known");
            Offer::default()
        })
    };
    offer.announced(&server.passed, revision)
}

async fn list(
    gateway: &Gateway,
    arrival: &Arrival,
    revision: Revision,
    request: &Request,
    cancel: &Cancel,
) -> Result<Vec<u8>, Box<Problem>> {
    let params = request.params.as_deref().unwrap_or(b"{}");
    let asks_for_a_page = Document::read(params, Limits::STANDARD)
        .is_ok_and(|document| document.root().get("cursor").is_some());
    if asks_for_a_page {
        return Err(malformed("/params/cursor", "no such cursor was given").into());
    }
    let listing = gateway
        .tools(&arrival.server, &arrival.agent, Need::List, cancel)
        .await;
    // What is approved is shown, whether or not the server can be asked.
    let shown = gateway
        .decisions
        .current()
        .approved
        .shown(arrival.server.name.as_str());
    let shown = match (shown, listing) {
        (Some(approved), _) => approved,
        (None, Ok(listing)) => listing.tools().to_vec(),
        (None, Err(unready)) if unready.reason == Reason::Cancelled => {
            let problem = unavailable(unready);
            return Err(problem.because("the caller cancelled it").into());
        }
        (None, Err(unready)) => return Err(unavailable(unready).into()),
    };
    let tools = shown.iter().map(|tool| tool.description.as_slice());
    Ok(server::tools(revision, tools))
}
