//! What agents connect to: Streamable HTTP at `/mcp/{server}`.
//!
//! The front reads HTTP and nothing of the message; `post` takes one request
//! through authentication and admission, `received` to whoever answers it.

mod accept;
mod body;
mod caller;
mod fetch;
mod guard;
pub(crate) mod listener;
mod methods;
mod post;
mod received;
mod relay;
mod respond;
mod stream;
pub(crate) mod taken;
pub(crate) mod tasks;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use countersign_canon::{Code, Refusal};
use countersign_mcp::{ErrorCode, Headers, Problem, Revision};
use http::{HeaderValue, Method, StatusCode, header};

use crate::identity;
use crate::state::Gateway;
use crate::telemetry;
pub(crate) use countersign_mcp::guard::Allowed;

/// All routes of the agents' listener.
pub(crate) fn router(gateway: Arc<Gateway>, allowed: Allowed) -> Router {
    Router::new()
        .route("/mcp", any(only))
        .route("/mcp/{server}", any(named))
        .route("/.well-known/oauth-protected-resource", get(metadata))
        .route("/.well-known/oauth-protected-resource/mcp", get(metadata))
        .route(
            "/.well-known/oauth-protected-resource/mcp/{server}",
            get(metadata_of),
        )
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(telemetry::ready))
        .with_state(gateway)
        .layer(from_fn_with_state(Arc::new(allowed), guard::check))
}

/// A request whose parameters are not of its method's form.
fn malformed(pointer: &str, why: &'static str) -> Problem {
    let refusal = Refusal {
        code: Code::Params,
        pointer: pointer.to_owned(),
        offset: 0,
    };
    Problem::not_admitted(refusal).because(why)
}

async fn only(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    mcp(gateway, None, request).await
}

async fn named(
    State(gateway): State<Arc<Gateway>>,
    Path(server): Path<String>,
    request: Request,
) -> Response {
    mcp(gateway, Some(server), request).await
}

async fn mcp(gateway: Arc<Gateway>, server: Option<String>, request: Request) -> Response {
    match *request.method() {
        Method::POST => post::post(gateway, server.as_deref(), request).await,
        Method::GET => stream::open(&gateway, server.as_deref(), request).await,
        Method::DELETE => delete(&gateway, server.as_deref(), request).await,
        _ => not_allowed("GET, POST, DELETE"),
    }
}

async fn metadata(State(gateway): State<Arc<Gateway>>) -> Response {
    caller::metadata(&gateway, None)
}

async fn metadata_of(State(gateway): State<Arc<Gateway>>, Path(server): Path<String>) -> Response {
    caller::metadata(&gateway, Some(&server))
}

/// Ends a session.
async fn delete(gateway: &Gateway, server: Option<&str>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let presented = identity::Request::of(&head.method, &head.uri, &head.headers, &head.extensions);
    let agent = match caller::authenticate(gateway, presented).await {
        Ok(principal) => principal.agent,
        Err(refused) => return *refused,
    };
    if let Some(refused) = caller::draining(gateway, &agent) {
        return refused;
    }
    let problem = |code| respond::problem(&Problem::new(code));
    let Ok(headers) = Headers::read(&head.headers) else {
        return problem(ErrorCode::HeaderMismatch);
    };
    let stated = headers.version.unwrap_or(UNSTATED);
    if !stated.has_sessions() {
        return not_allowed(WITHOUT_SESSIONS);
    }
    let named = headers.session.as_deref().zip(gateway.server(server));
    let Some((secret, server)) = named else {
        return problem(ErrorCode::UnknownSession);
    };
    let Some(session) = gateway.sessions.find(secret, &agent, &server.name) else {
        return problem(ErrorCode::UnknownSession);
    };
    if headers.has_routing() || session.revision != stated {
        return problem(ErrorCode::HeaderMismatch);
    }
    if gateway.sessions.end(secret, &agent, &server.name) {
        StatusCode::NO_CONTENT.into_response()
    } else {
        // Another request was faster.
        problem(ErrorCode::UnknownSession)
    }
}

/// The HTTP methods of a revision without sessions.
const WITHOUT_SESSIONS: &str = "POST";

fn not_allowed(allow: &'static str) -> Response {
    let mut response = respond::problem(&Problem::new(ErrorCode::MethodNotAllowed));
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

/// The revision of a request that names none.
const UNSTATED: Revision = Revision::R2025_03_26;
