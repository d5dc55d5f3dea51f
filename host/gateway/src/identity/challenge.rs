//! `WWW-Authenticate`: what to do about a refusal (RFC 6750 §3, RFC 9449 §7.1,
//! RFC 9728 §5.1).

use countersign_identity::Refusal;
use http::HeaderValue;

use super::{Identities, Scheme};

/// The challenges of a refusal; none where a credential would not help. `scheme` is
/// that of the credential that was refused, and `path` leads to the server that was
/// asked for, as it is configured: never what a caller wrote.
pub(crate) fn challenge(
    identities: &Identities,
    refusal: Refusal,
    scheme: Option<Scheme>,
    path: Option<&str>,
) -> Vec<HeaderValue> {
    let Some(resource) = identities.resource() else {
        // Who has a certificate and nothing else is asked for nothing here.
        let bare = identities.tokens.is_some();
        return bare
            .then(|| HeaderValue::from_static("Bearer"))
            .into_iter()
            .collect();
    };
    let mut members = Vec::new();
    if let Some(path) = path {
        let url = resource.metadata_url(path);
        members.push(format!("resource_metadata=\"{url}\""));
    }
    if let Some(error) = error(refusal) {
        members.push(format!("error=\"{error}\""));
    }
    if !resource.scopes.is_empty() {
        members.push(format!("scope=\"{}\"", resource.scopes.join(" ")));
    }
    let bearer = format!("Bearer {}", members.join(", "));
    let algorithms = identities.proof_algorithms().unwrap_or_default();
    members.insert(0, format!("algs=\"{algorithms}\""));
    let dpop = format!("DPoP {}", members.join(", "));
    // The one that helps comes first; where every token needs a proof it is alone.
    let texts = match refusal {
        // The token is to be used otherwise, under the scheme that it came with
        // (RFC 8705 §3).
        Refusal::CertificateRequired | Refusal::OtherCertificate => match scheme {
            Some(Scheme::Dpop) => vec![dpop],
            _ => vec![bearer],
        },
        Refusal::ProofRequired
        | Refusal::Proof(_)
        | Refusal::ProofReplayed
        | Refusal::ProofNonce => vec![dpop],
        _ if resource.proofs_required() => vec![dpop],
        Refusal::Missing => vec![bearer, dpop],
        _ => vec![bearer],
    };
    // INVARIANT: a configuration's names are visible ASCII without quotes.
    texts
        .iter()
        .filter_map(|text| HeaderValue::from_str(text.trim_end()).ok())
        .collect()
}

/// The error of the standards; none where no credential was given.
fn error(refusal: Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::Missing | Refusal::KeysUnavailable => None,
        Refusal::Ambiguous => Some("invalid_request"),
        Refusal::Scope => Some("insufficient_scope"),
        Refusal::Token(_)
        | Refusal::Expired
        | Refusal::NotYetValid
        | Refusal::Audience
        | Refusal::ProofRequired
        | Refusal::CertificateRequired
        | Refusal::OtherCertificate
        | Refusal::Certificate(_) => Some("invalid_token"),
        Refusal::Proof(_) | Refusal::ProofReplayed => Some("invalid_dpop_proof"),
        Refusal::ProofNonce => Some("use_dpop_nonce"),
    }
}
