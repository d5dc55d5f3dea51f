//! The guard before everything else: the rules are those of
//! `countersign_mcp::guard`, the answers are given here.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use countersign_mcp::Problem;
use countersign_mcp::guard::{Allowed, framing};
use http::header;

use super::respond;

/// Refuses requests under other names, before anything else looks at them.
pub(super) async fn check(
    State(allowed): State<Arc<Allowed>>,
    request: Request,
    next: Next,
) -> Response {
    let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let judged =
        framing(request.headers()).and_then(|()| allowed.judge(request.uri(), request.headers()));
    let mut response = match judged {
        Ok(()) => next.run(request).await,
        Err(code) => respond::problem(&Problem::new(code)),
    };
    if chunked {
        // A length that stood behind it was dropped before we see it. Should a
        // proxy have gone by that, nothing more is read on this connection
        // (RFC 9112 §6.1).
        let close = http::HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}
