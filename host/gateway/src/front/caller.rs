//! Who sent a request, or the answer that tells what is missing.
//!
//! A request that nobody is known to have sent leaves no entry, so that nobody
//! can fill the log from outside; it is counted instead.

use axum::response::{IntoResponse as _, Response};
use countersign_identity::{Principal, Refusal};
use countersign_mcp::{ErrorCode, Problem};
use http::{HeaderName, HeaderValue, StatusCode, header};

use super::respond;
use crate::identity::{Request, challenge};
use crate::state::Gateway;

const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The authenticated caller, or what to answer instead.
pub(super) async fn authenticate(
    gateway: &Gateway,
    request: Request<'_>,
) -> Result<Principal, Box<Response>> {
    let identities = &gateway.identities;
    match identities
        .authenticate(&request, &gateway.environment)
        .await
    {
        Ok(principal) => Ok(principal),
        Err(refusal) => {
            gateway.telemetry.metrics.unauthenticated(refusal);
            tracing::debug!(path = request.path, "not authenticated: {refusal}");
            Err(Box::new(refused(gateway, refusal, request.path)))
        }
    }
}

fn refused(gateway: &Gateway, refusal: Refusal, path: &str) -> Response {
    let code = ErrorCode::parse(refusal.code()).unwrap_or(ErrorCode::Unauthenticated);
    let mut problem = Problem::new(code);
    if matches!(refusal, Refusal::KeysUnavailable | Refusal::ProofRate) {
        problem.retry_after_ms = Some(10_000);
    }
    let mut response = respond::problem(&problem);
    let headers = response.headers_mut();
    for value in challenge(&gateway.identities, refusal, path) {
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
