//! The head of a request: each header that may stand once does, what they say
//! is what was sent, and nothing is taken that an intermediary could resolve
//! otherwise; what is written reads back.
//!
//! `guard` is about `Host`, `Origin` and where the body ends, the rest here
//! about the headers of MCP.

mod guard;

use countersign_mcp::conformity::{self, MessageFacts};
use countersign_mcp::headers::{self, PARAM_PREFIX};
use countersign_mcp::{Headers, Revision};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::choices::Choices;

const SINGLE: [&str; 4] = [
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
];

/// An input is a head: lines of a name, a colon and a value. Its first byte
/// says what the message is.
pub(crate) fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let about = choices.byte();
    let head = choices.rest();
    let mut map = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n') {
        let colon = line.iter().position(|byte| *byte == b':');
        let Some((name, value)) = colon.map(|at| (&line[..at], &line[at + 1..])) else {
            continue;
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            map.append(name, value);
        }
    }
    guard::judge(&map);
    match (Headers::read(&map), expected(&map)) {
        (Ok(read), Some(expected)) => {
            assert_eq!(read, expected);
            conforms(&read, about);
        }
        (Err(_), None) => {}
        other => panic!("read and expected: {other:?}"),
    }
    if let Ok(text) = std::str::from_utf8(head) {
        travels(text);
    }
}

/// What the headers say, if they say it once and plainly.
fn expected(map: &HeaderMap) -> Option<Headers> {
    let single = |name: &str| -> Option<Option<&[u8]>> {
        let values: Vec<&[u8]> = map
            .get_all(name)
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        let plain = |value: &[u8]| value.iter().all(|b| matches!(b, b'\t' | b' '..=b'~'));
        match values.as_slice() {
            [] => Some(None),
            [one] if plain(one) => Some(Some(one)),
            _ => None,
        }
    };
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).ok();
    let [version, session, method, name] = SINGLE.map(single);
    let decoded = |value: Option<&[u8]>| match value {
        None => Some(None),
        Some(value) => decode(value).map(Some),
    };
    let mut params = Vec::new();
    for key in map.keys() {
        if let Some(short) = key.as_str().strip_prefix(PARAM_PREFIX) {
            let value = decode(single(key.as_str())??)?;
            params.push((short.to_owned(), value));
        }
    }
    let version = match version? {
        None => None,
        Some(value) => {
            let known = |known: &Revision| known.as_str().as_bytes() == value;
            Some(Revision::ALL.into_iter().find(known)?)
        }
    };
    Some(Headers {
        version,
        session: session?.and_then(text),
        method: decoded(method?)?,
        name: decoded(name?)?,
        params,
    })
}

/// A value as it stands, or what its base64 form holds; none where that is not
/// the one spelling that RFC 4648 has for it.
fn decode(value: &[u8]) -> Option<String> {
    let inner = value
        .strip_prefix(b"=?base64?")
        .and_then(|rest| rest.strip_suffix(b"?="));
    let Some(code) = inner else {
        return String::from_utf8(value.to_vec()).ok();
    };
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if !code.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::new();
    let last = code.len() / 4;
    for (index, four) in code.chunks(4).enumerate() {
        let padding = four.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || padding > 0 && index + 1 < last {
            return None;
        }
        let mut bits = 0_u32;
        for byte in &four[..4 - padding] {
            let digit = ALPHABET.iter().position(|known| known == byte)?;
            bits = (bits << 6) | u32::try_from(digit).ok()?;
        }
        bits <<= 6 * padding;
        let [_, all @ ..] = bits.to_be_bytes();
        if all[3 - padding..].iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend(&all[..3 - padding]);
    }
    String::from_utf8(bytes).ok()
}

/// Headers of the newest revision pass under it alone, and only with what the
/// message says (`docs/spec/protocol.md` §1).
fn conforms(headers: &Headers, about: u8) {
    let method = match about & 7 {
        0 => None,
        1 => Some("initialize"),
        2 => Some("notifications/initialized"),
        _ => Some("tools/call"),
    };
    let facts = MessageFacts {
        method,
        is_request: about & 8 > 0,
        name: (about & 16 > 0).then_some("transfer"),
        meta_version: (about & 32 > 0).then_some("2026-07-28"),
        meta_complete: about & 64 > 0,
        meta_modern: about & 128 > 0,
    };
    for session in [None].into_iter().chain(Revision::ALL.map(Some)) {
        let Ok(revision) = conformity::revision(headers, &facts, session) else {
            continue;
        };
        assert_eq!(revision, headers.version.unwrap_or(Revision::R2025_03_26));
        if revision.has_sessions() {
            let greets = about & 7 == 1 || about & 7 == 2;
            assert!(!headers.has_routing() || greets && headers.method.as_deref() == method);
            assert!(!facts.meta_modern);
            let agreed = session.is_none_or(|agreed| agreed == revision);
            assert!(agreed || method == Some("initialize"));
        } else if method.is_some() {
            assert_eq!(headers.method.as_deref(), method);
            assert_eq!(headers.name.as_deref(), facts.name);
            assert!(facts.meta_complete || !facts.is_request);
        }
    }
}

/// A value that is written reads back, and is one that a header keeps.
fn travels(text: &str) {
    let written = headers::encoded(text);
    let value = HeaderValue::from_str(&written).expect("a header can hold it");
    assert_eq!(written.trim_matches(' '), written, "what HTTP would trim");
    let mut map = HeaderMap::new();
    map.insert("mcp-name", value);
    let read = Headers::read(&map).expect("it is read");
    assert_eq!(read.name.as_deref(), Some(text));
}
