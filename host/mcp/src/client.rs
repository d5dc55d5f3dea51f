//! What a client says of itself: in `initialize`, or in each request's `_meta`.
//!
//! The client context is the canonical object that is digested and that policy
//! sees as `context.client`. With sessions it holds, under the names of the
//! modern revision, what was negotiated (`docs/spec/action-binding.md` §4).

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits};

use crate::Revision;
use crate::conformity::MessageFacts;
use crate::json::Object;

/// What the members of the modern `_meta` begin with.
pub const PREFIX: &str = "io.modelcontextprotocol/";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The member of `_meta` that asks for log messages.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const MEMBERS: [&str; 4] = [CAPABILITIES, INFO, LOG_LEVEL, VERSION];

/// What `initialize` settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialized {
    /// The revision that the session speaks.
    pub revision: Revision,
    /// The canonical client context.
    pub context: Vec<u8>,
}

/// Reads the canonical `params` of an `initialize` request; none where they
/// lack the version, the capabilities or the client's name for itself.
#[must_use]
pub fn initialize(params: &[u8]) -> Option<Initialized> {
    let document = Document::read(params, Limits::STANDARD).ok()?;
    let root = document.root();
    let revision = Revision::negotiate(&root.get("protocolVersion")?.text()?);
    let object = |name: &str| root.get(name).filter(|item| item.kind() == Kind::Object);
    let context = Object::new()
        .raw(CAPABILITIES, &object("capabilities")?.canonical())
        .raw(INFO, &object("clientInfo")?.canonical())
        .text(VERSION, revision.as_str())
        .finish();
    Some(Initialized { revision, context })
}

/// Where a request has the token under which it wants progress.
pub const PROGRESS_TOKEN: &str = "/params/_meta/progressToken";
/// A progress token is at most this many bytes, unescaped, as an id is.
const MOST_TOKEN_BYTES: usize = 256;

/// Whether a value is a progress token: a text or a number of at most 256 bytes.
/// It is repeated with all that is said of progress.
#[must_use]
pub fn is_progress_token(value: Item<'_>) -> bool {
    match value.kind() {
        Kind::Number => value.raw().len() <= MOST_TOKEN_BYTES,
        Kind::String => value
            .text()
            .is_some_and(|text| text.len() <= MOST_TOKEN_BYTES),
        _ => false,
    }
}

/// A canonical client context with this log level, in JSON, in the place of its
/// own; as it is where it is no object.
#[must_use]
pub fn with_log_level(context: &[u8], level: &[u8]) -> Vec<u8> {
    let Ok(document) = Document::read(context, Limits::STANDARD) else {
        return context.to_vec();
    };
    let mut out = Object::new();
    for name in MEMBERS {
        let own = document.root().get(name).map(Item::raw);
        let value = if name == LOG_LEVEL { Some(level) } else { own };
        if let Some(value) = value {
            out = out.raw(name, value);
        }
    }
    out.finish()
}

/// The log level that a client of a revision without sessions asks for, from
/// its canonical context; JSON.
#[must_use]
pub fn log_level(context: &[u8]) -> Option<Vec<u8>> {
    let document = Document::read(context, Limits::STANDARD).ok()?;
    Some(document.root().get(LOG_LEVEL)?.raw().to_vec())
}

/// The canonical client context of a request other than `tools/call`, from its
/// `params`.
#[must_use]
pub fn context(params: Option<&[u8]>) -> Vec<u8> {
    let document = params.and_then(|bytes| Document::read(bytes, Limits::STANDARD).ok());
    let meta = document
        .as_ref()
        .and_then(|document| document.root().get("_meta"));
    let mut context = Object::new();
    for name in MEMBERS {
        if let Some(member) = meta.and_then(|meta| meta.get(name)) {
            context = context.raw(name, &member.canonical());
        }
    }
    context.finish()
}

/// What a message other than `tools/call` says, as far as headers mirror it.
/// `document` is that of its canonical `params`, where it has any.
#[derive(Debug)]
pub struct Mirrored {
    name: Option<String>,
    version: Option<String>,
    complete: bool,
    modern: bool,
}

impl Mirrored {
    /// Of a request or notification, from its canonical `params`.
    #[must_use]
    pub fn of_params(method: &str, params: Option<&[u8]>) -> Self {
        let document = params.and_then(|bytes| Document::read(bytes, Limits::STANDARD).ok());
        let root = document.as_ref().map(Document::root);
        let field = match method {
            "prompts/get" => Some("name"),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
            _ => None,
        };
        let name = field
            .and_then(|field| root?.get(field)?.text())
            .map(Into::into);
        Self {
            name,
            ..Self::of_meta(root.and_then(|root| root.get("_meta")))
        }
    }

    /// Of a `tools/call`, from its tool and its canonical client context.
    #[must_use]
    pub fn of_call(tool: &str, client: &[u8]) -> Self {
        let document = Document::read(client, Limits::STANDARD).ok();
        let meta = Self::of_meta(document.as_ref().map(Document::root));
        Self {
            name: Some(tool.to_owned()),
            ..meta
        }
    }

    fn of_meta(meta: Option<Item<'_>>) -> Self {
        let member = |name: &str| meta.and_then(|meta| meta.get(name));
        let version = member(VERSION)
            .and_then(Item::text)
            .map(std::borrow::Cow::into_owned);
        Self {
            name: None,
            complete: version.is_some()
                && member(CAPABILITIES).is_some_and(|item| item.kind() == Kind::Object),
            version,
            modern: MEMBERS.into_iter().any(|name| member(name).is_some()),
        }
    }

    /// The facts that headers are compared with.
    #[must_use]
    pub fn facts<'a>(&'a self, method: &'a str, is_request: bool) -> MessageFacts<'a> {
        MessageFacts {
            method: Some(method),
            is_request,
            name: self.name.as_deref(),
            meta_version: self.version.as_deref(),
            meta_complete: self.complete,
            meta_modern: self.modern,
        }
    }
}

/// The facts of a reply, which no header mirrors.
pub const REPLY: MessageFacts<'static> = MessageFacts {
    method: None,
    is_request: false,
    name: None,
    meta_version: None,
    meta_complete: false,
    meta_modern: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialize_gives_the_context_under_its_modern_names() {
        let params = br#"{"capabilities":{"x":1.0},"clientInfo":{"name":"c"},"protocolVersion":"2025-06-18"}"#;
        let initialized = initialize(params).unwrap();
        assert_eq!(initialized.revision, Revision::R2025_06_18);
        assert_eq!(
            String::from_utf8(initialized.context).unwrap(),
            r#"{"io.modelcontextprotocol/clientCapabilities":{"x":1.0},"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/protocolVersion":"2025-06-18"}"#
        );
        for params in [
            r#"{}"#,
            r#"{"capabilities":{},"clientInfo":{"name":"c"}}"#,
            r#"{"capabilities":[],"clientInfo":{},"protocolVersion":"2025-06-18"}"#,
            r#"{"capabilities":{},"protocolVersion":"2025-06-18"}"#,
        ] {
            assert_eq!(initialize(params.as_bytes()), None, "{params}");
        }
    }

    #[test]
    fn a_progress_token_is_a_text_or_a_number_of_the_length_of_an_id() {
        let long = |length: usize| "x".repeat(length);
        for (token, is) in [
            ("\"\"".to_owned(), true),
            ("-1.5e3".to_owned(), true),
            (format!("\"{}\"", long(256)), true),
            (format!("\"{}\"", long(257)), false),
            (format!("\"{}\"", "\\u0001".repeat(256)), true),
            ("1".repeat(256), true),
            ("1".repeat(257), false),
            ("null".to_owned(), false),
            ("true".to_owned(), false),
            ("{}".to_owned(), false),
            ("[1]".to_owned(), false),
        ] {
            let document = Document::read(token.as_bytes(), Limits::STANDARD).unwrap();
            assert_eq!(is_progress_token(document.root()), is, "{token}");
        }
    }

    #[test]
    fn a_log_level_takes_its_place_among_the_members_of_a_context() {
        for (context, with) in [
            (
                r#"{"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/protocolVersion":"v"}"#,
                r#"{"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/protocolVersion":"v"}"#,
            ),
            (
                r#"{"io.modelcontextprotocol/logLevel":"debug"}"#,
                r#"{"io.modelcontextprotocol/logLevel":"info"}"#,
            ),
        ] {
            let said = with_log_level(context.as_bytes(), br#""info""#);
            assert_eq!(String::from_utf8(said).unwrap(), with);
        }
    }

    #[test]
    fn a_message_mirrors_its_name_and_its_modern_meta() {
        let params = br#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"uri":"file:///x"}"#;
        let mirrored = Mirrored::of_params("resources/read", Some(params));
        let facts = mirrored.facts("resources/read", true);
        assert_eq!(facts.name, Some("file:///x"));
        assert_eq!(facts.meta_version, Some("2026-07-28"));
        assert!(facts.meta_complete && facts.meta_modern);
        let plain = Mirrored::of_params("tools/list", None);
        assert!(!plain.facts("tools/list", true).meta_modern);
        let partial = Mirrored::of_call("t", br#"{"io.modelcontextprotocol/logLevel":"debug"}"#);
        let facts = partial.facts("tools/call", true);
        assert_eq!(
            (facts.name, facts.meta_complete, facts.meta_modern),
            (Some("t"), false, true)
        );
    }

    #[test]
    fn each_method_is_mirrored_by_the_member_that_names_what_it_is_about() {
        let params = br#"{"name":"n","taskId":"t","uri":"u"}"#;
        for (method, name) in [
            ("prompts/get", Some("n")),
            ("resources/read", Some("u")),
            ("resources/subscribe", Some("u")),
            ("resources/unsubscribe", Some("u")),
            ("tasks/get", Some("t")),
            ("tasks/update", Some("t")),
            ("tasks/cancel", Some("t")),
            ("resources/list", None),
            ("ping", None),
        ] {
            let mirrored = Mirrored::of_params(method, Some(params));
            assert_eq!(mirrored.facts(method, true).name, name, "{method}");
        }
    }

    #[test]
    fn meta_is_complete_with_a_version_and_capabilities_and_not_with_one_of_them() {
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
        for (members, complete) in [
            (format!("{capabilities},{version}"), true),
            (version.to_owned(), false),
            (capabilities.to_owned(), false),
            (
                format!("{},{version}", capabilities.replace("{}", "[]")),
                false,
            ),
        ] {
            let mirrored = Mirrored::of_call("t", format!("{{{members}}}").as_bytes());
            let facts = mirrored.facts("tools/call", true);
            assert_eq!(facts.meta_complete, complete, "{members}");
        }
    }

    #[test]
    fn the_context_of_a_request_holds_the_protocols_own_members_of_meta_alone() {
        let params = br#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"x":1.0},"io.modelcontextprotocol/logLevel":"debug","k":1},"uri":"u"}"#;
        let context = context(Some(params));
        assert_eq!(
            String::from_utf8(context.clone()).unwrap(),
            r#"{"io.modelcontextprotocol/clientCapabilities":{"x":1.0},"io.modelcontextprotocol/logLevel":"debug"}"#
        );
        assert_eq!(log_level(&context).unwrap(), br#""debug""#);
        assert_eq!(super::context(None), b"{}");
        assert_eq!(log_level(b"{}"), None);
    }
}
