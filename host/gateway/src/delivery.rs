//! What goes to the client of one request: the one place where its stream is
//! owned.
//!
//! The task that carries out a call holds the [`Outbox`], the HTTP response
//! the [`Inbox`]. A client that goes away drops its inbox; the call runs on,
//! settles, and leaves its entry all the same.

use std::sync::Arc;

use countersign_mcp::envelope;
use http::StatusCode;
use tokio::sync::{mpsc, oneshot, watch};

/// Events that may wait for a slow client; the last answer has a place of its
/// own.
const MOST_EVENTS: usize = 255;

/// The last answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The HTTP status, where the answer is not streamed.
    pub(crate) status: StatusCode,
    /// One JSON-RPC message.
    pub(crate) body: Vec<u8>,
    /// Milliseconds after which trying again makes sense, for `Retry-After`.
    pub(crate) retry_after_ms: Option<u32>,
}

impl Reply {
    /// An answer that travels as HTTP 200.
    #[must_use]
    pub(crate) fn ok(body: Vec<u8>) -> Self {
        Self {
            status: StatusCode::OK,
            body,
            retry_after_ms: None,
        }
    }
}

/// The end that is written to.
#[derive(Debug)]
pub(crate) struct Outbox {
    events: mpsc::Sender<Vec<u8>>,
    last: oneshot::Sender<Reply>,
}

/// The end that is read from.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Messages before the last one.
    pub(crate) events: mpsc::Receiver<Vec<u8>>,
    /// The last one.
    pub(crate) last: oneshot::Receiver<Reply>,
}

/// The two ends of one request's delivery.
#[must_use]
pub(crate) fn channel() -> (Outbox, Inbox) {
    let (events, received) = mpsc::channel(MOST_EVENTS);
    let (last, answered) = oneshot::channel();
    (
        Outbox { events, last },
        Inbox {
            events: received,
            last: answered,
        },
    )
}

impl Outbox {
    /// Where progress under the client's token goes. `token` is JSON.
    #[must_use]
    pub(crate) fn progress(&self, token: &[u8]) -> Progress {
        Progress {
            token: token.into(),
            events: self.events.clone(),
        }
    }

    /// Gives the last answer; nobody may be there to take it.
    pub(crate) fn finish(self, reply: Reply) {
        let _ = self.last.send(reply);
    }
}

/// Tells whether the caller of one request has cancelled it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Option<watch::Receiver<bool>>);

impl Cancel {
    /// What a session's record of its open request tells.
    #[must_use]
    pub(crate) fn of(told: watch::Receiver<bool>) -> Self {
        Self(Some(told))
    }

    /// Resolves once the caller has cancelled; never where it cannot any more.
    pub(crate) async fn requested(&self) {
        if let Some(told) = &self.0
            && told.clone().wait_for(|told| *told).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// Forwards progress to one client.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    token: Arc<[u8]>,
    events: mpsc::Sender<Vec<u8>>,
}

impl Progress {
    /// Sends what an upstream reports; `others` are its members without the
    /// token. A client that reads too slowly misses some.
    pub(crate) fn send(&self, others: &[(String, Vec<u8>)]) {
        let _ = self
            .events
            .try_send(envelope::progress(&self.token, others));
    }
}
