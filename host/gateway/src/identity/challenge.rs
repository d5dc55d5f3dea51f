//! `WWW-Authenticate`: what to do about a refusal (RFC 6750 §3, RFC 9449 §7.1,
//! RFC 9728 §5.1).

use countersign_identity::Refusal;
use http::HeaderValue;

use super::Identities;

/// The challenges of a refusal at a path; none where a credential would not
/// help.
pub(crate) fn challenge(identities: &Identities, refusal: Refusal, path: &str) -> Vec<HeaderValue> {
    let Some(resource) = identities.resource() else {
        // Who has a certificate and nothing else is asked for nothing here.
        let bare = identities.tokens.is_some();
        return bare
            .then(|| HeaderValue::from_static("Bearer"))
            .into_iter()
            .collect();
    };
    let mut rest = String::new();
    if let Some(error) = error(refusal) {
        rest.push_str(&format!(", error=\"{error}\""));
    }
    if !resource.scopes.is_empty() {
        rest.push_str(&format!(", scope=\"{}\"", resource.scopes.join(" ")));
    }
    let url = resource.metadata_url(path);
    let of_a_proof = matches!(
        refusal,
        Refusal::ProofRequired | Refusal::Proof(_) | Refusal::ProofReplayed | Refusal::ProofNonce
    );
    let bearer = format!("Bearer resource_metadata=\"{url}\"{rest}");
    let algorithms = identities.proof_algorithms().unwrap_or_default();
    let dpop = format!("DPoP algs=\"{algorithms}\", resource_metadata=\"{url}\"{rest}");
    // The one that helps comes first; where every token is bound it is alone.
    let texts = match (of_a_proof || resource.bound_only, refusal) {
        (true, _) => vec![dpop],
        (false, Refusal::Missing) => vec![bearer, dpop],
        (false, _) => vec![bearer],
    };
    // INVARIANT: a configuration's names are visible ASCII without quotes.
    texts
        .iter()
        .filter_map(|text| HeaderValue::from_str(text).ok())
        .collect()
}

/// The error of the standards; none where no credential was given.
fn error(refusal: Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::Missing | Refusal::KeysUnavailable | Refusal::ProofRate => None,
        Refusal::Ambiguous => Some("invalid_request"),
        Refusal::Scope => Some("insufficient_scope"),
        Refusal::Token(_)
        | Refusal::Expired
        | Refusal::NotYetValid
        | Refusal::Audience
        | Refusal::ProofRequired
        | Refusal::Certificate(_) => Some("invalid_token"),
        Refusal::Proof(_) | Refusal::ProofReplayed => Some("invalid_dpop_proof"),
        Refusal::ProofNonce => Some("use_dpop_nonce"),
    }
}
