//! A message from an upstream, read strictly.
//!
//! What the strict reader refuses is no message at all: the caller of this
//! module treats it as "no authoritative answer came".

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits, Refusal};
use thiserror::Error;

/// The limits for one message from an upstream: those of a profile.
pub const LIMITS: Limits = Limits::STANDARD;

/// Why bytes from an upstream are no message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// The strict reader refuses them.
    #[error("unreadable JSON: {0}")]
    Json(Refusal),
    /// They are no single JSON-RPC 2.0 message.
    #[error("not a JSON-RPC message: {0}")]
    Envelope(&'static str),
}

/// A message from an upstream, as handles into its document.
#[derive(Clone, Copy, Debug)]
pub enum Incoming<'d> {
    /// The answer to a request with that id.
    Reply {
        /// None where it is null or left out.
        id: Option<Item<'d>>,
        /// The result, or the error object.
        answer: Result<Item<'d>, Item<'d>>,
    },
    /// The upstream asks something of its client.
    Request {
        /// A string or a number; to be written back as it stands.
        id: Item<'d>,
        /// The method.
        method: Item<'d>,
        /// Its parameters, if it has any.
        params: Option<Item<'d>>,
    },
    /// The upstream tells something.
    Notification {
        /// The method.
        method: Item<'d>,
        /// Its parameters, if it has any.
        params: Option<Item<'d>>,
    },
}

/// Reads the JSON of one message.
///
/// # Errors
/// [`Unreadable::Json`].
pub fn read(bytes: &[u8]) -> Result<Document<'_>, Unreadable> {
    Document::read(bytes, LIMITS).map_err(Unreadable::Json)
}

/// Says what kind of message a document is.
///
/// # Errors
/// [`Unreadable::Envelope`] for a batch, for both or neither of `result` and
/// `error`, an `error` without a numeric code and a message, an id that is
/// neither text nor number, and anything else that JSON-RPC 2.0 does not know.
pub fn message<'d>(document: &'d Document<'_>) -> Result<Incoming<'d>, Unreadable> {
    let fault = |why| Err(Unreadable::Envelope(why));
    let root: Item<'d> = document.root();
    if root.kind() != Kind::Object {
        return fault("it is no object");
    }
    if !root
        .get("jsonrpc")
        .is_some_and(|version| version.is_text("2.0"))
    {
        return fault("`jsonrpc` is not \"2.0\"");
    }
    let id = root.get("id").filter(|id| id.kind() != Kind::Null);
    if id.is_some_and(|id| !matches!(id.kind(), Kind::String | Kind::Number)) {
        return fault("the id is neither text nor number");
    }
    match (root.get("method"), root.get("result"), root.get("error")) {
        (Some(method), None, None) => {
            if method.kind() != Kind::String {
                return fault("the method is no text");
            }
            let params = root.get("params");
            Ok(match id {
                Some(id) => Incoming::Request { id, method, params },
                None => Incoming::Notification { method, params },
            })
        }
        (None, Some(result), None) => Ok(Incoming::Reply {
            id,
            answer: Ok(result),
        }),
        (None, None, Some(error)) => {
            let code = error.get("code").map(Item::kind);
            let message = error.get("message").map(Item::kind);
            if (code, message) != (Some(Kind::Number), Some(Kind::String)) {
                return fault("an error has a numeric `code` and a text `message`");
            }
            Ok(Incoming::Reply {
                id,
                answer: Err(error),
            })
        }
        (None, Some(_), Some(_)) => fault("both `result` and `error`"),
        _ => fault("neither request, notification nor reply"),
    }
}

/// Whether an id is that of our own request: the same integer, written as we
/// write it.
#[must_use]
pub fn is_ours(id: Option<Item<'_>>, ours: u64) -> bool {
    id.and_then(Item::integer)
        .and_then(|id| u64::try_from(id).ok())
        == Some(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> Result<&'static str, Unreadable> {
        let document = read(bytes)?;
        Ok(match message(&document)? {
            Incoming::Reply { id, answer } => match (is_ours(id, 7), answer.is_ok()) {
                (true, true) => "our result",
                (true, false) => "our error",
                (false, _) => "another's",
            },
            Incoming::Request { .. } => "request",
            Incoming::Notification { .. } => "notification",
        })
    }

    #[test]
    fn only_one_json_rpc_message_is_one() {
        let cases: [(&str, Option<&str>); 24] = [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
                Some("our result"),
            ),
            (
                r#" {"result":{},"id":7,"jsonrpc":"2.0"} "#,
                Some("our result"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}"#,
                Some("our error"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
                Some("another's"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#,
                Some("another's"),
            ),
            (r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, Some("another's")),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
                Some("another's"),
            ),
            (r#"{"jsonrpc":"2.0","result":{}}"#, Some("another's")),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
                Some("request"),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"n","params":{}}"#,
                Some("notification"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":"x","message":""}}"#,
                None,
            ),
            (r#"{"jsonrpc":"2.0","id":7,"error":"x"}"#, None),
            (r#"{"jsonrpc":"2.0","id":7}"#, None),
            (r#"{"jsonrpc":"2.0","id":{},"result":{}}"#, None),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"method":8}"#, None),
            (r#"{"jsonrpc":"2.0","method":null}"#, None),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#,
                None,
            ),
            (r#"{"jsonrpc":"1.0","id":7,"result":{}}"#, None),
            (r#"{"id":7,"result":{}}"#, None),
            (r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}"#, None),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(text.as_bytes()).ok(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_message_is_said() {
        let error = r#""error":{"code":1,"message":""}"#;
        for (members, said) in [
            (
                format!(r#"{error},"result":{{}}"#),
                "both `result` and `error`",
            ),
            (
                format!(r#"{error},"method":"n""#),
                "neither request, notification nor reply",
            ),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":7,{members}}}"#);
            let unreadable = kind(text.as_bytes()).unwrap_err();
            assert!(unreadable.to_string().contains(said), "{unreadable}");
        }
    }
}
