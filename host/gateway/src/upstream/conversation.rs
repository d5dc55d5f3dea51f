//! What a message from an upstream means while one request of ours is open.
//!
//! Both transports ask here, so that they cannot answer differently.

use std::sync::atomic::Ordering;

use countersign_canon::document::{Item, Kind};
use countersign_evidence::Agent;
use countersign_mcp::asks::Ask;
use countersign_mcp::envelope;
use countersign_mcp::incoming::{self, Incoming, Unreadable};

use super::Signals;
use super::news::Topic;
use crate::delivery::Line;
use crate::session::Pending;

/// What to do with a message.
pub(super) enum Step<'d> {
    /// It answers our request.
    Answer(Result<Item<'d>, Item<'d>>),
    /// The upstream asked something: this goes back.
    Respond(Vec<u8>),
    /// The upstream asked something of the client, under its own id and on that
    /// line: the answer is awaited.
    Asked(Item<'d>, Pending, Line),
    /// The upstream wants no answer any more to what it asked under that id.
    Withdrawn(Item<'d>),
    /// It was for somebody else, or is done with.
    GoOn,
}

/// The request that is open where a message came from, and its client.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// Whose session or process it is.
    pub(super) agent: &'a Agent,
    /// The id of the open request, where there is one on this stream.
    pub(super) ours: Option<u64>,
    pub(super) line: Option<&'a Line>,
    pub(super) signals: &'a Signals,
}

/// Says what to do with a message.
pub(super) fn step<'d>(incoming: Incoming<'d>, around: Around<'_>) -> Step<'d> {
    match incoming {
        Incoming::Reply { id, answer } => {
            if around.ours.is_some_and(|ours| incoming::is_ours(id, ours)) {
                return Step::Answer(answer);
            }
            tracing::warn!("an upstream answered a request that is not open; dropped");
            Step::GoOn
        }
        Incoming::Request { id, method, .. } if method.is_text("ping") => {
            Step::Respond(envelope::empty_result(id.raw()))
        }
        Incoming::Request { id, method, params } => {
            let asked = Ask::of(method).zip(around.line);
            let pending = asked.and_then(|(ask, line)| Some((line.ask(ask, params)?, line)));
            match pending {
                Some((pending, line)) => Step::Asked(id, pending, line.clone()),
                // Nothing else was offered that it could ask for.
                None => Step::Respond(envelope::not_supported(id.raw())),
            }
        }
        Incoming::Notification { method, params } => note(method, params, around),
    }
}

fn note<'d>(method: Item<'d>, params: Option<Item<'d>>, around: Around<'_>) -> Step<'d> {
    let Around {
        agent,
        ours,
        line,
        signals,
    } = around;
    if method.is_text("notifications/progress") {
        if let (Some(line), Some(params), Some(ours)) = (line, params, ours) {
            forward(line, params, ours);
        }
        return Step::GoOn;
    }
    if method.is_text("notifications/cancelled") {
        let id = params.and_then(|params| params.get("requestId"));
        return id.map_or(Step::GoOn, Step::Withdrawn);
    }
    if method.is_text("notifications/subscriptions/acknowledged") {
        if let (Some(line), Some(ours)) = (line, ours) {
            line.subscribed("notifications/subscriptions/acknowledged", params, ours);
        }
        return Step::GoOn;
    }
    let Some(topic) = Topic::of(method, params) else {
        return Step::GoOn;
    };
    if topic == Topic::Tools {
        signals.tools_changed.fetch_add(1, Ordering::SeqCst);
    }
    let taken = match (line, ours) {
        (Some(line), _) if topic == Topic::Log => line.message(params),
        (Some(line), Some(ours)) => line.subscribed(topic.method(), params, ours),
        _ => false,
    };
    // That tools may have changed is looked into, and told once where it is so.
    if !taken && topic != Topic::Tools {
        signals.news.tell(agent, topic, params);
    }
    Step::GoOn
}

/// The request that a message is about, so that a transport with one stream for
/// all requests can find the one who waits.
pub(super) fn about(bytes: &[u8]) -> Result<Option<u64>, Unreadable> {
    let document = incoming::read(bytes)?;
    let number = |item: Item<'_>| item.integer().and_then(|id| u64::try_from(id).ok());
    Ok(match incoming::message(&document)? {
        Incoming::Reply { id, .. } => id.and_then(number),
        // The token of progress is the id of the request that it is about, and
        // so is the id of a subscription.
        Incoming::Notification { method, params } if method.is_text("notifications/progress") => {
            params.and_then(token)
        }
        Incoming::Notification { params, .. } => params
            .and_then(|params| params.get("_meta")?.get(SUBSCRIPTION))
            .and_then(number),
        Incoming::Request { .. } => None,
    })
}

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn token(params: Item<'_>) -> Option<u64> {
    u64::try_from(params.get("progressToken")?.integer()?).ok()
}

/// Progress goes to the client under the client's own token.
fn forward(line: &Line, params: Item<'_>, ours: u64) {
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
    line.progress(&others);
}
