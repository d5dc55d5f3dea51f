//! The messages that the gateway sends, spliced from bytes.
//!
//! The canonical action goes upstream as it is: its members become `params`,
//! and only `_meta` gains what the gateway itself mints. Nothing is parsed
//! into a tree on the way (`docs/spec/action-binding.md` §1).

use countersign_canon::Id;
use thiserror::Error;

use crate::json::{self, Object};

/// What the gateway adds to a call of its own.
#[derive(Clone, Debug, Default)]
pub struct Additions<'a> {
    /// Members of `_meta`, each a name and a JSON value. The action has none
    /// of these names, since `admit` takes them out.
    pub meta: Vec<(&'a str, Vec<u8>)>,
    /// The canonical object of `inputResponses` and `requestState`, if this is
    /// a continuation.
    pub continuation: Option<&'a [u8]>,
}

/// Bytes that are no canonical action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a canonical action")]
pub struct NotAnAction;

/// The request that carries a canonical action upstream.
///
/// # Errors
/// [`NotAnAction`] for bytes that no profile gave.
pub fn tool_call(
    id: u64,
    action: &[u8],
    additions: &Additions<'_>,
) -> Result<Vec<u8>, NotAnAction> {
    let mut params = Vec::with_capacity(action.len() + 256);
    params.push(b'{');
    let mut meta: &[u8] = b"{}";
    for (name, value) in json::members(action).ok_or(NotAnAction)? {
        match name {
            b"\"method\"" => {}
            b"\"_meta\"" => meta = value,
            _ => member(&mut params, name, value),
        }
    }
    if let Some(continuation) = additions.continuation {
        for (name, value) in json::members(continuation).ok_or(NotAnAction)? {
            member(&mut params, name, value);
        }
    }
    let meta = extend(meta, &additions.meta).ok_or(NotAnAction)?;
    if !json::is_empty(&meta) {
        member(&mut params, b"\"_meta\"", &meta);
    }
    params.push(b'}');
    Ok(message(Some(id), "tools/call", Some(&params)))
}

/// A message of the gateway's own to an upstream: a request with an id, a
/// notification without one. `params` is JSON already.
#[must_use]
pub fn message(id: Option<u64>, method: &str, params: Option<&[u8]>) -> Vec<u8> {
    let mut object = Object::new().text("jsonrpc", "2.0");
    if let Some(id) = id {
        object = object.raw("id", id.to_string().as_bytes());
    }
    object = object.text("method", method);
    if let Some(params) = params {
        object = object.raw("params", params);
    }
    object.finish()
}

/// The response to a request; `result` is JSON already.
#[must_use]
pub fn result(id: &Id, result: &[u8]) -> Vec<u8> {
    response(&json::id(Some(id)), "result", result)
}

/// The response to a request of an upstream, whose id is given as it wrote it.
#[must_use]
pub fn empty_result(id_raw: &[u8]) -> Vec<u8> {
    response(id_raw, "result", b"{}")
}

/// Says to an upstream that its request is not supported.
#[must_use]
pub fn not_supported(id_raw: &[u8]) -> Vec<u8> {
    response(
        id_raw,
        "error",
        br#"{"code":-32601,"message":"method not supported"}"#,
    )
}

/// The response to a request that an upstream answered with an error; `error`
/// is JSON already.
#[must_use]
pub fn error(id: &Id, error: &[u8]) -> Vec<u8> {
    response(&json::id(Some(id)), "error", error)
}

/// A progress notification for the client: the upstream's own `params` with
/// the client's token in place of the gateway's. `others` are the members of
/// the upstream's `params` except the token.
#[must_use]
pub fn progress(token: &[u8], others: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut params = Object::new().raw("progressToken", token);
    for (name, value) in others {
        params = params.raw(name, value);
    }
    message(None, "notifications/progress", Some(&params.finish()))
}

/// Makes one line of a message, as transports need it that end each with one. In
/// JSON a raw line end is white space between tokens (RFC 8259 §2 and §7), so that
/// a space in its place changes no value; where it stayed, whoever wrote it could
/// begin another message.
pub fn on_one_line(message: &mut [u8]) {
    for byte in message {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// The member of a canonical object by its name, which needs no escapes.
#[must_use]
pub fn member_of<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let quoted = format!("\"{name}\"");
    let members = json::members(object)?;
    members
        .into_iter()
        .find(|(n, _)| *n == quoted.as_bytes())
        .map(|(_, value)| value)
}

fn response(id: &[u8], kind: &str, value: &[u8]) -> Vec<u8> {
    Object::new()
        .text("jsonrpc", "2.0")
        .raw("id", id)
        .raw(kind, value)
        .finish()
}

fn member(object: &mut Vec<u8>, quoted: &[u8], value: &[u8]) {
    if object.len() > 1 {
        object.push(b',');
    }
    object.extend_from_slice(quoted);
    object.push(b':');
    object.extend_from_slice(value);
}

fn extend(object: &[u8], additions: &[(&str, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut out = object.strip_suffix(b"}")?.to_vec();
    for (name, value) in additions {
        let mut quoted = Vec::new();
        countersign_canon::write::string(&mut quoted, name);
        member(&mut out, &quoted, value);
    }
    out.push(b'}');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(action: &str, additions: &Additions<'_>) -> String {
        String::from_utf8(tool_call(7, action.as_bytes(), additions).unwrap()).unwrap()
    }

    #[test]
    fn an_action_goes_upstream_with_every_digit_that_the_caller_wrote() {
        let action = r#"{"arguments":{"a":1.0,"b":-0,"c":1e400,"d":123456789012345678901234567890},"method":"tools/call","name":"t"}"#;
        assert_eq!(
            call(action, &Additions::default()),
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"a":1.0,"b":-0,"c":1e400,"d":123456789012345678901234567890},"name":"t"}}"#
        );
    }

    #[test]
    fn what_the_gateway_mints_joins_the_callers_meta_and_replaces_nothing() {
        let additions = Additions {
            meta: vec![("countersign.dev/call_id", br#""c1""#.to_vec())],
            continuation: Some(br#"{"inputResponses":{"q":{"x":1.0}},"requestState":"s"}"#),
        };
        assert_eq!(
            call(
                r#"{"_meta":{"k":{"n":1.0}},"method":"tools/call","name":"t"}"#,
                &additions
            ),
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","inputResponses":{"q":{"x":1.0}},"requestState":"s","_meta":{"k":{"n":1.0},"countersign.dev/call_id":"c1"}}}"#
        );
        let without = call(
            r#"{"method":"tools/call","name":"t","task":{}}"#,
            &Additions::default(),
        );
        assert_eq!(
            without,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","task":{}}}"#
        );
    }

    #[test]
    fn each_message_of_the_gateways_own_has_its_one_form() {
        let (text, number) = (Id::Text("a\"b".to_owned()), Id::Number(7));
        let others = [("progress".to_owned(), b"1.50".to_vec())];
        for (message, form) in [
            (
                message(Some(3), "ping", None),
                r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
            ),
            (
                message(None, "n", Some(b"{}")),
                r#"{"jsonrpc":"2.0","method":"n","params":{}}"#,
            ),
            (
                result(&text, br#"{"x":1.0}"#),
                r#"{"jsonrpc":"2.0","id":"a\"b","result":{"x":1.0}}"#,
            ),
            (
                error(&number, br#"{"code":1}"#),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":1}}"#,
            ),
            (
                empty_result(b"1.0"),
                r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#,
            ),
            (
                not_supported(b"\"q\""),
                r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32601,"message":"method not supported"}}"#,
            ),
            (
                progress(b"\"mine\"", &others),
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1.50}}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(message).unwrap(), form);
        }
    }

    #[test]
    fn a_message_on_one_line_has_the_values_that_it_had() {
        for (sent, line) in [
            (
                "{\r\n\t\"a\\n\" :\n[1.0,\r-0]\n}",
                "{  \t\"a\\n\" : [1.0, -0] }",
            ),
            ("\n", " "),
            ("{\"a\":\"\u{2028}\u{85}\"}", "{\"a\":\"\u{2028}\u{85}\"}"),
        ] {
            let mut message = sent.as_bytes().to_vec();
            on_one_line(&mut message);
            assert_eq!(String::from_utf8(message).unwrap(), line);
        }
    }

    #[test]
    fn a_member_is_found_by_its_name_on_the_first_level() {
        let object = br#"{"a":{"b":1},"b":2.0,"c":"b"}"#;
        for (name, value) in [
            ("a", Some(&br#"{"b":1}"#[..])),
            ("b", Some(b"2.0")),
            ("d", None),
        ] {
            assert_eq!(member_of(object, name), value, "{name}");
        }
        assert_eq!(member_of(b"[]", "a"), None);
    }

    #[test]
    fn bytes_that_no_profile_gave_are_not_sent() {
        for bytes in ["", "[]", r#"{"name": "t"}x"#, r#"{"name""#] {
            assert!(
                tool_call(1, bytes.as_bytes(), &Additions::default()).is_err(),
                "{bytes}"
            );
        }
    }
}
