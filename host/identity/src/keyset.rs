//! The keys of an issuer (RFC 7517 §5): a file, or what its URL gave last.

use countersign_canon::Limits;
use countersign_canon::document::{Document, Item, Kind};

use crate::algorithm::Algorithm;
use crate::jwk::PublicKey;

/// A set of public keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet {
    keys: Vec<Key>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    id: Option<String>,
    /// The only one that it may be used under, where it says so.
    algorithm: Option<String>,
    key: PublicKey,
}

/// A text that is no set of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedKeySet {
    /// It is not of the form of one.
    #[error("it is no JSON object with an array `keys`")]
    Form,
    /// It has more than [`KeySet::MOST`].
    #[error("it has more than 100 keys")]
    TooMany,
}

impl KeySet {
    /// The largest text that is read as one, in bytes.
    pub const MAX_BYTES: usize = 262_144;
    /// How many keys one may have.
    pub const MOST: usize = 100;

    /// Reads a set. Keys of other kinds, and those for encryption, are passed
    /// over; so is one that is malformed, since others are not made worse by it.
    /// Where none is left it is an empty set: its issuer has withdrawn all.
    ///
    /// # Errors
    /// [`MalformedKeySet`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedKeySet> {
        let limits = Limits {
            message_bytes: 262_144,
            depth: 16,
            number_bytes: 32,
            nodes: 8_192,
        };
        let document = Document::read(bytes, limits).map_err(|_| MalformedKeySet::Form)?;
        let list = document.root().get("keys");
        let list = list.filter(|list| list.kind() == Kind::Array);
        let list = list.ok_or(MalformedKeySet::Form)?;
        if list.count() > Self::MOST {
            return Err(MalformedKeySet::TooMany);
        }
        Ok(Self {
            keys: list.children().filter_map(key).collect(),
        })
    }

    /// The key that a token names; without a name, the only one that fits.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&PublicKey> {
        let mut fitting = self.keys.iter().filter(|key| {
            let named = id.is_none_or(|id| key.id.as_deref() == Some(id));
            let allowed = key.algorithm.as_deref();
            named
                && algorithm.fits(&key.key)
                && allowed.is_none_or(|allowed| allowed == algorithm.as_str())
        });
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Some(&key.key),
            _ => None,
        }
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

fn key(jwk: Item<'_>) -> Option<Key> {
    if jwk.kind() != Kind::Object {
        return None;
    }
    let signs = jwk.get("use").is_none_or(|used| used.is_text("sig"));
    let verifies = jwk
        .get("key_ops")
        .is_none_or(|uses| uses.children().any(|used| used.is_text("verify")));
    if !signs || !verifies {
        return None;
    }
    let text = |name: &str| jwk.get(name).map(|item| item.text().map(Into::into));
    // A member that is there and is no text makes the key unusable.
    let id = text("kid").map_or(Some(None), |text| text.map(Some))?;
    let algorithm = text("alg").map_or(Some(None), |text| text.map(Some))?;
    Some(Key {
        id,
        algorithm,
        key: PublicKey::read(jwk).ok()??,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED: &str =
        r#""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#;

    #[test]
    fn a_key_is_found_by_its_name_or_as_the_only_one() {
        let set = |keys: &str| KeySet::parse(format!("{{\"keys\":[{keys}]}}").as_bytes());
        let one = set(&format!("{{{ED},\"kid\":\"a\"}}")).unwrap();
        assert!(one.find(Some("a"), Algorithm::EdDsa).is_some());
        assert!(one.find(None, Algorithm::EdDsa).is_some());
        assert!(one.find(Some("b"), Algorithm::EdDsa).is_none());
        assert!(one.find(Some("a"), Algorithm::Es256).is_none());
        let two = set(&format!("{{{ED},\"kid\":\"a\"}},{{{ED},\"kid\":\"b\"}}")).unwrap();
        assert!(two.find(None, Algorithm::EdDsa).is_none(), "either of two");
        let other = set(&format!("{{{ED},\"alg\":\"Ed448\"}}")).unwrap();
        assert!(other.find(None, Algorithm::EdDsa).is_none());
        for (why, keys) in [
            ("none", String::new()),
            ("for encryption", format!("{{{ED},\"use\":\"enc\"}}")),
            ("a secret", r#"{"kty":"oct","k":"AAAA"}"#.to_owned()),
            ("a number for a name", format!("{{{ED},\"kid\":1}}")),
            ("no object", "1,null".to_owned()),
        ] {
            assert_eq!(set(&keys), Ok(KeySet::default()), "{why}");
        }
        let many = set(&vec!["{}"; 101].join(","));
        assert_eq!(many, Err(MalformedKeySet::TooMany));
        for text in ["{}", "", "[]", r#"{"keys":{}}"#, r#"{"keys":[]"#] {
            let read = KeySet::parse(text.as_bytes());
            assert_eq!(read, Err(MalformedKeySet::Form), "{text}");
        }
        let most = set(&vec![format!("{{{ED}}}"); KeySet::MOST].join(",")).unwrap();
        assert_eq!((most.len(), most.is_empty()), (KeySet::MOST, false));
        assert!(KeySet::default().is_empty());
    }
}
