//! What a server may ask of its client: sampling, elicitation, roots.
//!
//! With sessions it asks by a request on the stream of a client's own request;
//! since 2026-07-28 by an `input_required` result. Either way only what an
//! operator permits is announced upstream as a capability of the client.

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits};
use thiserror::Error;

use crate::client::CAPABILITIES;
use crate::json::Object;

/// One thing that a server may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the protocol's own words")]
pub enum Ask {
    Sampling,
    Elicitation,
    Roots,
}

impl Ask {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sampling, Self::Elicitation, Self::Roots];

    /// The method by which it is asked.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Sampling => "sampling/createMessage",
            Self::Elicitation => "elicitation/create",
            Self::Roots => "roots/list",
        }
    }

    /// The capability of a client that answers it.
    #[must_use]
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
        }
    }

    /// What is asked by a method; none where it is something else.
    #[must_use]
    pub fn of(method: Item<'_>) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|ask| method.is_text(ask.method()))
    }
}

/// What an operator lets one server ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permitted(Vec<Ask>);

/// A text that names no request of a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is nothing that a server asks of a client")]
pub struct UnknownAsk(String);

impl Permitted {
    /// What these methods ask for.
    ///
    /// # Errors
    /// [`UnknownAsk`] for a text that is no such method.
    pub fn of<'t>(methods: impl IntoIterator<Item = &'t str>) -> Result<Self, UnknownAsk> {
        let of = |text: &str| {
            let found = Ask::ALL.into_iter().find(|ask| ask.method() == text);
            found.ok_or_else(|| UnknownAsk(text.to_owned()))
        };
        Ok(Self(methods.into_iter().map(of).collect::<Result<_, _>>()?))
    }

    /// Whether it is permitted.
    #[must_use]
    pub fn has(&self, ask: Ask) -> bool {
        self.0.contains(&ask)
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The capabilities with which the gateway greets an upstream: those of
    /// whichever client may come.
    #[must_use]
    pub fn capabilities(&self) -> Vec<u8> {
        let mut all = Object::new();
        for ask in Ask::ALL.into_iter().filter(|ask| self.has(*ask)) {
            all = all.raw(ask.capability(), b"{}");
        }
        all.finish()
    }

    /// The capabilities of one client, from its canonical context, as far as
    /// they are permitted.
    #[must_use]
    pub fn of_client(&self, context: &[u8]) -> Vec<u8> {
        let document = Document::read(context, Limits::STANDARD).ok();
        let announced = document
            .as_ref()
            .and_then(|document| document.root().get(CAPABILITIES));
        let mut all = Object::new();
        for ask in Ask::ALL.into_iter().filter(|ask| self.has(*ask)) {
            if let Some(item) = announced.and_then(|caps| caps.get(ask.capability())) {
                all = all.raw(ask.capability(), item.raw());
            }
        }
        all.finish()
    }
}

/// Whether a client said, in its canonical context, that it answers this.
#[must_use]
pub fn negotiated(context: &[u8], ask: Ask) -> bool {
    let Ok(document) = Document::read(context, Limits::STANDARD) else {
        return false;
    };
    document
        .root()
        .get(CAPABILITIES)
        .and_then(|capabilities| capabilities.get(ask.capability()))
        .is_some_and(|item| item.kind() == Kind::Object)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &[u8] = br#"{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"roots":true,"sampling":{}}}"#;

    #[test]
    fn upstream_hears_of_the_clients_capabilities_that_are_permitted_and_of_no_other() {
        for (permitted, greeted, passed) in [
            (&[][..], "{}", "{}"),
            (
                &["elicitation/create"][..],
                r#"{"elicitation":{}}"#,
                r#"{"elicitation":{"form":{}}}"#,
            ),
            (
                &["roots/list", "sampling/createMessage"][..],
                r#"{"sampling":{},"roots":{}}"#,
                r#"{"sampling":{},"roots":true}"#,
            ),
        ] {
            let permitted = Permitted::of(permitted.iter().copied()).unwrap();
            assert_eq!(permitted.capabilities(), greeted.as_bytes());
            assert_eq!(permitted.of_client(CONTEXT), passed.as_bytes());
            assert_eq!(permitted.of_client(b"{}"), b"{}");
        }
        assert!(Permitted::of(["ping"]).is_err());
    }

    #[test]
    fn an_ask_is_known_by_its_method_and_by_no_other_text() {
        let text =
            r#"["sampling/createMessage","elicitation/create","roots/list","roots/List","ping",1]"#;
        let document = Document::read(text.as_bytes(), Limits::STANDARD).unwrap();
        let asks: Vec<_> = document.root().children().map(Ask::of).collect();
        let known = [Ask::Sampling, Ask::Elicitation, Ask::Roots].map(Some);
        assert_eq!(asks, [&known[..], &[None; 3]].concat());
        for ask in Ask::ALL {
            let permitted = Permitted::of([ask.method()]).unwrap();
            assert!(!permitted.is_empty());
            for other in Ask::ALL {
                assert_eq!(permitted.has(other), other == ask);
            }
        }
        assert!(Permitted::default().is_empty());
    }

    #[test]
    fn a_client_is_asked_only_what_it_said_that_it_answers() {
        assert!(negotiated(CONTEXT, Ask::Sampling));
        assert!(!negotiated(CONTEXT, Ask::Roots), "not an object");
        assert!(!negotiated(b"{}", Ask::Sampling));
    }
}
