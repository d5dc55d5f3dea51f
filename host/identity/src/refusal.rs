//! Why nobody was recognised: what the caller may know, and what the operator.
//!
//! The code is the caller's; it tells what to do and not what is known here.
//! The [`Fault`] is the operator's: it labels a metric and stands in the log.

use thiserror::Error;

/// A credential that names no agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is none, or none that the gateway takes.
    #[error("no credential that names an agent")]
    Missing,
    /// There are two, or one stands where none may.
    #[error("the credential is not given once, in its header")]
    Ambiguous,
    /// The token is none of an issuer that is trusted.
    #[error("the token does not hold: {0}")]
    Token(Fault),
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It was issued for somebody else.
    #[error("the token is for another audience")]
    Audience,
    /// It does not reach so far.
    #[error("the token lacks a scope")]
    Scope,
    /// It is bound to a key, and nothing shows who holds that.
    #[error("the token is bound to a key whose possession was not proved")]
    ProofRequired,
    /// The proof does not hold.
    #[error("the proof of possession does not hold: {0}")]
    Proof(Fault),
    /// The proof was used before.
    #[error("the proof of possession was used before")]
    ProofReplayed,
    /// The proof lacks the nonce that the gateway gave.
    #[error("the proof of possession lacks a current nonce")]
    ProofNonce,
    /// It is bound to a certificate, and the connection has none.
    #[error("the token is bound to a certificate, and the connection has none")]
    CertificateRequired,
    /// It is bound to another certificate than the connection's.
    #[error("the token is bound to another certificate than the connection's")]
    OtherCertificate,
    /// The certificate names no workload.
    #[error("the certificate names no workload: {0}")]
    Certificate(Fault),
    /// The issuer's keys are not at hand.
    #[error("the issuer's keys are not at hand")]
    KeysUnavailable,
}

/// What is wrong with a token, a proof or a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It is not of its form.
    #[error("form")]
    Form,
    /// Its type is another one's.
    #[error("type")]
    Type,
    /// It asks for an extension that is not understood.
    #[error("critical")]
    Critical,
    /// Its algorithm is not allowed.
    #[error("algorithm")]
    Algorithm,
    /// Its issuer is not trusted.
    #[error("issuer")]
    Issuer,
    /// No key of the issuer's is the one that it names.
    #[error("key")]
    Key,
    /// Its signature is not that key's.
    #[error("signature")]
    Signature,
    /// A claim is missing or is not of its form.
    #[error("claims")]
    Claims,
    /// It is bound in a way that is not understood.
    #[error("confirmation")]
    Confirmation,
    /// It was made for another method.
    #[error("method")]
    Method,
    /// It was made for another URL.
    #[error("url")]
    Url,
    /// It was made too long ago, or in the future.
    #[error("time")]
    Time,
    /// It was made for another token.
    #[error("token")]
    Token,
    /// Its key is not the one that the token is bound to.
    #[error("binding")]
    Binding,
    /// It does not have exactly one URI, or that is no workload's.
    #[error("name")]
    Name,
    /// Its uses are not those of a workload.
    #[error("usage")]
    Usage,
    /// It is of another trust domain.
    #[error("domain")]
    Domain,
    /// An authority was taken out since the connection was made.
    #[error("authority")]
    Authority,
}

impl Refusal {
    /// The stable code, as callers see it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Missing => "unauthenticated",
            Self::Ambiguous => "authorization-malformed",
            Self::Token(_) => "token-invalid",
            Self::Expired => "token-expired",
            Self::NotYetValid => "token-not-yet-valid",
            Self::Audience => "token-audience",
            Self::Scope => "token-scope",
            Self::ProofRequired | Self::CertificateRequired => "proof-required",
            Self::Proof(_) | Self::OtherCertificate => "proof-invalid",
            Self::ProofReplayed => "proof-replayed",
            Self::ProofNonce => "proof-nonce",
            Self::Certificate(_) => "client-certificate",
            Self::KeysUnavailable => "issuer-unavailable",
        }
    }

    /// The operator's word for it; at most a few dozen of them.
    #[must_use]
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::Token(fault) | Self::Proof(fault) | Self::Certificate(fault) => Some(fault),
            Self::OtherCertificate => Some(Fault::Binding),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_code_and_only_a_malformed_credential_a_fault() {
        let fault = Fault::Signature;
        for (refusal, code, says) in [
            (Refusal::Missing, "unauthenticated", false),
            (Refusal::Ambiguous, "authorization-malformed", false),
            (Refusal::Token(fault), "token-invalid", true),
            (Refusal::Expired, "token-expired", false),
            (Refusal::NotYetValid, "token-not-yet-valid", false),
            (Refusal::Audience, "token-audience", false),
            (Refusal::Scope, "token-scope", false),
            (Refusal::ProofRequired, "proof-required", false),
            (Refusal::Proof(fault), "proof-invalid", true),
            (Refusal::ProofReplayed, "proof-replayed", false),
            (Refusal::ProofNonce, "proof-nonce", false),
            (Refusal::CertificateRequired, "proof-required", false),
            (Refusal::Certificate(fault), "client-certificate", true),
            (Refusal::KeysUnavailable, "issuer-unavailable", false),
        ] {
            assert_eq!(refusal.code(), code);
            assert_eq!(refusal.fault(), says.then_some(fault), "{code}");
        }
        let other = Refusal::OtherCertificate;
        let says = (other.code(), other.fault());
        assert_eq!(says, ("proof-invalid", Some(Fault::Binding)));
    }
}
