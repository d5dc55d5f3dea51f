//! `Host`, `Origin`, and where a body ends: what a head must say before anything
//! else in it is looked at.
//!
//! A page in somebody's browser must not reach a gateway on that somebody's
//! machine, under whatever name it resolves; and no two readers of one head may
//! see two requests in what follows it. The gateway's front calls this first.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri, header};

use crate::ErrorCode;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Which hosts and origins are answered.
#[derive(Clone, Debug)]
pub struct Allowed {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Allowed {
    /// Those that are configured, loopback, and the address listened on.
    #[must_use]
    pub fn new(listen: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let own = match listen.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let loopback = LOOPBACK.into_iter().map(str::to_owned);
        Self {
            hosts: loopback.chain([own]).chain(hosts.iter().cloned()).collect(),
            origins: origins.to_vec(),
        }
    }

    /// Whether the names that a head gives are answered.
    ///
    /// # Errors
    /// [`ErrorCode::HostNotAllowed`], [`ErrorCode::OriginNotAllowed`].
    pub fn judge(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorCode> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ErrorCode::HostNotAllowed);
        };
        let host = host.to_str().map_err(|_| ErrorCode::HostNotAllowed)?;
        let named = uri.authority().map(http::uri::Authority::as_str);
        for authority in [Some(host), named].into_iter().flatten() {
            let known = without_port(authority).is_some_and(|host| self.hosts.contains(&host));
            if !known {
                return Err(ErrorCode::HostNotAllowed);
            }
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (
            origins.next().map(http::HeaderValue::to_str),
            origins.next(),
        ) {
            (None, _) => Ok(()),
            (Some(Ok(origin)), None) if self.knows(origin) => Ok(()),
            _ => Err(ErrorCode::OriginNotAllowed),
        }
    }

    fn knows(&self, origin: &str) -> bool {
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let host = authority.and_then(without_port);
        self.origins.iter().any(|known| known == origin)
            || host.is_some_and(|host| LOOPBACK.contains(&host.as_str()))
    }
}

/// The host of an authority, in lower case; none where the port is no port.
fn without_port(authority: &str) -> Option<String> {
    let end = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at_checked(end)?;
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => "0",
        None => return None,
        Some(port) => port,
    };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| host.to_ascii_lowercase())
}

/// Refuses a head that says in two ways where its body ends.
///
/// # Errors
/// [`ErrorCode::Framing`].
pub fn framing(headers: &HeaderMap) -> Result<(), ErrorCode> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let lengths = headers.get_all(header::CONTENT_LENGTH).iter().count();
    match (codings.next(), codings.next(), lengths) {
        (None, _, 0 | 1) => Ok(()),
        (Some(coding), None, 0) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(ErrorCode::Framing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_in_one_way_where_its_body_ends() {
        for (lines, taken) in [
            (vec![], true),
            (vec![("content-length", "1")], true),
            (vec![("transfer-encoding", "chunked")], true),
            (vec![("transfer-encoding", "Chunked")], true),
            (
                vec![("content-length", "1"), ("transfer-encoding", "chunked")],
                false,
            ),
            (
                vec![("content-length", "1"), ("content-length", "1")],
                false,
            ),
            (
                vec![
                    ("transfer-encoding", "chunked"),
                    ("transfer-encoding", "chunked"),
                ],
                false,
            ),
            (vec![("transfer-encoding", "gzip, chunked")], false),
            (vec![("transfer-encoding", "identity")], false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in &lines {
                headers.append(*name, value.parse().unwrap());
            }
            assert_eq!(framing(&headers).is_ok(), taken, "{lines:?}");
        }
    }

    #[test]
    fn only_our_own_names_and_origins_are_answered() {
        let allowed = Allowed::new(
            "192.0.2.7:80".parse().unwrap(),
            &["gateway.example".to_owned()],
            &["https://app.example".to_owned()],
        );
        for (hosts, origins, refused) in [
            (vec!["localhost:7400"], vec![], None),
            (vec!["LOCALHOST"], vec![], None),
            (vec!["[::1]:7400"], vec![], None),
            (vec!["192.0.2.7"], vec![], None),
            (vec!["gateway.example:443"], vec![], None),
            (vec!["evil.example"], vec![], Some("host-not-allowed")),
            (
                vec!["localhost.evil.example"],
                vec![],
                Some("host-not-allowed"),
            ),
            (
                vec!["localhost:80@evil.example"],
                vec![],
                Some("host-not-allowed"),
            ),
            (vec!["[::1]evil"], vec![], Some("host-not-allowed")),
            (vec!["localhost:"], vec![], Some("host-not-allowed")),
            (vec![""], vec![], Some("host-not-allowed")),
            (vec![], vec![], Some("host-not-allowed")),
            (
                vec!["localhost", "localhost"],
                vec![],
                Some("host-not-allowed"),
            ),
            (vec!["localhost"], vec!["http://localhost:3000"], None),
            (vec!["localhost"], vec!["https://app.example"], None),
            (
                vec!["localhost"],
                vec!["https://app.example:444"],
                Some("origin-not-allowed"),
            ),
            (
                vec!["localhost"],
                vec!["http://evil.example"],
                Some("origin-not-allowed"),
            ),
            (
                vec!["localhost"],
                vec!["http://localhost.evil.example"],
                Some("origin-not-allowed"),
            ),
            (vec!["localhost"], vec!["null"], Some("origin-not-allowed")),
            (
                vec!["localhost"],
                vec!["http://localhost", "http://localhost"],
                Some("origin-not-allowed"),
            ),
        ] {
            let mut headers = HeaderMap::new();
            for host in &hosts {
                headers.append(header::HOST, host.parse().unwrap());
            }
            for origin in &origins {
                headers.append(header::ORIGIN, origin.parse().unwrap());
            }
            let got = allowed.judge(&Uri::from_static("/mcp"), &headers).err();
            assert_eq!(got.map(ErrorCode::as_str), refused, "{hosts:?} {origins:?}");
        }
    }

    #[test]
    fn a_request_names_one_host_wherever_it_names_it() {
        let allowed = Allowed::new("127.0.0.1:80".parse().unwrap(), &[], &[]);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost".parse().unwrap());
        for (uri, taken) in [
            ("/mcp", true),
            ("http://localhost:7400/mcp", true),
            ("http://evil.example/mcp", false),
            ("http://localhost@evil.example/mcp", false),
        ] {
            let got = allowed.judge(&uri.parse().unwrap(), &headers);
            assert_eq!(got.is_ok(), taken, "{uri}");
        }
    }
}
