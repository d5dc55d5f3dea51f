//! The one credential of a request.
//!
//! A credential that is given twice, or in the URL where logs and histories
//! keep it, is none: which one counts must not be a matter of who reads.

use std::sync::Arc;

use countersign_identity::{Fault, Refusal};
use http::header::AUTHORIZATION;
use http::{Extensions, HeaderMap, Method, Uri};

use crate::tls::Accepted;

/// Who is at the other end of a connection; put beside each of its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// The leaf that the client showed, whose chain was verified; DER.
    pub(crate) certificate: Option<Arc<[u8]>>,
    /// The authorities under which it was verified.
    pub(crate) accepted: Option<Accepted>,
}

/// What authentication looks at of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'r> {
    pub(crate) method: &'r Method,
    pub(crate) path: &'r str,
    query: Option<&'r str>,
    pub(crate) headers: &'r HeaderMap,
    certificate: Option<&'r [u8]>,
    pub(super) accepted: Option<&'r Accepted>,
}

/// The schemes that are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Bearer,
    Dpop,
}

/// A token with the scheme under which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Credential<'r> {
    pub(super) scheme: Scheme,
    pub(super) token: &'r str,
}

impl<'r> Request<'r> {
    /// Reads what stands in a request's head.
    pub(crate) fn of(
        method: &'r Method,
        uri: &'r Uri,
        headers: &'r HeaderMap,
        extensions: &'r Extensions,
    ) -> Self {
        let peer = extensions.get::<Peer>();
        Self {
            method,
            path: uri.path(),
            query: uri.query(),
            headers,
            certificate: peer.and_then(|peer| peer.certificate.as_deref()),
            accepted: peer.and_then(|peer| peer.accepted.as_ref()),
        }
    }

    /// The certificate of its connection, DER; none where it has none.
    ///
    /// # Errors
    /// [`Refusal::Certificate`] where an authority was taken out since it was
    /// verified: whether its own was, a new connection shows.
    pub(super) fn certificate(&self) -> Result<Option<&'r [u8]>, Refusal> {
        if self.accepted.is_none_or(Accepted::holds) {
            Ok(self.certificate)
        } else {
            Err(Refusal::Certificate(Fault::Authority))
        }
    }

    /// The scheme of its one credential; none where there is none.
    pub(crate) fn scheme(&self) -> Option<Scheme> {
        let credential = self.credential().ok().flatten();
        credential.map(|credential| credential.scheme)
    }

    /// The credential in the headers; none where there is none.
    ///
    /// # Errors
    /// [`Refusal::Ambiguous`] for two of them or one in the URL,
    /// [`Refusal::Missing`] for one under a scheme that is not taken.
    pub(super) fn credential(&self) -> Result<Option<Credential<'r>>, Refusal> {
        let in_url = |name: &str| {
            let name = name.split('=').next().unwrap_or_default();
            name.eq_ignore_ascii_case("access_token")
        };
        if self.query.is_some_and(|query| query.split('&').any(in_url)) {
            return Err(Refusal::Ambiguous);
        }
        let mut values = self.headers.get_all(AUTHORIZATION).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => return Ok(None),
            (Some(value), None) => value.to_str().map_err(|_| Refusal::Missing)?,
            (Some(_), Some(_)) => return Err(Refusal::Ambiguous),
        };
        let (scheme, token) = value.split_once(' ').ok_or(Refusal::Missing)?;
        let scheme = if scheme.eq_ignore_ascii_case("bearer") {
            Scheme::Bearer
        } else if scheme.eq_ignore_ascii_case("dpop") {
            Scheme::Dpop
        } else {
            return Err(Refusal::Missing);
        };
        let token = token.trim_matches(' ');
        let sound = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        if token.is_empty() || !token.bytes().all(sound) {
            return Err(Refusal::Missing);
        }
        Ok(Some(Credential { scheme, token }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_whole_credential_in_its_header_is_one() {
        use Refusal::{Ambiguous, Missing};
        for (why, uri, values, credential) in [
            (
                "one",
                "/mcp",
                vec!["Bearer a.b"],
                Ok(Some((Scheme::Bearer, "a.b"))),
            ),
            (
                "another case",
                "/mcp?x=1",
                vec!["bEARER  a "],
                Ok(Some((Scheme::Bearer, "a"))),
            ),
            (
                "with a proof",
                "/mcp",
                vec!["DPoP a"],
                Ok(Some((Scheme::Dpop, "a"))),
            ),
            ("none", "/mcp", vec![], Ok(None)),
            ("two", "/mcp", vec!["Bearer a", "Bearer a"], Err(Ambiguous)),
            (
                "two in one",
                "/mcp",
                vec!["Bearer a, Bearer b"],
                Err(Missing),
            ),
            ("in the URL", "/mcp?access_token=a", vec![], Err(Ambiguous)),
            (
                "there too",
                "/mcp?x&Access_Token=a",
                vec!["Bearer a"],
                Err(Ambiguous),
            ),
            ("another scheme", "/mcp", vec!["Basic a"], Err(Missing)),
            ("no scheme", "/mcp", vec!["a"], Err(Missing)),
            ("no token", "/mcp", vec!["Bearer "], Err(Missing)),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            let (uri, extensions) = (uri.parse().unwrap(), Extensions::new());
            let request = Request::of(&Method::POST, &uri, &headers, &extensions);
            let got = request.credential();
            let got = got.map(|found| found.map(|found| (found.scheme, found.token)));
            assert_eq!(got, credential, "{why}");
        }
    }
}
