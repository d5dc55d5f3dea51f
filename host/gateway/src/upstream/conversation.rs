//! What a message from an upstream means while one request of ours is open.
//!
//! Both transports ask here, so that they cannot answer differently.

use std::sync::atomic::Ordering;

use countersign_canon::document::{Item, Kind};
use countersign_mcp::envelope;
use countersign_mcp::incoming::{self, Incoming, Unreadable};

use super::Signals;
use crate::delivery::Progress;

/// What to do with a message.
pub(super) enum Step<'d> {
    /// It answers our request.
    Answer(Result<Item<'d>, Item<'d>>),
    /// The upstream asked something: this goes back.
    Respond(Vec<u8>),
    /// It was for somebody else, or is done with.
    GoOn,
}

/// Says what to do with a message. `ours` is the id of the open request, where
/// there is one on this stream.
pub(super) fn step<'d>(
    incoming: Incoming<'d>,
    ours: Option<u64>,
    progress: Option<&Progress>,
    signals: &Signals,
) -> Step<'d> {
    match incoming {
        Incoming::Reply { id, answer } => {
            if ours.is_some_and(|ours| incoming::is_ours(id, ours)) {
                return Step::Answer(answer);
            }
            tracing::warn!("an upstream answered a request that is not open; dropped");
            Step::GoOn
        }
        Incoming::Request { id, method } if method.is_text("ping") => {
            Step::Respond(envelope::empty_result(id.raw()))
        }
        // Nothing was offered that it could ask for.
        Incoming::Request { id, .. } => Step::Respond(envelope::not_supported(id.raw())),
        Incoming::Notification { method, params } => {
            if method.is_text("notifications/progress") {
                if let (Some(progress), Some(params), Some(ours)) = (progress, params, ours) {
                    forward(progress, params, ours);
                }
            } else if method.is_text("notifications/tools/list_changed") {
                signals.tools_changed.store(true, Ordering::SeqCst);
            }
            Step::GoOn
        }
    }
}

/// Reads the id of a reply, so that a transport with one stream for all
/// requests can find the one who waits.
pub(super) fn reply_to(bytes: &[u8]) -> Result<Option<u64>, Unreadable> {
    let document = incoming::read(bytes)?;
    Ok(match incoming::message(&document)? {
        Incoming::Reply { id, .. } => id
            .and_then(Item::integer)
            .and_then(|id| u64::try_from(id).ok()),
        // The token of progress is the id of the request that it is about.
        Incoming::Notification { method, params } if method.is_text("notifications/progress") => {
            params.and_then(token)
        }
        _ => None,
    })
}

fn token(params: Item<'_>) -> Option<u64> {
    u64::try_from(params.get("progressToken")?.integer()?).ok()
}

/// Progress goes to the client under the client's own token.
fn forward(progress: &Progress, params: Item<'_>, ours: u64) {
    if params.kind() != Kind::Object || token(params) != Some(ours) {
        return;
    }
    let others: Vec<(String, Vec<u8>)> = params
        .children()
        .filter(|member| member.name() != Some("progressToken"))
        .map(|member| {
            (
                member.name().unwrap_or_default().to_owned(),
                member.raw().to_vec(),
            )
        })
        .collect();
    progress.send(&others);
}
