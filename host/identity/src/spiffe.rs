//! A workload's certificate: an X.509-SVID (SPIFFE), whose chain was verified
//! by whoever accepted the connection.
//!
//! Exactly one URI, which is the workload's name in the trust domain; the
//! certificate signs for itself and for no other.

use std::fmt;
use std::str::FromStr;

use countersign_evidence::Agent;
use sha2::{Digest as _, Sha256};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage, SubjectAltName};

use crate::jose;
use crate::refusal::Fault;

/// A trust domain: 1 to 255 of `a-z`, `0-9`, `.`, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustDomain(String);

/// A text that is no trust domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trust domain is 1 to 255 of a-z, 0-9, `.`, `-` and `_`")]
pub struct MalformedTrustDomain;

/// The name of a workload: `spiffe://DOMAIN/PATH`, at most 2,048 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpiffeId {
    domain: TrustDomain,
    path: String,
}

/// What a leaf certificate says of its workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Svid {
    /// Its name.
    pub id: SpiffeId,
    /// Until when it holds, in seconds since 1970.
    pub until_s: i64,
}

impl TrustDomain {
    /// The domain.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TrustDomain {
    type Err = MalformedTrustDomain;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sound = (1..=255).contains(&text.len())
            && text
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_'));
        if sound {
            Ok(Self(text.to_owned()))
        } else {
            Err(MalformedTrustDomain)
        }
    }
}

impl Svid {
    /// Reads a leaf certificate.
    ///
    /// # Errors
    /// [`Fault::Form`], [`Fault::Name`], [`Fault::Usage`].
    pub fn read(der: &[u8]) -> Result<Self, Fault> {
        let certificate = Certificate::from_der(der).map_err(|_| Fault::Form)?;
        let certificate = certificate.tbs_certificate();
        usage(certificate)?;
        let names: Option<(bool, SubjectAltName)> =
            certificate.get_extension().map_err(|_| Fault::Form)?;
        let (_, names) = names.ok_or(Fault::Name)?;
        let mut uris = names.0.iter().filter_map(|name| match name {
            GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str()),
            _ => None,
        });
        let id = match (uris.next(), uris.next()) {
            (Some(uri), None) => uri.parse()?,
            _ => return Err(Fault::Name),
        };
        let until = certificate.validity().not_after.to_unix_duration();
        let until_s = i64::try_from(until.as_secs()).map_err(|_| Fault::Form)?;
        Ok(Self { id, until_s })
    }
}

impl SpiffeId {
    /// The workload, where it is of `domain`: method `mtls`, the trust domain,
    /// the path.
    ///
    /// # Errors
    /// [`Fault::Domain`].
    pub fn agent(self, domain: &TrustDomain) -> Result<Agent, Fault> {
        if self.domain != *domain {
            return Err(Fault::Domain);
        }
        Ok(Agent {
            method: "mtls".to_owned(),
            issuer: self.domain.0,
            subject: self.path,
        })
    }
}

/// A leaf that signs, and that is no authority.
fn usage(certificate: &x509_cert::TbsCertificate) -> Result<(), Fault> {
    let constraints: Option<(bool, BasicConstraints)> =
        certificate.get_extension().map_err(|_| Fault::Form)?;
    let usage: Option<(bool, KeyUsage)> = certificate.get_extension().map_err(|_| Fault::Form)?;
    let (_, usage) = usage.ok_or(Fault::Usage)?;
    let authority = constraints.is_some_and(|(_, constraints)| constraints.ca);
    if authority || !usage.digital_signature() || usage.key_cert_sign() || usage.crl_sign() {
        return Err(Fault::Usage);
    }
    Ok(())
}

impl FromStr for SpiffeId {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let rest = text.strip_prefix("spiffe://").ok_or(Fault::Name)?;
        let at = rest.find('/').ok_or(Fault::Name)?;
        let (domain, path) = rest.split_at(at);
        let segment = |segment: &str| {
            !matches!(segment, "" | "." | "..")
                && segment
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
        };
        let sound = text.len() <= 2_048 && path.split('/').skip(1).all(segment);
        if !sound {
            return Err(Fault::Name);
        }
        Ok(Self {
            domain: domain.parse().map_err(|_| Fault::Name)?,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spiffe://{}{}", self.domain.0, self.path)
    }
}

/// The thumbprint of a certificate, as `x5t#S256` has it (RFC 8705 §3.1).
#[must_use]
pub fn thumbprint(der: &[u8]) -> String {
    jose::encode(&Sha256::digest(der))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_domain_and_a_path_of_plain_segments() {
        for (text, read) in [
            ("spiffe://example.org/billing", true),
            ("spiffe://example.org/ns/a/sa/b_c-d.e", true),
            ("spiffe://example.org", false),
            ("spiffe://example.org/", false),
            ("spiffe://example.org/a/", false),
            ("spiffe://example.org//a", false),
            ("spiffe://example.org/a/../b", false),
            ("spiffe://example.org/a?b", false),
            ("spiffe://example.org/a%2fb", false),
            ("spiffe://Example.org/a", false),
            ("spiffe://example.org:1/a", false),
            ("spiffe://u@example.org/a", false),
            ("SPIFFE://example.org/a", false),
            ("https://example.org/a", false),
            ("spiffe:///a", false),
        ] {
            let id = text.parse::<SpiffeId>();
            assert_eq!(id.is_ok(), read, "{text}");
            if let Ok(id) = id {
                assert_eq!(id.to_string(), text);
            }
        }
        assert!(
            format!("spiffe://e/{}", "a".repeat(2_048))
                .parse::<SpiffeId>()
                .is_err()
        );
    }

    #[test]
    fn a_domain_and_a_thumbprint_are_told_as_they_are() {
        let domain: TrustDomain = "example.org".parse().unwrap();
        assert_eq!(domain.as_str(), "example.org");
        // SHA-256 of nothing.
        assert_eq!(
            thumbprint(b""),
            "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
        );
    }
}
