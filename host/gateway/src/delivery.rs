//! What goes to the client of one request: the one place where its stream is
//! owned.
//!
//! The task that carries out a call holds the [`Outbox`], the HTTP response
//! the [`Inbox`]. A client that goes away drops its inbox; the call runs on,
//! settles, and leaves its entry all the same.

use std::future::Future as _;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use countersign_canon::document::Item;
use countersign_evidence::SessionId;
use countersign_mcp::asks::{Ask, Permitted, negotiated};
use countersign_mcp::{envelope, relay};
use http::StatusCode;
use tokio::sync::{mpsc, oneshot, watch};

use crate::bodies::Account;
use crate::queue::{Event, Held, Queue};
use crate::session::{Pending, Session};

/// The last answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The HTTP status, where the answer is not streamed.
    pub(crate) status: StatusCode,
    /// One JSON-RPC message.
    pub(crate) body: Bytes,
    /// Milliseconds after which trying again makes sense, for `Retry-After`.
    pub(crate) retry_after_ms: Option<u32>,
}

impl Reply {
    /// An answer that travels as HTTP 200.
    #[must_use]
    pub(crate) fn ok(body: impl Into<Bytes>) -> Self {
        Self {
            status: StatusCode::OK,
            body: body.into(),
            retry_after_ms: None,
        }
    }
}

/// The end that is written to.
#[derive(Debug)]
pub(crate) struct Outbox {
    events: Queue,
    last: oneshot::Sender<(Reply, Held)>,
    left: watch::Receiver<bool>,
}

/// The end that is read from.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Messages before the last one.
    pub(crate) events: mpsc::Receiver<Event>,
    /// The last one.
    pub(crate) last: oneshot::Receiver<(Reply, Held)>,
    _leaving: Leaving,
}

/// Says, when it is dropped, that nobody reads any more.
#[derive(Debug)]
struct Leaving(watch::Sender<bool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

/// The two ends of one request's delivery, to whom it is counted for.
#[must_use]
pub(crate) fn channel(account: Account) -> (Outbox, Inbox) {
    let (events, received) = Queue::new(account);
    let (last, answered) = oneshot::channel();
    let (leaving, left) = watch::channel(false);
    (
        Outbox { events, last, left },
        Inbox {
            events: received,
            last: answered,
            _leaving: Leaving(leaving),
        },
    )
}

impl Outbox {
    /// What its client is told before the last answer.
    #[must_use]
    pub(crate) fn line(&self) -> Line {
        Line {
            events: self.events.clone(),
            progress: None,
            messages: false,
            subscription: None,
            asking: None,
        }
    }

    /// Tells when its client has gone away.
    #[must_use]
    pub(crate) fn left(&self) -> Cancel {
        Cancel::of(self.left.clone())
    }

    /// Resolves once its client has gone away.
    pub(crate) async fn left_now(&self) {
        self.left().requested().await;
    }

    /// Sends an event; a client that reads too slowly misses it.
    pub(crate) fn tell(&self, event: Bytes) {
        self.events.put(event);
    }

    /// Sends no more events, whoever has a line.
    pub(crate) fn hush(&self) {
        self.events.close();
    }

    /// Gives the last answer; nobody may be there to take it. What the request
    /// holds is given up first, so that a client that has its answer may use
    /// the same id, and the place, at once.
    pub(crate) fn finish<Given>(self, reply: Reply, given: Given) {
        drop(given);
        let held = self.events.answer(reply.body.len());
        let _ = self.last.send((reply, held));
    }
}

/// Tells whether the caller of one request wants it no more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Vec<watch::Receiver<bool>>);

impl Cancel {
    /// What a session's record of its open request tells, or its client's
    /// stream.
    #[must_use]
    pub(crate) fn of(told: watch::Receiver<bool>) -> Self {
        Self(vec![told])
    }

    /// Either of them.
    #[must_use]
    pub(crate) fn or(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Resolves once the caller has cancelled; never where it cannot any more.
    pub(crate) async fn requested(&self) {
        let mut telling = self.0.clone();
        let mut told: Vec<_> = telling
            .iter_mut()
            .map(|told| Box::pin(said(told)))
            .collect();
        std::future::poll_fn(|cx| {
            let mut any = told.iter_mut().map(|told| told.as_mut().poll(cx));
            if any.any(|told| told.is_ready()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// Resolves once the caller has cancelled; never where nobody can tell any more.
async fn said(told: &mut watch::Receiver<bool>) {
    if told.wait_for(|told| *told).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What an upstream says during one request, on its way to that request's
/// client. A client that reads too slowly misses some.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    events: Queue,
    /// The client's progress token, in JSON.
    progress: Option<Arc<[u8]>>,
    messages: bool,
    /// The client's id of a subscription, in JSON.
    subscription: Option<Arc<[u8]>>,
    asking: Option<Asking>,
}

/// Who may be asked what.
#[derive(Clone, Debug)]
struct Asking {
    session: Arc<Session>,
    permitted: Arc<Permitted>,
}

impl Line {
    /// With progress under the client's token, in JSON.
    #[must_use]
    pub(crate) fn with_progress(mut self, token: Option<&[u8]>) -> Self {
        self.progress = token.map(Into::into);
        self
    }

    /// With log messages, or without.
    #[must_use]
    pub(crate) fn with_messages(mut self, messages: bool) -> Self {
        self.messages = messages;
        self
    }

    /// With the notifications of a subscription under the client's id of it.
    #[must_use]
    pub(crate) fn with_subscription(mut self, id: &[u8]) -> Self {
        self.subscription = Some(id.into());
        self
    }

    /// With what a server may ask of the client of a session.
    #[must_use]
    pub(crate) fn asking(mut self, session: &Arc<Session>, permitted: &Arc<Permitted>) -> Self {
        if !permitted.is_empty() {
            self.asking = Some(Asking {
                session: Arc::clone(session),
                permitted: Arc::clone(permitted),
            });
        }
        self
    }

    /// The session whose client may be asked something; none where nobody may.
    pub(crate) fn asks(&self) -> Option<&SessionId> {
        self.asking.as_ref().map(|asking| &asking.session.id)
    }

    /// Whether progress is wanted.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Sends progress; `others` are its members without the token.
    pub(crate) fn progress(&self, others: &[(String, Vec<u8>)]) {
        if let Some(token) = &self.progress {
            self.events.put(envelope::progress(token, others));
        }
    }

    /// Sends a log message, where those are wanted; says whether they are.
    pub(crate) fn message(&self, params: Option<Item<'_>>) -> bool {
        if self.messages {
            let note = relay::notification("notifications/message", params, None);
            self.events.put(note);
        }
        self.messages
    }

    /// Sends what a subscription brings; `ours` is the gateway's id of it. Says
    /// whether there is one.
    pub(crate) fn subscribed(&self, method: &str, params: Option<Item<'_>>, ours: u64) -> bool {
        if let Some(id) = &self.subscription {
            let note = relay::notification(method, params, Some((ours, id)));
            self.events.put(note);
        }
        self.subscription.is_some()
    }

    /// Asks the client. None where it may not be asked, or too much is asked of
    /// it already.
    pub(crate) fn ask(&self, ask: Ask, params: Option<Item<'_>>) -> Option<Pending> {
        let Asking { session, permitted } = self.asking.as_ref()?;
        if !permitted.has(ask) || !negotiated(&session.context, ask) {
            return None;
        }
        let pending = session.ask()?;
        let request = relay::request(pending.id(), ask.method(), params);
        self.events.put(request).then_some(pending)
    }

    /// Tells the client that an answer is not waited for any more.
    pub(crate) fn withdraw(&self, id: u64) {
        let params = format!("{{\"requestId\":{id}}}");
        let note = envelope::message(None, "notifications/cancelled", Some(params.as_bytes()));
        self.events.put(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{MOST_BYTES, MOST_EVENTS};

    /// Remembers whether the answer was there already when it was given up.
    struct Given<'a>(&'a mut Inbox, &'a mut Option<bool>);

    impl Drop for Given<'_> {
        fn drop(&mut self) {
            *self.1 = Some(self.0.last.try_recv().is_ok());
        }
    }

    fn account() -> Account {
        crate::bodies::Bodies::new(1 << 28).account(&crate::sample::agent("a"))
    }

    #[test]
    fn what_a_request_holds_is_free_before_its_client_has_the_answer() {
        let (outbox, mut inbox) = channel(account());
        let mut answered = None;
        outbox.finish(Reply::ok(Vec::new()), Given(&mut inbox, &mut answered));
        assert_eq!(answered, Some(false));
        assert!(inbox.last.try_recv().is_ok());
    }

    #[test]
    fn what_a_slow_client_misses_is_events_and_never_the_answer() {
        const MIB: usize = 1 << 20;
        // How many of which size are sent, and how many wait.
        for (size, wait) in [
            (0, MOST_EVENTS),
            (10_000, 209),
            (MIB, 2),
            (2 * MIB, 1),
            (2 * MIB + 1, 0),
            (9 * MIB, 0),
        ] {
            let (outbox, mut inbox) = channel(account());
            for _ in 0..2 * MOST_EVENTS {
                outbox.tell(vec![b'a'; size].into());
            }
            outbox.finish(Reply::ok(vec![b'b'; 9 * MIB]), ());
            let mut waiting = Vec::new();
            while let Ok(event) = inbox.events.try_recv() {
                waiting.push(event);
            }
            assert_eq!(waiting.len(), wait, "of {size} bytes");
            let (last, _) = inbox.last.try_recv().unwrap();
            assert_eq!(last.body.len(), 9 * MIB);
        }
    }

    #[test]
    fn what_all_requests_of_an_agent_hold_is_bounded_and_its_answers_are_counted() {
        let bodies = crate::bodies::Bodies::new(40 << 20);
        let account = bodies.account(&crate::sample::agent("a"));
        let requests: Vec<_> = (0..16).map(|_| channel(account.clone())).collect();
        for (outbox, _) in &requests {
            outbox.tell(vec![b'a'; MOST_BYTES].into());
        }
        let waiting = |(_, inbox): &(Outbox, Inbox)| inbox.events.len();
        assert_eq!(requests.iter().map(waiting).sum::<usize>(), 5);
        let mut inboxes = Vec::new();
        for (outbox, inbox) in requests {
            outbox.finish(Reply::ok(vec![b'b'; 1 << 20]), ());
            inboxes.push(inbox);
        }
        assert!(account.is_full());
        drop(inboxes);
        assert!(!account.is_full() && account.take(10 << 20).is_some());
    }

    #[tokio::test]
    async fn one_that_tells_nothing_any_more_has_not_cancelled() {
        let (tell, told) = watch::channel(false);
        let (leaving, left) = watch::channel(false);
        let cancel = Cancel::of(told).or(Cancel::of(left));
        drop(tell);
        let soon = std::time::Duration::from_millis(50);
        let requested = tokio::time::timeout(soon, cancel.requested());
        assert!(
            requested.await.is_err(),
            "its sender is gone, and that is all"
        );
        leaving.send_replace(true);
        cancel.requested().await;
    }
}
