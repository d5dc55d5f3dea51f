//! Reading the response to one request: JSON, or an event stream.
//!
//! What it means is decided by the table of `countersign_mcp::outcome`; only a
//! message that the strict reader takes, under the id of our request, counts.

use countersign_evidence::Agent;
use countersign_mcp::incoming;
use countersign_mcp::outcome::{self, Body, Reading};
use countersign_mcp::sse::{Event, Parser};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::Inner;
use super::connect::Response;
use super::session::Session;
use crate::delivery::Line;
use crate::upstream::asked::Asked;
use crate::upstream::conversation::{Around, Step, step};
use crate::upstream::{Read, Reason, Signals};
use crate::whole::{self, Broken};

/// One message, and one event's data, in bytes.
pub(super) const MOST_BYTES: usize = 10_485_760;
/// A body that nobody needs is read to its end up to this, to keep the
/// connection.
const MOST_DISCARDED: usize = 65_536;

/// The request whose response is read.
pub(super) struct Open<'o> {
    pub(super) id: u64,
    pub(super) agent: &'o Agent,
    pub(super) line: Option<&'o Line>,
    pub(super) signals: &'o Signals,
    /// Where answers to the upstream's own requests go.
    pub(super) back: Option<(&'o Inner, &'o Session)>,
}

impl<'o> Open<'o> {
    fn around(&self) -> Around<'o> {
        Around {
            agent: self.agent,
            ours: Some(self.id),
            line: self.line,
            signals: self.signals,
        }
    }
}

/// What a response came to.
pub(super) enum Received<T> {
    Answer(T),
    Nothing { reason: Reason, received: bool },
}

/// What of a response is still to be read, after which its connection can carry
/// another request.
pub(super) enum Rest {
    Nothing,
    /// A stream that has given its answer.
    Stream(Incoming),
    /// It is not read any further: the connection ends.
    Dropped,
}

impl<T> Received<T> {
    fn nothing(reason: Reason, received: bool, whole: bool) -> (Self, Rest) {
        let rest = if whole { Rest::Nothing } else { Rest::Dropped };
        (Self::Nothing { reason, received }, rest)
    }
}

pub(super) async fn answer<T: Send>(
    response: Response,
    open: &Open<'_>,
    read: impl Read<T>,
) -> (Received<T>, Rest) {
    let (head, body) = response.into_parts();
    let kind = head
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = kind
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim();
    if head.headers.contains_key(http::header::CONTENT_ENCODING) {
        return Received::nothing(Reason::Unreadable, true, false);
    }
    if kind.eq_ignore_ascii_case("application/json") {
        json(head.status, body, open, read).await
    } else if kind.eq_ignore_ascii_case("text/event-stream") && head.status == StatusCode::OK {
        events(body, open, read).await
    } else {
        let whole = drain(body).await;
        Received::nothing(Reason::Status, true, whole)
    }
}

/// Reads a response that has no answer.
pub(super) async fn discard(response: Response) -> Rest {
    if drain(response.into_body()).await {
        Rest::Nothing
    } else {
        Rest::Dropped
    }
}

/// Reads what nobody needs; says whether the connection is free.
pub(super) async fn drain(body: Incoming) -> bool {
    whole::discard(body, MOST_DISCARDED).await
}

async fn json<T: Send>(
    status: StatusCode,
    body: Incoming,
    open: &Open<'_>,
    read: impl Read<T>,
) -> (Received<T>, Rest) {
    let bytes = match whole::read(body, MOST_BYTES).await {
        Ok(bytes) => bytes,
        Err(Broken::TooLarge) => return Received::nothing(Reason::TooLarge, true, false),
        Err(Broken::Closed) => return Received::nothing(Reason::Closed, true, false),
    };
    let Ok(document) = incoming::read(&bytes) else {
        return Received::nothing(Reason::Unreadable, true, true);
    };
    let Ok(message) = incoming::message(&document) else {
        return Received::nothing(Reason::Unreadable, true, true);
    };
    let Step::Answer(answer) = step(message, open.around()) else {
        return Received::nothing(Reason::NoAnswer, true, true);
    };
    let body = if answer.is_ok() {
        Body::Result
    } else {
        Body::Error
    };
    if outcome::reading(status, body) == Reading::Unknown {
        return Received::nothing(Reason::Status, true, true);
    }
    match read(answer) {
        Some(value) => (Received::Answer(value), Rest::Nothing),
        None => Received::nothing(Reason::Unreadable, true, true),
    }
}

async fn events<T: Send>(
    body: Incoming,
    open: &Open<'_>,
    read: impl Read<T>,
) -> (Received<T>, Rest) {
    let mut body = body;
    let mut parser = Parser::new(MOST_BYTES);
    let mut read = Some(read);
    let mut ready: Vec<Event> = Vec::new();
    let mut asked = Asked::default();
    loop {
        let frame = tokio::select! {
            // What was told comes before what is asked next.
            biased;
            frame = body.frame() => frame,
            answer = asked.next() => {
                if let Some((http, session)) = open.back {
                    http.respond(session, answer).await;
                }
                continue;
            }
        };
        let chunk = match frame {
            None => return Received::nothing(Reason::NoAnswer, false, true),
            Some(Err(_)) => return Received::nothing(Reason::Closed, false, false),
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        let overflow = parser.push(&chunk, &mut ready).is_err();
        for event in ready.drain(..) {
            // An event without data primes a stream that could be resumed.
            if event.data.is_empty() {
                continue;
            }
            let mut back = None;
            {
                let Ok(document) = incoming::read(&event.data) else {
                    return Received::nothing(Reason::Unreadable, true, false);
                };
                let Ok(message) = incoming::message(&document) else {
                    return Received::nothing(Reason::Unreadable, true, false);
                };
                match step(message, open.around()) {
                    Step::GoOn => {}
                    Step::Respond(body) => back = Some(body),
                    Step::Asked(id, pending, line) => {
                        asked.add(id.raw(), pending, line, std::future::pending());
                    }
                    Step::Withdrawn(id) => asked.withdraw(id.raw()),
                    Step::Answer(answer) => {
                        let value = read.take().and_then(|read| read(answer));
                        let Some(value) = value else {
                            return Received::nothing(Reason::Unreadable, true, false);
                        };
                        // The stream ends with its answer; what else it may
                        // say is for nobody.
                        return (Received::Answer(value), Rest::Stream(body));
                    }
                }
            }
            if let (Some(answer), Some((http, session))) = (back, open.back) {
                http.respond(session, answer).await;
            }
        }
        if overflow {
            return Received::nothing(Reason::TooLarge, true, false);
        }
    }
}
