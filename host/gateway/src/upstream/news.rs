//! What an upstream tells apart from any request: for the streams that clients
//! hold open for it.
//!
//! News of one agent's upstream session goes to that agent alone. That the list
//! of tools has changed concerns everybody, since there is one catalog; the
//! gateway says so itself, once what it shows is another list.

use std::sync::Arc;

use bytes::Bytes;
use countersign_canon::document::Item;
use countersign_evidence::Agent;
use countersign_mcp::relay;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::queue::MOST_BYTES;

/// News that may wait for a slow stream; more are lost to it.
const MOST_WAITING: usize = 256;
/// Their bytes. Streams take what there is at once, so that it is rarely much.
const MOST_WAITING_BYTES: usize = 16_777_216;

/// Something that an upstream told.
#[derive(Debug)]
pub(crate) struct News {
    /// Whom it concerns; none for everybody.
    pub(crate) agent: Option<Agent>,
    /// What it is about.
    pub(crate) topic: Topic,
    /// The notification, as its client gets it.
    pub(crate) body: Bytes,
    _room: OwnedSemaphorePermit,
}

/// What news are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// The list of tools.
    Tools,
    /// The list of resources.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The resource with that URI.
    Resource(String),
    /// The server's log.
    Log,
    /// An elicitation that goes on outside the protocol.
    Elicitation,
}

impl Topic {
    /// What a notification is about; none for one that means nothing here.
    pub(super) fn of(method: Item<'_>, params: Option<Item<'_>>) -> Option<Self> {
        Some(match method.text()?.as_ref() {
            "notifications/tools/list_changed" => Self::Tools,
            "notifications/resources/list_changed" => Self::Resources,
            "notifications/prompts/list_changed" => Self::Prompts,
            "notifications/resources/updated" => {
                Self::Resource(params?.get("uri")?.text()?.into_owned())
            }
            "notifications/message" => Self::Log,
            "notifications/elicitation/complete" => Self::Elicitation,
            _ => return None,
        })
    }

    /// The notification's method.
    pub(super) const fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
            Self::Log => "notifications/message",
            Self::Elicitation => "notifications/elicitation/complete",
        }
    }
}

/// Where news go.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    news: broadcast::Sender<Arc<News>>,
    left: Arc<Semaphore>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            news: broadcast::channel(MOST_WAITING).0,
            left: Arc::new(Semaphore::new(MOST_WAITING_BYTES)),
        }
    }
}

impl Desk {
    /// Hears of what comes from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<News>> {
        self.news.subscribe()
    }

    /// Tells whoever listens for an agent.
    pub(super) fn tell(&self, agent: &Agent, topic: Topic, params: Option<Item<'_>>) {
        self.send(Some(agent.clone()), topic, params);
    }

    /// Tells everybody that the list of tools is another one.
    pub(super) fn tell_of_tools(&self) {
        self.send(None, Topic::Tools, None);
    }

    fn send(&self, agent: Option<Agent>, topic: Topic, params: Option<Item<'_>>) {
        let body = relay::notification(topic.method(), params, None);
        if body.len() > MOST_BYTES {
            // No stream takes it, and so it does not wait for any.
            return;
        }
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.left).try_acquire_many_owned(bytes) else {
            return;
        };
        // Nobody may be listening.
        let _ = self.news.send(Arc::new(News {
            agent,
            topic,
            body: body.into(),
            _room: room,
        }));
    }
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Document, Limits};

    use super::*;

    #[test]
    fn so_many_news_wait_for_a_slow_stream_and_what_is_more_is_lost_to_it() {
        const MIB: usize = 1 << 20;
        // What is told, and how much of it waits.
        for (bytes, wait) in [(0, MOST_WAITING), (MIB, 15), (9 * MIB, 0)] {
            let (desk, agent) = (Desk::default(), crate::sample::agent("a"));
            let mut slow = desk.listen();
            let text = format!("\"{}\"", "a".repeat(bytes));
            let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
            for _ in 0..=MOST_WAITING {
                desk.tell(&agent, Topic::Log, Some(document.root()));
            }
            let mut waiting = Vec::new();
            for _ in 0..2 * MOST_WAITING {
                waiting.extend(slow.try_recv());
            }
            assert_eq!(waiting.len(), wait, "of {bytes} bytes");
            assert!(
                waiting
                    .iter()
                    .all(|news| news.agent.as_ref() == Some(&agent))
            );
            // Whoever is done with them makes room for more.
            drop(waiting);
            desk.tell(&agent, Topic::Log, None);
            assert!(slow.try_recv().is_ok());
        }
    }
}
