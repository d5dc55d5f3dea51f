//! A public key as JSON has it (RFC 7517), and its thumbprint (RFC 7638).

use countersign_canon::document::Item;
use sha2::{Digest as _, Sha256};

use crate::jose;
use crate::refusal::Fault;

/// A key that signatures are checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// An uncompressed point.
    Ec(Curve, Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
}

/// Members that a public key does not have.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

impl PublicKey {
    /// Reads a key; `None` for a kind that no algorithm here uses.
    pub(crate) fn read(jwk: Item<'_>) -> Result<Option<Self>, Fault> {
        // Somebody's private key is nobody's key any more.
        if PRIVATE.iter().any(|name| jwk.get(name).is_some()) {
            return Err(Fault::Key);
        }
        let member = |name: &str| -> Result<Vec<u8>, Fault> {
            let text = jwk.get(name).and_then(Item::text).ok_or(Fault::Key)?;
            jose::decode(&text).map_err(|_| Fault::Key)
        };
        let is = |name: &str, value: &str| jwk.get(name).is_some_and(|item| item.is_text(value));
        if is("kty", "EC") {
            let (curve, bytes) = match () {
                () if is("crv", "P-256") => (Curve::P256, 32),
                () if is("crv", "P-384") => (Curve::P384, 48),
                () => return Ok(None),
            };
            let (x, y) = (member("x")?, member("y")?);
            if x.len() != bytes || y.len() != bytes {
                return Err(Fault::Key);
            }
            return Ok(Some(Self::Ec(curve, [&[4], x.as_slice(), &y].concat())));
        }
        if is("kty", "OKP") && is("crv", "Ed25519") {
            let x = member("x")?;
            return if x.len() == 32 {
                Ok(Some(Self::Ed25519(x)))
            } else {
                Err(Fault::Key)
            };
        }
        if is("kty", "RSA") {
            let (n, e) = (member("n")?, member("e")?);
            // The shortest spelling, so that a key has one thumbprint.
            let shortest = |number: &[u8]| number.first().is_some_and(|byte| *byte != 0);
            if !shortest(&n) || !shortest(&e) || n.len() < 256 {
                return Err(Fault::Key);
            }
            return Ok(Some(Self::Rsa { n, e }));
        }
        Ok(None)
    }

    /// The thumbprint with SHA-256, in base64url.
    pub(crate) fn thumbprint(&self) -> String {
        let text = match self {
            Self::Ec(curve, point) => {
                let (name, bytes) = match curve {
                    Curve::P256 => ("P-256", 32),
                    Curve::P384 => ("P-384", 48),
                };
                let coordinates = point.get(1..).unwrap_or_default();
                let (x, y) = coordinates.split_at_checked(bytes).unwrap_or_default();
                let (x, y) = (jose::encode(x), jose::encode(y));
                format!(r#"{{"crv":"{name}","kty":"EC","x":"{x}","y":"{y}"}}"#)
            }
            Self::Ed25519(key) => {
                let x = jose::encode(key);
                format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#)
            }
            Self::Rsa { n, e } => {
                let (n, e) = (jose::encode(n), jose::encode(e));
                format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#)
            }
        };
        jose::encode(&Sha256::digest(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<PublicKey>, Fault> {
        let document = jose::object(text.as_bytes()).unwrap();
        PublicKey::read(document.root())
    }

    /// RFC 7638 §3.1 and RFC 8037 appendix A.3.
    #[test]
    fn thumbprints_are_those_of_the_standards() {
        let rsa = r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#;
        assert_eq!(
            read(rsa).unwrap().unwrap().thumbprint(),
            "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
        );
        let ed =
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        assert_eq!(
            read(ed).unwrap().unwrap().thumbprint(),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
    }

    #[test]
    fn private_keys_shared_secrets_and_small_ones_are_no_keys() {
        for text in [
            r#"{"kty":"oct","k":"AAAA"}"#,
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"AA"}"#,
            r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#,
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
            r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#,
        ] {
            assert_eq!(read(text), Err(Fault::Key), "{text}");
        }
        for text in [
            r#"{"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            r#"{"kty":"new","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            r#"{"kty":"EC","crv":"secp256k1"}"#,
            r#"{"kty":"new"}"#,
            "{}",
        ] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
    }

    /// Members of so many bytes, the first of which is `first`.
    fn number(first: u8, bytes: usize) -> String {
        let mut number = vec![7; bytes];
        number[0] = first;
        jose::encode(&number)
    }

    #[test]
    fn a_point_has_two_coordinates_of_its_curves_length() {
        for (curve, name, bytes) in [(Curve::P256, "P-256", 32), (Curve::P384, "P-384", 48)] {
            for (x, y) in [(0, 0), (1, 0), (0, 1), (16, 0), (0, 16), (1, 1)] {
                let (x, y) = (number(7, bytes - x), number(7, bytes - y));
                let text = format!(r#"{{"kty":"EC","crv":"{name}","x":"{x}","y":"{y}"}}"#);
                let whole = x.len() == y.len() && x.len() == number(7, bytes).len();
                let mut point = vec![7; 2 * bytes + 1];
                point[0] = 4;
                let expected = if whole {
                    Ok(Some(PublicKey::Ec(curve, point)))
                } else {
                    Err(Fault::Key)
                };
                assert_eq!(read(&text), expected, "{text}");
            }
        }
    }

    /// Computed with another implementation of SHA-256.
    #[test]
    fn the_thumbprint_of_a_key_on_p_384_is_over_its_own_coordinates() {
        let key = r#"{"kty":"EC","crv":"P-384","x":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8w","y":"ZWZnaGlqa2xtbm9wcXJzdHV2d3h5ent8fX5_gIGCg4SFhoeIiYqLjI2Oj5CRkpOU"}"#;
        assert_eq!(
            read(key).unwrap().unwrap().thumbprint(),
            "_OM8Oi-v-Zs3f6IytHUq1U-8CyHVAXRu67vaW-1_eVg"
        );
    }

    #[test]
    fn an_rsa_key_has_the_shortest_spelling_of_both_of_its_numbers() {
        for (n, e, read_as_key) in [
            (number(7, 256), number(7, 3), true),
            (number(0, 257), number(7, 3), false),
            (number(7, 256), number(0, 4), false),
            (number(7, 255), number(7, 3), false),
            (number(0, 257), number(0, 4), false),
        ] {
            let text = format!(r#"{{"kty":"RSA","n":"{n}","e":"{e}"}}"#);
            assert_eq!(read(&text).is_ok(), read_as_key, "{text}");
        }
    }
}
