//! Demonstrating proof of possession (RFC 9449): a proof shows that whoever
//! sends a token holds the key that it is bound to, for this request and once.

use ring::hmac;
use sha2::{Digest as _, Sha256};

use crate::algorithm::Algorithm;
use crate::jose::{self, Compact};
use crate::jwk::PublicKey;
use crate::refusal::{Fault, Refusal};

/// What proofs must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofRules {
    /// Under which they may be signed.
    pub algorithms: Vec<Algorithm>,
    /// How old one may be, in seconds.
    pub age_s: i64,
    /// By how many seconds the caller's clock may differ.
    pub skew_s: i64,
}

/// The request that a proof is for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'r> {
    /// The HTTP method.
    pub method: &'r str,
    /// The URL without query and fragment, as the outside world has it.
    pub url: &'r str,
    /// The access token that comes with it.
    pub token: &'r str,
}

/// Which proofs have to have a nonce that was given here.
#[derive(Clone, Copy, Debug)]
pub struct Nonced<'n> {
    /// Who gives them.
    pub nonces: &'n Nonces,
    /// Those that say that they were made until then, in seconds since 1970.
    pub made_until_s: i64,
}

/// A proof that holds; that it is used once is still to be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The thumbprint of its key.
    pub jkt: String,
    /// What no other proof under this key has.
    pub jti: String,
}

impl Proof {
    /// Checks a proof.
    ///
    /// # Errors
    /// [`Refusal::Proof`], [`Refusal::ProofNonce`].
    pub fn check(
        text: &str,
        target: Target<'_>,
        rules: &ProofRules,
        nonced: Option<Nonced<'_>>,
        now_s: i64,
    ) -> Result<Self, Refusal> {
        let compact = Compact::read(text).map_err(Refusal::Proof)?;
        let key = signed(&compact, rules).map_err(Refusal::Proof)?;
        let claims = jose::object(&compact.payload).map_err(Refusal::Proof)?;
        let claims = claims.root();
        let text = |name| jose::text(claims, name).map_err(Refusal::Proof);
        if text("htm")?.as_deref() != Some(target.method) {
            return Err(Refusal::Proof(Fault::Method));
        }
        let url = text("htu")?.unwrap_or_default();
        if normal(&url) != normal(target.url) {
            return Err(Refusal::Proof(Fault::Url));
        }
        let hash = jose::encode(&Sha256::digest(target.token));
        if text("ath")?.as_deref() != Some(&hash) {
            return Err(Refusal::Proof(Fault::Token));
        }
        let made = jose::date(claims, "iat").map_err(Refusal::Proof)?;
        let made = made.ok_or(Refusal::Proof(Fault::Claims))?;
        let (oldest, newest) = (now_s - rules.age_s, now_s + rules.skew_s);
        if !(oldest..=newest).contains(&made) {
            return Err(Refusal::Proof(Fault::Time));
        }
        if let Some(nonced) = nonced.filter(|nonced| made <= nonced.made_until_s) {
            let nonce = text("nonce")?.ok_or(Refusal::ProofNonce)?;
            if !nonced.nonces.knows(&nonce, now_s) {
                return Err(Refusal::ProofNonce);
            }
        }
        let jti = text("jti")?.filter(|jti| (1..=512).contains(&jti.len()));
        Ok(Self {
            jkt: key.thumbprint(),
            jti: jti.ok_or(Refusal::Proof(Fault::Claims))?,
        })
    }
}

/// The key in the header, which is the one that signed it.
fn signed(compact: &Compact<'_>, rules: &ProofRules) -> Result<PublicKey, Fault> {
    let header = jose::object(&compact.header)?;
    let header = header.root();
    if header.get("crit").is_some() {
        return Err(Fault::Critical);
    }
    if jose::text(header, "typ")?.as_deref() != Some("dpop+jwt") {
        return Err(Fault::Type);
    }
    let algorithm = jose::text(header, "alg")?.ok_or(Fault::Algorithm)?;
    let algorithm: Algorithm = algorithm.parse().map_err(|_| Fault::Algorithm)?;
    if !rules.algorithms.contains(&algorithm) {
        return Err(Fault::Algorithm);
    }
    let key = header.get("jwk").ok_or(Fault::Key)?;
    let key = PublicKey::read(key)?.ok_or(Fault::Key)?;
    if algorithm.verifies(&key, compact.signed, &compact.signature) {
        Ok(key)
    } else {
        Err(Fault::Signature)
    }
}

/// A URL without query and fragment, its scheme and host in lower case, without
/// its scheme's own port (RFC 3986 §6.2.2 and §6.2.3).
fn normal(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return String::new();
    };
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let authority = authority.to_ascii_lowercase();
    let own = match scheme.as_str() {
        "https" => ":443",
        "http" => ":80",
        _ => "",
    };
    let authority = authority.strip_suffix(own).unwrap_or(&authority);
    format!("{scheme}://{authority}{path}")
}

/// Nonces that this gateway gives, which it knows again without keeping them.
#[derive(Clone)]
pub struct Nonces {
    key: hmac::Key,
}

impl Nonces {
    /// How long one is taken, in seconds.
    pub const LIFE_S: i64 = 300;

    /// Under a key that is random and nobody else's.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
        }
    }

    /// The nonce that is given now.
    #[must_use]
    pub fn current(&self, now_s: i64) -> String {
        let time = now_s.to_be_bytes();
        let tag = hmac::sign(&self.key, &tagged(time));
        jose::encode(&[&time[..], tag.as_ref()].concat())
    }

    fn knows(&self, nonce: &str, now_s: i64) -> bool {
        let Ok(bytes) = jose::decode(nonce) else {
            return false;
        };
        let Some((time, tag)) = bytes.split_first_chunk::<8>() else {
            return false;
        };
        let given = i64::from_be_bytes(*time);
        // Compares in constant time.
        hmac::verify(&self.key, &tagged(*time), tag).is_ok()
            && (given..given.saturating_add(Self::LIFE_S)).contains(&now_s)
    }
}

/// With a heading, so that the key serves nothing else.
fn tagged(time: [u8; 8]) -> Vec<u8> {
    [b"countersign.dpop-nonce.v1\n".as_slice(), &time].concat()
}

impl std::fmt::Debug for Nonces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nonces").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_name_the_same_are_the_same_and_others_are_not() {
        let ours = normal("https://gateway.example/mcp/up");
        for (url, same) in [
            ("https://gateway.example/mcp/up", true),
            ("HTTPS://Gateway.Example:443/mcp/up", true),
            ("https://gateway.example/mcp/up?x=1#y", true),
            ("https://gateway.example/mcp/up/", false),
            ("https://gateway.example/MCP/up", false),
            ("http://gateway.example/mcp/up", false),
            ("https://gateway.example:444/mcp/up", false),
            ("https://gateway.example.evil/mcp/up", false),
            ("/mcp/up", false),
        ] {
            assert_eq!(normal(url) == ours, same, "{url}");
        }
        assert_eq!(normal("http://h"), normal("http://h:80/"));
    }

    #[test]
    fn a_nonce_is_known_for_five_minutes_and_only_by_who_gave_it() {
        let ours = Nonces::new([1; 32]);
        let nonce = ours.current(1_000);
        assert!(ours.knows(&nonce, 1_000) && ours.knows(&nonce, 1_299));
        assert!(!ours.knows(&nonce, 1_300) && !ours.knows(&nonce, 999));
        assert!(!Nonces::new([2; 32]).knows(&nonce, 1_000));
        assert!(!ours.knows("", 1_000) && !ours.knows("AAAA", 1_000));
    }

    #[test]
    fn a_nonce_cannot_be_given_another_time() {
        let ours = Nonces::new([1; 32]);
        let given = jose::decode(&ours.current(1_000)).unwrap();
        let later = [&1_300_i64.to_be_bytes(), &given[8..]].concat();
        assert!(!ours.knows(&jose::encode(&later), 1_300));
        assert!(ours.knows(&ours.current(1_300), 1_300));
    }

    #[test]
    fn a_tag_over_a_time_alone_is_no_nonce() {
        let key = [1; 32];
        let time = 1_000_i64.to_be_bytes();
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &time);
        let forged = jose::encode(&[&time[..], tag.as_ref()].concat());
        assert!(!Nonces::new(key).knows(&forged, 1_000));
    }
}
