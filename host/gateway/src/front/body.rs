//! The bytes of a message, exactly as they arrived.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use countersign_canon::{Code, Limits, Refusal};
use countersign_mcp::{ErrorCode, Problem};
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;

use crate::bodies::Room;
use crate::pipeline::overloaded;

/// Whether the headers say that the body is plain JSON in UTF-8.
pub(super) fn is_plain_json(headers: &HeaderMap) -> bool {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return false;
    }
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return false;
    };
    let mut parts = kind.to_str().unwrap_or_default().split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    json && parts.all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        !name.trim().eq_ignore_ascii_case("charset")
            || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    })
}

/// Reads a body whole, in the room that is left for bodies.
///
/// # Errors
/// `limit` beyond what a message may have; `overloaded` where there is no more room;
/// `body-unreadable` where it breaks off or takes longer than `timeout`.
pub(super) async fn read(body: Body, room: Room, timeout: Duration) -> Result<Bytes, Box<Problem>> {
    let unreadable = || Box::new(Problem::new(ErrorCode::BodyUnreadable));
    tokio::time::timeout(timeout, collect(body, room))
        .await
        .unwrap_or_else(|_| Err(unreadable()))
}

async fn collect(mut body: Body, mut room: Room) -> Result<Bytes, Box<Problem>> {
    let most = Limits::STANDARD.message_bytes;
    let too_large = || {
        // What any profile would say of it, without asking one.
        let offset = most.saturating_add(1);
        Problem::not_admitted(Refusal {
            code: Code::Limit,
            pointer: String::new(),
            offset,
        })
    };
    let mut first: Option<Bytes> = None;
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(ErrorCode::BodyUnreadable))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let held = whole.len() + first.as_ref().map_or(0, Bytes::len);
        if held + data.len() > usize::try_from(most).unwrap_or(usize::MAX) {
            return Err(Box::new(too_large()));
        }
        if !room.take(data.len()) {
            return Err(Box::new(overloaded()));
        }
        // A message that comes in one piece is not copied.
        match first.take() {
            None if whole.is_empty() => first = Some(data),
            None => whole.extend_from_slice(&data),
            Some(earlier) => {
                whole.extend_from_slice(&earlier);
                whole.extend_from_slice(&data);
            }
        }
    }
    Ok(room.keep(first.unwrap_or_else(|| whole.freeze())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unencoded_json_in_utf_8_is_taken() {
        for (kind, encoding, taken) in [
            (Some("application/json"), None, true),
            (Some("Application/JSON; charset=UTF-8"), None, true),
            (Some("application/json; charset=\"utf-8\"; x=y"), None, true),
            (Some("application/json; charset=utf-16"), None, false),
            (Some("application/json; charset"), None, false),
            (Some("text/plain"), None, false),
            (Some("application/json-patch+json"), None, false),
            (None, None, false),
            (Some("application/json"), Some("gzip"), false),
            (Some("application/json"), Some("identity"), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(kind) = kind {
                headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
            }
            if let Some(encoding) = encoding {
                headers.insert(header::CONTENT_ENCODING, encoding.parse().unwrap());
            }
            assert_eq!(is_plain_json(&headers), taken, "{kind:?} {encoding:?}");
        }
    }
}
