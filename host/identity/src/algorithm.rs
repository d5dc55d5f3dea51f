//! The signature algorithms that are taken: asymmetric ones, and no other.

use std::fmt;
use std::str::FromStr;

use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, UnparsedPublicKey,
};

use crate::jwk::{Curve, PublicKey};

/// An algorithm of RFC 7518 or RFC 8037. `none` and those with a shared secret
/// have no name here, so that no configuration can allow them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// ECDSA on P-256.
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// Ed25519.
    EdDsa,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
}

/// A text that names no algorithm that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no asymmetric algorithm that is taken")]
pub struct UnknownAlgorithm;

impl Algorithm {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
    ];

    /// As `alg` has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
        }
    }

    /// Whether a key can be used under it.
    pub(crate) fn fits(self, key: &PublicKey) -> bool {
        match key {
            PublicKey::Ec(Curve::P256, _) => self == Self::Es256,
            PublicKey::Ec(Curve::P384, _) => self == Self::Es384,
            PublicKey::Ed25519(_) => self == Self::EdDsa,
            PublicKey::Rsa { .. } => matches!(
                self,
                Self::Rs256 | Self::Rs384 | Self::Rs512 | Self::Ps256 | Self::Ps384 | Self::Ps512
            ),
        }
    }

    /// Whether `signature` over `message` is that key's, under this algorithm.
    pub(crate) fn verifies(self, key: &PublicKey, message: &[u8], signature: &[u8]) -> bool {
        if !self.fits(key) {
            return false;
        }
        let plain = |algorithm: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key)
                .verify(message, signature)
                .is_ok()
        };
        match key {
            PublicKey::Ec(Curve::P256, point) => plain(&ECDSA_P256_SHA256_FIXED, point),
            PublicKey::Ec(Curve::P384, point) => plain(&ECDSA_P384_SHA384_FIXED, point),
            PublicKey::Ed25519(key) => plain(&ED25519, key),
            PublicKey::Rsa { n, e } => {
                let parameters = match self {
                    Self::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
                    Self::Rs384 => &RSA_PKCS1_2048_8192_SHA384,
                    Self::Rs512 => &RSA_PKCS1_2048_8192_SHA512,
                    Self::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    Self::Ps384 => &RSA_PSS_2048_8192_SHA384,
                    Self::Ps512 => &RSA_PSS_2048_8192_SHA512,
                    Self::Es256 | Self::Es384 | Self::EdDsa => return false,
                };
                signature::RsaPublicKeyComponents { n, e }
                    .verify(parameters, message, signature)
                    .is_ok()
            }
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.as_str() == text)
            .ok_or(UnknownAlgorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_none_nor_a_shared_secret_nor_another_spelling_is_an_algorithm() {
        for text in [
            "none", "None", "HS256", "HS384", "HS512", "es256", "", "ES512",
        ] {
            assert_eq!(text.parse::<Algorithm>(), Err(UnknownAlgorithm), "{text}");
        }
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
        }
    }

    #[test]
    fn each_key_fits_the_algorithms_of_its_kind_alone() {
        let rsa = PublicKey::Rsa {
            n: vec![1],
            e: vec![1],
        };
        for (key, fitting) in [
            (PublicKey::Ec(Curve::P256, Vec::new()), "ES256"),
            (PublicKey::Ec(Curve::P384, Vec::new()), "ES384"),
            (PublicKey::Ed25519(Vec::new()), "EdDSA"),
            (rsa, "RS256 RS384 RS512 PS256 PS384 PS512"),
        ] {
            let fits = Algorithm::ALL.iter().filter(|one| one.fits(&key));
            let fits: Vec<&str> = fits.map(|one| one.as_str()).collect();
            assert_eq!(fits.join(" "), fitting, "{key:?}");
        }
    }

    #[test]
    fn a_signature_on_p_384_is_its_keys_alone() {
        use ring::signature::{ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

        let random = ring::rand::SystemRandom::new();
        let kind = &ECDSA_P384_SHA384_FIXED_SIGNING;
        let make = || {
            let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
            EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap()
        };
        let (ours, other) = (make(), make());
        let public =
            |pair: &EcdsaKeyPair| PublicKey::Ec(Curve::P384, pair.public_key().as_ref().to_vec());
        let signature = ours.sign(&random, b"said").unwrap();
        let verifies = |algorithm: Algorithm, key: &EcdsaKeyPair, message: &[u8]| {
            algorithm.verifies(&public(key), message, signature.as_ref())
        };
        assert!(verifies(Algorithm::Es384, &ours, b"said"));
        assert!(!verifies(Algorithm::Es384, &ours, b"not said"));
        assert!(!verifies(Algorithm::Es384, &other, b"said"));
        assert!(!verifies(Algorithm::Es256, &ours, b"said"));
    }
}
