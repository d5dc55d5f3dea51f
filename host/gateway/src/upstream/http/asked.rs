//! What an upstream asked of a client while a request was open, and the answers
//! that are still awaited.
//!
//! They are given up when the request is answered: whoever asked has then no
//! stream any more to wait on.

use countersign_mcp::{envelope, relay};
use tokio::task::{AbortHandle, JoinSet};

use crate::session::Pending;

/// The questions that are open.
#[derive(Debug, Default)]
pub(super) struct Asked {
    waiting: JoinSet<Vec<u8>>,
    /// The upstream's id as it wrote it, ours, and who waits.
    open: Vec<(Vec<u8>, u64, AbortHandle)>,
}

impl Asked {
    /// Waits for a client's answer to what was asked under `id`.
    pub(super) fn add(&mut self, id: &[u8], mut pending: Pending) {
        let (id, ours) = (id.to_vec(), pending.id());
        let back = id.clone();
        let waiting = self.waiting.spawn(async move {
            match pending.answer().await {
                Some(answer) => relay::answer(&back, &answer),
                // The client's session has ended.
                None => envelope::not_supported(&back),
            }
        });
        self.open.retain(|(_, _, waiting)| !waiting.is_finished());
        self.open.push((id, ours, waiting));
    }

    /// Gives up what was asked under `id`; answers the id under which the client
    /// was asked.
    pub(super) fn withdraw(&mut self, id: &[u8]) -> Option<u64> {
        let at = self.open.iter().position(|(open, ..)| open == id)?;
        let (_, ours, waiting) = self.open.swap_remove(at);
        waiting.abort();
        Some(ours)
    }

    /// The next answer, as it goes back; waits for ever where nothing is open.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        loop {
            match self.waiting.join_next().await {
                Some(Ok(answer)) => return answer,
                // One that was withdrawn.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}
