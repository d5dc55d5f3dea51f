//! What a client may know before it has a credential: RFC 9728.
//!
//! Each server is a resource of its own, named by its URL, so that a token for
//! one is no token for another.

use serde::Serialize;

/// Where protected-resource metadata is served.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The gateway as a protected resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Scheme and authority, as the outside world has them; no slash at the end.
    pub(crate) base: String,
    /// The issuers that clients may go to.
    pub(crate) issuers: Vec<String>,
    /// The scopes that a token needs.
    pub(crate) scopes: Vec<String>,
    /// Algorithms of proofs.
    pub(crate) proofs: Vec<&'static str>,
    /// Whether every token must be bound to a key.
    pub(crate) bound_only: bool,
    /// Whether tokens that are bound to certificates are taken.
    pub(crate) certificates: bool,
}

#[derive(Serialize)]
struct Document<'r> {
    resource: String,
    authorization_servers: &'r [String],
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    scopes_supported: &'r [String],
    dpop_signing_alg_values_supported: &'r [&'static str],
    dpop_bound_access_tokens_required: bool,
    tls_client_certificate_bound_access_tokens: bool,
}

impl Resource {
    /// The host that clients name.
    pub(crate) fn host(&self) -> Option<String> {
        let url: http::Uri = self.base.parse().ok()?;
        Some(url.host()?.to_owned())
    }

    /// The resource at a path: what a token must be for, and what a proof must
    /// be made for.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether every token needs a DPoP proof: where certificates are taken, one can
    /// be bound to a certificate instead.
    pub(crate) fn proofs_required(&self) -> bool {
        self.bound_only && !self.certificates
    }

    /// Where the metadata of the resource at a path is.
    pub(crate) fn metadata_url(&self, path: &str) -> String {
        format!("{}{WELL_KNOWN}{path}", self.base)
    }

    /// The metadata of the resource at a path, as JSON.
    pub(crate) fn metadata(&self, path: &str) -> Vec<u8> {
        let document = Document {
            resource: self.at(path),
            authorization_servers: &self.issuers,
            bearer_methods_supported: ["header"],
            scopes_supported: &self.scopes,
            dpop_signing_alg_values_supported: &self.proofs,
            dpop_bound_access_tokens_required: self.proofs_required(),
            tls_client_certificate_bound_access_tokens: self.certificates,
        };
        // INVARIANT: texts and truth values always have a form.
        serde_json::to_vec(&document).unwrap_or_default()
    }
}
