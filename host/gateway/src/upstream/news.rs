//! What an upstream tells apart from any request: for the streams that clients
//! hold open for it.
//!
//! News of one agent's upstream session goes to that agent alone. That the list
//! of tools has changed concerns everybody, since there is one catalog; the
//! gateway says so itself, once what it shows is another list.

use std::sync::Arc;

use countersign_canon::document::Item;
use countersign_evidence::Agent;
use countersign_mcp::relay;
use tokio::sync::broadcast;

/// News that may wait for a slow stream; more are lost to it.
const MOST_WAITING: usize = 256;

/// Something that an upstream told.
#[derive(Debug)]
pub(crate) struct News {
    /// Whom it concerns; none for everybody.
    pub(crate) agent: Option<Agent>,
    /// What it is about.
    pub(crate) topic: Topic,
    /// The notification, as its client gets it.
    pub(crate) body: Vec<u8>,
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
pub(crate) struct Desk(broadcast::Sender<Arc<News>>);

impl Default for Desk {
    fn default() -> Self {
        Self(broadcast::channel(MOST_WAITING).0)
    }
}

impl Desk {
    /// Hears of what comes from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<News>> {
        self.0.subscribe()
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
        // Nobody may be listening.
        let _ = self.0.send(Arc::new(News { agent, topic, body }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_news_wait_for_a_slow_stream_and_the_older_ones_are_lost_to_it() {
        let (desk, agent) = (
            Desk::default(),
            Agent {
                method: "token".to_owned(),
                issuer: String::new(),
                subject: "a".to_owned(),
            },
        );
        let mut slow = desk.listen();
        for _ in 0..=MOST_WAITING {
            desk.tell(&agent, Topic::Log, None);
        }
        assert!(slow.try_recv().is_err(), "some are lost");
        assert_eq!(slow.len(), MOST_WAITING);
        assert_eq!(
            slow.try_recv().unwrap().agent,
            Some(agent),
            "and are its own"
        );
    }
}
