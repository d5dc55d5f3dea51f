//! `Host` and `Origin` name what was configured or loopback, once, and nothing
//! that only looks like it; and a body ends in one way.

use countersign_mcp::guard::{Allowed, framing};
use http::{HeaderMap, HeaderValue, Uri};

const HOSTS: [&str; 5] = [
    "localhost",
    "127.0.0.1",
    "[::1]",
    "192.0.2.7",
    "gateway.example",
];
const ORIGIN: &str = "https://app.example";

pub(super) fn judge(map: &HeaderMap) {
    let listen = "192.0.2.7:80".parse().unwrap();
    let allowed = Allowed::new(listen, &[HOSTS[4].to_owned()], &[ORIGIN.to_owned()]);
    let said = allowed.judge(&Uri::from_static("/mcp"), map);
    let expected = host(map) && origin(map);
    assert_eq!(said.is_ok(), expected, "{said:?} of {map:?}");
    // What stands in the request line counts as much as what stands in `Host`.
    let foreign = Uri::from_static("http://evil.example/mcp");
    assert!(allowed.judge(&foreign, map).is_err(), "{map:?}");
    assert_eq!(framing(map).is_ok(), ends_once(map), "{map:?}");
}

fn all<'m>(map: &'m HeaderMap, name: &str) -> Vec<&'m [u8]> {
    map.get_all(name)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect()
}

/// Whether a text is one of some names, with a port or without one.
fn names(of: &[&str], text: &[u8]) -> bool {
    of.iter().any(|name| {
        let Some((host, port)) = text.split_at_checked(name.len()) else {
            return false;
        };
        let same = host.eq_ignore_ascii_case(name.as_bytes());
        let is_port = |port: &[u8]| !port.is_empty() && port.iter().all(u8::is_ascii_digit);
        same && (port.is_empty() || port.strip_prefix(b":").is_some_and(is_port))
    })
}

fn host(map: &HeaderMap) -> bool {
    matches!(all(map, "host").as_slice(), [one] if names(&HOSTS, one))
}

fn origin(map: &HeaderMap) -> bool {
    match all(map, "origin").as_slice() {
        [] => true,
        [one] => {
            let authority = one
                .strip_prefix(b"http://")
                .or_else(|| one.strip_prefix(b"https://"));
            *one == ORIGIN.as_bytes() || authority.is_some_and(|a| names(&HOSTS[..3], a))
        }
        _ => false,
    }
}

fn ends_once(map: &HeaderMap) -> bool {
    match (
        all(map, "transfer-encoding").as_slice(),
        all(map, "content-length").len(),
    ) {
        ([], 0 | 1) => true,
        ([coding], 0) => coding.eq_ignore_ascii_case(b"chunked"),
        _ => false,
    }
}
