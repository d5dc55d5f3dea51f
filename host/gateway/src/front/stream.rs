//! A client's own stream (GET): what its server tells apart from any request.
//!
//! Revisions with sessions have it; a session has one at a time, and a new one
//! takes over, and it ends once its client's credential does not hold any more.
//! It carries notifications alone: what a server asks goes with the
//! request that it asks for. Nothing is kept for a client that is not there, so
//! there are no event ids, and a stream cannot be resumed.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use countersign_mcp::capability::Capability;
use countersign_mcp::{ErrorCode, Headers, Problem};
use http::StatusCode;
use tokio::sync::broadcast::error::RecvError;

use super::accept::Accepts;
use super::{caller, respond};
use crate::delivery::{self, Outbox};
use crate::identity;
use crate::session::Session;
use crate::state::{Gateway, Server};
use crate::upstream::{News, Topic};

/// Opens the stream of the session that the request names.
pub(super) async fn open(gateway: &Gateway, server: Option<&str>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let presented = identity::Request::of(&head.method, &head.uri, &head.headers, &head.extensions);
    let principal = match caller::authenticate(gateway, presented).await {
        Ok(principal) => principal,
        Err(refused) => return *refused,
    };
    let identities = Arc::clone(&gateway.identities);
    let standing = identities.standing(&presented, &principal);
    let agent = principal.agent;
    if let Some(refused) = caller::draining(gateway, &agent) {
        return refused;
    }
    let problem = |code| respond::problem(&Problem::new(code));
    let Ok(headers) = Headers::read(&head.headers) else {
        return problem(ErrorCode::HeaderMismatch);
    };
    let stated = headers.version.unwrap_or(super::UNSTATED);
    if !stated.has_sessions() {
        return super::not_allowed(super::WITHOUT_SESSIONS);
    }
    if !Accepts::read(&head.headers).events {
        return problem(ErrorCode::NotAcceptable);
    }
    let Some(server) = gateway.server(server) else {
        return problem(ErrorCode::UnknownServer);
    };
    let Some(secret) = headers.session.as_deref() else {
        return problem(ErrorCode::SessionRequired);
    };
    let Some(session) = gateway.sessions.find(secret, &agent, &server.name) else {
        return problem(ErrorCode::UnknownSession);
    };
    if headers.has_routing() || session.revision != stated {
        return problem(ErrorCode::HeaderMismatch);
    }
    let account = gateway.untaken.account(&agent);
    if account.is_full() {
        let mut refused = problem(ErrorCode::Overloaded);
        *refused.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return refused;
    }
    let (outbox, inbox) = delivery::channel(account);
    let mut draining = gateway.running.draining();
    let (mine, mut stream) = session.take_stream();
    if mine == 0 {
        return problem(ErrorCode::UnknownSession);
    }
    let (server, environment) = (Arc::clone(server), gateway.environment.clone());
    tokio::spawn(async move {
        let ended = async {
            tokio::select! {
                _ = stream.wait_for(|present| *present != mine) => {}
                _ = draining.wait_for(|draining| *draining) => {}
                () = outbox.left_now() => {}
                () = identities.lapsed(&standing, &environment) => {}
            }
        };
        tokio::select! {
            () = ended => {}
            () = pass(&server, &session, &outbox) => {}
        }
    });
    respond::stream(inbox)
}

/// Passes news on, for as long as there is a client.
async fn pass(server: &Server, session: &Session, outbox: &Outbox) {
    let mut news = server.upstream.news();
    // Held open upstream for as long as it is held open here.
    let _listening = (!server.passed.is_empty())
        .then(|| server.upstream.listening(session.agent()))
        .flatten();
    loop {
        let told = match news.recv().await {
            Ok(told) => told,
            // What is missed is lost; lists can be asked for again.
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        if concerns(&told, server, session) {
            outbox.tell(told.body.clone());
        }
    }
}

fn concerns(news: &News, server: &Server, session: &Session) -> bool {
    if news
        .agent
        .as_ref()
        .is_some_and(|agent| agent != session.agent())
    {
        return false;
    }
    match &news.topic {
        Topic::Tools => true,
        Topic::Resources => server.passed.touches(Capability::Resources),
        Topic::Prompts => server.passed.touches(Capability::Prompts),
        Topic::Log => server.passed.touches(Capability::Logging),
        Topic::Resource(uri) => session.wants(uri),
        Topic::Elicitation => {
            let elicitation = countersign_mcp::asks::Ask::Elicitation;
            server.upstream.permitted().has(elicitation)
        }
    }
}
