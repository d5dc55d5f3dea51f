//! Who sent a request, within its rate, or the answer that tells what is missing.
//!
//! A request that nobody is known to have sent leaves no entry, so that nobody
//! can fill the log from outside; it is counted instead.

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use countersign_evidence::Agent;
use countersign_identity::{Principal, Refusal};
use countersign_mcp::{ErrorCode, Problem};
use http::{HeaderName, HeaderValue, StatusCode, header};

use super::respond;
use crate::identity::{NotTaken, Request, challenge};
use crate::state::Gateway;

const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The authenticated caller, within its rate, or what to answer instead.
pub(super) async fn authenticate(
    gateway: &Gateway,
    request: Request<'_>,
) -> Result<Principal, Box<Response>> {
    // Asked late: a key may have been waited for.
    let now = || gateway.environment.monotonic();
    let within_rate = |agent: &Agent| gateway.limits.within_rate(agent, now());
    let authenticated = gateway
        .identities
        .authenticate(&request, within_rate, &gateway.environment)
        .await;
    match authenticated {
        Ok(principal) => Ok(principal),
        Err(NotTaken::Unknown(refusal)) => {
            gateway.telemetry.metrics.unauthenticated(refusal);
            tracing::debug!(path = request.path, "not authenticated: {refusal}");
            Err(Box::new(refused(gateway, refusal, &request)))
        }
        Err(NotTaken::TooMuch { agent, wait }) => Err(Box::new(counted(
            gateway,
            &agent,
            ErrorCode::RateLimited,
            wait,
        ))),
    }
}

/// Where no request is taken any more, the answer that says so.
pub(super) fn draining(gateway: &Gateway, agent: &Agent) -> Option<Response> {
    let code = ErrorCode::ShuttingDown;
    let draining = gateway.running.is_draining();
    draining.then(|| counted(gateway, agent, code, Duration::from_secs(1)))
}

/// Refuses a request of an agent that is known; counted, so that nobody can fill the
/// log.
fn counted(gateway: &Gateway, agent: &Agent, code: ErrorCode, wait: Duration) -> Response {
    gateway.suppress(agent, code, gateway.environment.now());
    let mut problem = Problem::new(code);
    problem.retry_after_ms = Some(u32::try_from(wait.as_millis()).unwrap_or(u32::MAX));
    respond::problem(&problem)
}

fn refused(gateway: &Gateway, refusal: Refusal, request: &Request<'_>) -> Response {
    let code = ErrorCode::parse(refusal.code()).unwrap_or(ErrorCode::Unauthenticated);
    let mut problem = Problem::new(code);
    if refusal == Refusal::KeysUnavailable {
        problem.retry_after_ms = Some(10_000);
    }
    let mut response = respond::problem(&problem);
    let headers = response.headers_mut();
    let place = place(gateway, request.path);
    let scheme = request.scheme();
    for value in challenge(&gateway.identities, refusal, scheme, place.as_deref()) {
        headers.append(header::WWW_AUTHENTICATE, value);
    }
    if refusal == Refusal::ProofNonce
        && let Some(nonce) = gateway.identities.nonce(&gateway.environment)
        && let Ok(nonce) = HeaderValue::from_str(&nonce)
    {
        headers.insert(DPOP_NONCE, nonce);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// The path of the server that a request asks for, from the server's name as it is
/// configured; none where no such server is there.
fn place(gateway: &Gateway, path: &str) -> Option<String> {
    let rest = path.strip_prefix("/mcp")?;
    if rest.is_empty() {
        return gateway.server(None).map(|_| "/mcp".to_owned());
    }
    let server = gateway.server(Some(rest.strip_prefix('/')?))?;
    Some(format!("/mcp/{}", server.name))
}

/// Protected-resource metadata of a server that is there.
pub(super) fn metadata(gateway: &Gateway, server: Option<&str>) -> Response {
    let path = server.map_or("/mcp".to_owned(), |name| format!("/mcp/{name}"));
    match (gateway.identities.resource(), gateway.server(server)) {
        (Some(resource), Some(_)) => (
            [(header::CONTENT_TYPE, "application/json")],
            resource.metadata(&path),
        )
            .into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
