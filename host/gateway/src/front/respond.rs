//! An answer as HTTP: one JSON document, or a stream of events.
//!
//! JSON where the answer is there before anything else has to be said; a
//! stream where progress comes first, or the answer lets itself be waited for.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use countersign_mcp::{Problem, sse};
use http::{HeaderValue, StatusCode, header};
use hyper::body::Frame;
use tokio::time::{Interval, MissedTickBehavior};

use super::UNSTATED;
use super::accept::Accepts;
use crate::bodies::Account;
use crate::delivery::{Inbox, Reply};
use crate::queue::{Event, Held};

/// An answer that takes longer is streamed, so that the client sees headers.
const PATIENCE: Duration = Duration::from_millis(500);
/// A comment keeps a quiet stream open this often.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A problem without an id, from before any message was read.
pub(super) fn problem(problem: &Problem) -> Response {
    reply(Reply {
        status: problem.code().status(UNSTATED),
        body: problem.response(None).into(),
        retry_after_ms: problem.retry_after_ms,
    })
}

/// One JSON document.
pub(super) fn reply(reply: Reply) -> Response {
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(ms) = reply.retry_after_ms {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
    }
    response
}

/// The same, counted for an agent until it is taken.
pub(super) fn counted(account: &Account, answer: Reply) -> Response {
    let room = account.add(answer.body.len());
    reply(Reply {
        body: room.keep(answer.body),
        ..answer
    })
}

/// Says that a message was taken and has no answer.
pub(super) fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Delivers what a call's task sends.
pub(super) async fn deliver(mut inbox: Inbox, accepts: Accepts) -> Response {
    if !accepts.events {
        return match inbox.last.await {
            Ok(last) => whole(last),
            Err(_) => broken(),
        };
    }
    let first = tokio::select! {
        biased;
        last = &mut inbox.last, if accepts.json => {
            return last.map_or_else(|_| broken(), whole);
        }
        Some(event) = inbox.events.recv() => Some(event),
        () = tokio::time::sleep(PATIENCE) => None,
    };
    events(Events::new(inbox, first))
}

fn whole((last, held): (Reply, Held)) -> Response {
    let body = held.keep(last.body.into());
    reply(Reply { body, ..last })
}

/// A stream that begins at once.
pub(super) fn stream(inbox: Inbox) -> Response {
    events(Events::new(inbox, None))
}

fn events(events: Events) -> Response {
    let mut response = Response::new(Body::new(events));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The task ended without an answer, which it never does unless it panicked.
fn broken() -> Response {
    problem(&Problem::new(countersign_mcp::ErrorCode::Internal))
}

/// The stream of one request: progress, heartbeats, and the last answer.
struct Events {
    inbox: Option<Inbox>,
    first: Option<Event>,
    heartbeat: Interval,
}

impl Events {
    fn new(inbox: Inbox, first: Option<Event>) -> Self {
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        heartbeat.reset();
        Self {
            inbox: Some(inbox),
            first,
            heartbeat,
        }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(framed(&first.body, first.held)));
        }
        let Some(inbox) = &mut self.inbox else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(Some(event)) = inbox.events.poll_recv(cx) {
            return Poll::Ready(Some(framed(&event.body, event.held)));
        }
        if let Poll::Ready(last) = Pin::new(&mut inbox.last).poll(cx) {
            self.inbox = None;
            let Ok((last, held)) = last else {
                return Poll::Ready(None);
            };
            return Poll::Ready(Some(framed(&last.body, held)));
        }
        ready!(self.heartbeat.poll_tick(cx));
        let mut out = Vec::new();
        sse::comment(&mut out);
        Poll::Ready(Some(out.into()))
    }
}

/// A message as an event, counted until it is written.
fn framed(body: &[u8], held: Held) -> Bytes {
    let mut out = Vec::new();
    sse::event(&mut out, None, body);
    held.keep(out)
}

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.next(cx)
            .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
