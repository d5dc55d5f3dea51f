//! What an upstream asked of a client while a request was open, and the answers
//! that are still awaited.
//!
//! They are given up when the request is answered, and where one stream serves
//! several, when none of the client's is open: it has then no stream any more on
//! which it would be asked.

use std::future::Future;

use countersign_mcp::{envelope, relay};
use tokio::task::{AbortHandle, JoinSet};

use crate::delivery::Line;
use crate::session::Pending;

/// The questions that are open.
#[derive(Debug, Default)]
pub(super) struct Asked {
    waiting: JoinSet<Vec<u8>>,
    open: Vec<Question>,
}

#[derive(Debug)]
struct Question {
    /// The upstream's id as it wrote it.
    id: Vec<u8>,
    /// The id under which the client was asked.
    ours: u64,
    /// Where it was asked.
    line: Line,
    waiting: AbortHandle,
}

impl Asked {
    /// Waits for a client's answer to what was asked under `id` on `line`, until
    /// `given_up`.
    pub(super) fn add(
        &mut self,
        id: &[u8],
        mut pending: Pending,
        line: Line,
        given_up: impl Future<Output = ()> + Send + 'static,
    ) {
        let (id, ours) = (id.to_vec(), pending.id());
        let back = id.clone();
        let waiting = self.waiting.spawn(async move {
            let answer = tokio::select! {
                answer = pending.answer() => answer,
                () = given_up => None,
            };
            match answer {
                Some(answer) => relay::answer(&back, &answer),
                // The client's session, or its request, has ended.
                None => envelope::not_supported(&back),
            }
        });
        self.open.retain(|question| !question.waiting.is_finished());
        self.open.push(Question {
            id,
            ours,
            line,
            waiting,
        });
    }

    /// Gives up what was asked under `id`, and says so to the client.
    pub(super) fn withdraw(&mut self, id: &[u8]) {
        let Some(at) = self.open.iter().position(|question| question.id == id) else {
            return;
        };
        let question = self.open.swap_remove(at);
        question.waiting.abort();
        question.line.withdraw(question.ours);
    }

    /// The next answer, as it goes back; waits for ever where nothing is open.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        loop {
            let joined = self.waiting.join_next().await;
            // What is over holds no session.
            self.open.retain(|question| !question.waiting.is_finished());
            match joined {
                Some(Ok(answer)) => return answer,
                // One that was withdrawn.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}
