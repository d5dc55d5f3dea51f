//! The MCP headers of one HTTP request, read strictly.
//!
//! A header that occurs twice, or is not visible ASCII, is refused here: an
//! intermediary that resolves it otherwise would route on a value that the
//! gateway never saw. Whether headers fit the message is judged in `conformity`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use thiserror::Error;

use crate::{ErrorCode, Revision};

/// The version of the protocol, on each request after the first.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The session, in revisions that have them.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The method of the message, since 2026-07-28.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The tool's name, the resource's URI or the task's id, since 2026-07-28.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// What headers begin with that mirror an argument, since 2026-07-28.
pub const PARAM_PREFIX: &str = "mcp-param-";

const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";

/// The MCP headers of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// What the version header says; none where it is absent.
    pub version: Option<Revision>,
    /// The session header, as sent.
    pub session: Option<String>,
    /// `Mcp-Method`, decoded.
    pub method: Option<String>,
    /// `Mcp-Name`, decoded.
    pub name: Option<String>,
    /// `Mcp-Param-*`, in lower case and without the prefix, decoded.
    pub params: Vec<(String, String)>,
}

/// Headers that are refused, whatever the message says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderFault {
    /// A header that may stand once occurs twice, is not visible ASCII, or is
    /// not the base64 that it claims to be.
    #[error("the header `{name}` {problem}")]
    Malformed {
        /// The header's name.
        name: HeaderName,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The version header names no revision that the gateway speaks.
    #[error("unsupported protocol version")]
    UnsupportedVersion {
        /// What it says: visible ASCII, at most 64 bytes of it.
        requested: String,
    },
}

impl HeaderFault {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed { .. } => ErrorCode::HeaderMismatch,
            Self::UnsupportedVersion { .. } => ErrorCode::UnsupportedVersion,
        }
    }
}

impl Headers {
    /// Reads the MCP headers of a request.
    ///
    /// # Errors
    /// [`HeaderFault`], as its variants say.
    pub fn read(map: &HeaderMap) -> Result<Self, HeaderFault> {
        let version = match single(map, &PROTOCOL_VERSION)? {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| HeaderFault::UnsupportedVersion {
                requested: text.chars().take(64).collect(),
            })?),
        };
        let decode = |name: &HeaderName| single(map, name)?.map(|t| decoded(name, t)).transpose();
        let mut params = Vec::new();
        for name in map
            .keys()
            .filter(|name| name.as_str().starts_with(PARAM_PREFIX))
        {
            if let (Some(value), Some(short)) =
                (decode(name)?, name.as_str().strip_prefix(PARAM_PREFIX))
            {
                params.push((short.to_owned(), value));
            }
        }
        Ok(Self {
            version,
            session: single(map, &SESSION_ID)?.map(str::to_owned),
            method: decode(&METHOD)?,
            name: decode(&NAME)?,
            params,
        })
    }

    /// Whether there is a header that only 2026-07-28 knows.
    #[must_use]
    pub fn has_routing(&self) -> bool {
        self.method.is_some() || self.name.is_some() || !self.params.is_empty()
    }
}

/// Writes a value as a header carries it: as it is where that is possible,
/// else in its base64 form.
#[must_use]
pub fn encoded(value: &str) -> String {
    let marked = value.starts_with(BASE64_PREFIX) && value.ends_with(BASE64_SUFFIX);
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let plain = value.bytes().all(|byte| matches!(byte, 0x20..=0x7E)) && !padded && !marked;
    if plain {
        value.to_owned()
    } else {
        format!("{BASE64_PREFIX}{}{BASE64_SUFFIX}", STANDARD.encode(value))
    }
}

fn single<'m>(map: &'m HeaderMap, name: &HeaderName) -> Result<Option<&'m str>, HeaderFault> {
    let fault = |problem| HeaderFault::Malformed {
        name: name.clone(),
        problem,
    };
    let mut values = map.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(fault("occurs twice"));
    }
    value
        .to_str()
        .map(Some)
        .map_err(|_| fault("is not visible ASCII"))
}

fn decoded(name: &HeaderName, text: &str) -> Result<String, HeaderFault> {
    let Some(code) = text
        .strip_prefix(BASE64_PREFIX)
        .and_then(|rest| rest.strip_suffix(BASE64_SUFFIX))
    else {
        return Ok(text.to_owned());
    };
    STANDARD
        .decode(code)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or(HeaderFault::Malformed {
            name: name.clone(),
            problem: "is not base64 of UTF-8",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&str, &str)]) -> Result<Headers, HeaderFault> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        Headers::read(&map)
    }

    #[test]
    fn a_header_that_may_stand_once_is_refused_when_it_stands_twice() {
        for name in [
            "MCP-Protocol-Version",
            "Mcp-Session-Id",
            "Mcp-Method",
            "Mcp-Name",
            "Mcp-Param-Region",
        ] {
            let fault = read(&[(name, "2025-11-25"), (name, "2025-11-25")]).unwrap_err();
            assert_eq!(fault.code(), ErrorCode::HeaderMismatch, "{name}");
        }
    }

    #[test]
    fn a_name_is_read_in_its_plain_and_in_its_base64_form() {
        for (sent, read_as) in [
            ("transfer", Some("transfer")),
            ("=?base64?dHJhbnNmZXI=?=", Some("transfer")),
            ("=?base64?w7xiZXI=?=", Some("über")),
            ("=?base64?dHJhbnNmZXI?=", None),
            ("=?base64?/w==?=", None),
            ("=?base64?", Some("=?base64?")),
        ] {
            let name = read(&[("Mcp-Name", sent)])
                .ok()
                .and_then(|headers| headers.name);
            assert_eq!(name.as_deref(), read_as, "{sent}");
        }
    }

    #[test]
    fn what_is_encoded_reads_back() {
        for value in ["", "plain", " padded", "über", "a\nb", "=?base64?eA==?="] {
            let headers = read(&[("Mcp-Name", &encoded(value))]).unwrap();
            assert_eq!(headers.name.as_deref(), Some(value));
        }
    }

    #[test]
    fn a_version_that_nobody_speaks_is_named_in_the_refusal() {
        let fault = read(&[("mcp-protocol-version", "2031-01-01")]).unwrap_err();
        assert_eq!(fault.code(), ErrorCode::UnsupportedVersion);
        assert_eq!(
            fault,
            HeaderFault::UnsupportedVersion {
                requested: "2031-01-01".to_owned()
            }
        );
    }

    #[test]
    fn a_value_that_a_header_would_not_keep_travels_as_base64() {
        for (value, plain) in [
            ("eu", true),
            ("a b", true),
            (" eu", false),
            ("eu ", false),
            ("ü", false),
            ("a\nb", false),
            ("=?base64?ZXU=?=", false),
            ("=?base64?ZXU=", true),
            ("ZXU=?=", true),
        ] {
            assert_eq!(encoded(value) == value, plain, "{value}");
        }
    }

    #[test]
    fn any_header_of_the_newest_revision_counts_as_routing() {
        for (name, routes) in [
            ("mcp-method", true),
            ("mcp-name", true),
            ("mcp-param-region", true),
            ("mcp-session-id", false),
        ] {
            assert_eq!(
                read(&[(name, "x")]).unwrap().has_routing(),
                routes,
                "{name}"
            );
        }
    }
}
