//! Messages that are passed on, spliced from the bytes as they were written.
//!
//! Only what the gateway maps or mints changes: progress tokens and ids of
//! subscriptions, and in `_meta` the names of the protocol and of the gateway.
//! Names are kept in their order, values byte for byte.

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Id, write};

use crate::answer::OWN_PREFIX;
use crate::client::MEMBERS;
use crate::envelope::message;
use crate::json;

/// Names in `_meta` that end at the gateway, beside those under a prefix.
const ENDING: [&str; 4] = ["progressToken", "traceparent", "tracestate", "baggage"];
/// The id of the subscription that a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The `params` of a request as they go upstream; none where there is nothing
/// to say. `minted` are members of `_meta` that the gateway writes itself.
#[must_use]
pub fn params(sent: Option<Item<'_>>, minted: &[(&str, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut out = vec![b'{'];
    let mut meta = vec![b'{'];
    for member in sent.into_iter().flat_map(Item::children) {
        let is_meta = member.name() == Some("_meta");
        // In place of a `_meta` that is no object the gateway writes its own, if
        // it writes one: never both.
        if !is_meta || (member.kind() != Kind::Object && minted.is_empty()) {
            put(&mut out, member.name().unwrap_or_default(), member.raw());
            continue;
        }
        for inner in member.children() {
            let name = inner.name().unwrap_or_default();
            let ends =
                ENDING.contains(&name) || MEMBERS.contains(&name) || name.starts_with(OWN_PREFIX);
            if !ends {
                put(&mut meta, name, inner.raw());
            }
        }
    }
    for (name, value) in minted {
        put(&mut meta, name, value);
    }
    if meta.len() > 1 {
        meta.push(b'}');
        put(&mut out, "_meta", &meta);
    }
    out.push(b'}');
    (sent.is_some() || out.len() > 2).then_some(out)
}

/// A notification of an upstream as its client gets it. `subscription` is the
/// client's id of the open request, in JSON, where the notification belongs to
/// one of the gateway's under `ours`.
#[must_use]
pub fn notification(
    method: &str,
    params: Option<Item<'_>>,
    subscription: Option<(u64, &[u8])>,
) -> Vec<u8> {
    let params = params.map(|params| with_subscription(params, subscription));
    message(None, method, params.as_deref())
}

/// A request of an upstream as its client gets it, under an id of ours.
#[must_use]
pub fn request(id: u64, method: &str, params: Option<Item<'_>>) -> Vec<u8> {
    message(Some(id), method, params.map(Item::raw))
}

/// The answer of a client as the upstream gets it, under the upstream's own id.
#[must_use]
pub fn answer(id_raw: &[u8], answer: &Result<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    let (kind, value) = match answer {
        Ok(result) => ("result", result),
        Err(error) => ("error", error),
    };
    json::Object::new()
        .text("jsonrpc", "2.0")
        .raw("id", id_raw)
        .raw(kind, value)
        .finish()
}

/// A result in which a subscription of ours has the client's id.
#[must_use]
pub fn result(result: Item<'_>, ours: u64, client: &Id) -> Vec<u8> {
    with_subscription(result, Some((ours, &json::id(Some(client)))))
}

/// The object with members added at its end that it has not.
#[must_use]
pub fn with_missing(object: &[u8], item: Item<'_>, members: &[(&str, &[u8])]) -> Vec<u8> {
    let Some(open) = object.strip_suffix(b"}") else {
        return object.to_vec();
    };
    let mut out = open.to_vec();
    let mut empty = item.count() == 0;
    for (name, value) in members {
        if item.get(name).is_none() {
            if !empty {
                out.push(b',');
            }
            empty = false;
            write::string(&mut out, name);
            out.push(b':');
            out.extend_from_slice(value);
        }
    }
    out.push(b'}');
    out
}

fn with_subscription(object: Item<'_>, subscription: Option<(u64, &[u8])>) -> Vec<u8> {
    let found = object.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION));
    let (Some((ours, client)), Some(found)) = (subscription, found) else {
        return object.raw().to_vec();
    };
    if !crate::incoming::is_ours(Some(found), ours) {
        return object.raw().to_vec();
    }
    let start = found.offset().saturating_sub(object.offset());
    let raw = object.raw();
    let (Some(head), Some(tail)) = (raw.get(..start), raw.get(start + found.raw().len()..)) else {
        return raw.to_vec();
    };
    [head, client, tail].concat()
}

fn put(object: &mut Vec<u8>, name: &str, value: &[u8]) {
    if object.len() > 1 {
        object.push(b',');
    }
    write::string(object, name);
    object.push(b':');
    object.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use countersign_canon::{Document, Limits};

    use super::*;

    fn read(text: &str) -> Document<'_> {
        Document::read(text.as_bytes(), Limits::STANDARD).unwrap()
    }

    #[test]
    fn a_request_keeps_its_order_and_digits_and_loses_what_ends_at_the_gateway() {
        let minted = [("progressToken", b"7".to_vec())];
        for (sent, expected) in [
            (
                r#"{"uri":"x","n":[1.0,-0,1e400,12345678901234567890], "a" : {"b":1}}"#,
                r#"{"uri":"x","n":[1.0,-0,1e400,12345678901234567890],"a":{"b":1},"_meta":{"progressToken":7}}"#,
            ),
            (
                r#"{"_meta":{"progressToken":"mine","k":1.50,"countersign.dev/x":1,"traceparent":"t","tracestate":"s","baggage":"b","io.modelcontextprotocol/logLevel":"info"},"cursor":"c"}"#,
                r#"{"cursor":"c","_meta":{"k":1.50,"progressToken":7}}"#,
            ),
        ] {
            let sent = read(sent);
            let got = params(Some(sent.root()), &minted).unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), expected);
        }
        assert_eq!(params(None, &[]), None);
        assert_eq!(params(Some(read("{}").root()), &[]).unwrap(), b"{}");
    }

    #[test]
    fn no_name_is_written_twice_whatever_was_sent() {
        let minted = [("progressToken", b"7".to_vec()), ("k", b"8".to_vec())];
        for sent in [
            r#"{}"#,
            r#"{"_meta":null}"#,
            r#"{"_meta":[{"k":1}],"uri":"x"}"#,
            r#"{"uri":"x","_meta":"progressToken"}"#,
            r#"{"_meta":{}}"#,
            r#"{"_meta":{"a":1,"b":{"a":1}},"a":1}"#,
            r#"{"_meta":{"progressToken":1}}"#,
        ] {
            let document = read(sent);
            for minted in [&minted[..1], &[]] {
                let Some(params) = params(Some(document.root()), minted) else {
                    panic!("{sent}");
                };
                let text = String::from_utf8(params).unwrap();
                // The strict reader takes no name twice.
                let written = read(&text);
                let token = written.root().get("_meta");
                let token = token.and_then(|meta| meta.get("progressToken"));
                assert_eq!(token.is_some(), !minted.is_empty(), "{text}");
                let others = |document: &Document<'_>| {
                    let members = document.root().children();
                    let others = members.filter(|member| member.name() != Some("_meta"));
                    others
                        .map(|member| member.raw().to_vec())
                        .collect::<Vec<_>>()
                };
                assert_eq!(others(&written), others(&document), "{text}");
            }
        }
        let kept = params(Some(read(r#"{"_meta":{"a":1,"b":2}}"#).root()), &minted).unwrap();
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            r#"{"_meta":{"a":1,"b":2,"progressToken":7,"k":8}}"#
        );
        let left = params(Some(read(r#"{"_meta":null}"#).root()), &[]).unwrap();
        assert_eq!(left, br#"{"_meta":null}"#);
        // Nothing to say of itself, and nothing was said.
        assert_eq!(
            params(None, &minted).unwrap(),
            br#"{"_meta":{"progressToken":7,"k":8}}"#
        );
    }

    #[test]
    fn what_goes_between_a_server_and_a_client_keeps_its_bytes() {
        let sent = read(r#"{"message" : "m", "n":[1.0,-0]}"#);
        for (message, form) in [
            (
                request(3, "elicitation/create", Some(sent.root())),
                r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"message" : "m", "n":[1.0,-0]}}"#,
            ),
            (
                request(3, "roots/list", None),
                r#"{"jsonrpc":"2.0","id":3,"method":"roots/list"}"#,
            ),
            (
                answer(b"1.0", &Ok(br#"{"a" : 1}"#.to_vec())),
                r#"{"jsonrpc":"2.0","id":1.0,"result":{"a" : 1}}"#,
            ),
            (
                answer(b"\"q\"", &Err(br#"{"code":1}"#.to_vec())),
                r#"{"jsonrpc":"2.0","id":"q","error":{"code":1}}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(message).unwrap(), form);
        }
        let given = read(r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":5},"x":1.0}"#);
        assert_eq!(
            String::from_utf8(result(given.root(), 5, &Id::Text("mine".to_owned()))).unwrap(),
            r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"mine"},"x":1.0}"#
        );
    }

    #[test]
    fn only_a_subscription_of_ours_is_given_the_clients_id() {
        let text = |id: &str| {
            format!(r#"{{"uri":"x","_meta":{{"io.modelcontextprotocol/subscriptionId":{id} }}}}"#)
        };
        for (sent, expected) in [("5", "\"mine\""), ("6", "6"), ("\"5\"", "\"5\"")] {
            let (sent, expected) = (text(sent), text(expected));
            let document = read(&sent);
            let subscription: Option<(u64, &[u8])> = Some((5, b"\"mine\""));
            let got = notification("n", Some(document.root()), subscription);
            let whole = format!(r#"{{"jsonrpc":"2.0","method":"n","params":{expected}}}"#);
            assert_eq!(String::from_utf8(got).unwrap(), whole);
        }
    }

    #[test]
    fn what_a_result_says_already_is_not_said_again() {
        for (sent, expected) in [
            ("{}", r#"{"ttlMs":0,"cacheScope":"private"}"#),
            (r#"{"ttlMs":9}"#, r#"{"ttlMs":9,"cacheScope":"private"}"#),
        ] {
            let document = read(sent);
            let members: [(&str, &[u8]); 2] = [("ttlMs", b"0"), ("cacheScope", b"\"private\"")];
            let got = with_missing(sent.as_bytes(), document.root(), &members);
            assert_eq!(String::from_utf8(got).unwrap(), expected);
        }
    }
}
