//! The keys that sign checkpoints: Ed25519, in the text forms of signed notes.
//!
//! A key has the name of its log. Verifiers hold its text `NAME+HASH+KEY` (a
//! "vkey"), the log's owner the text `PRIVATE+KEY+NAME+HASH+SEED`, as C2SP's
//! signed-note and Go's `note` package write them. Files are the business of
//! [`crate::keyfile`].

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::{KeyRotation, LogId};

/// The only algorithm: Ed25519, as C2SP numbers it.
const ED25519: u8 = 1;
const PRIVATE: &str = "PRIVATE+KEY+";
const ROTATION: &str = "countersign.key-rotation.v1";

/// A text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedKey {
    /// It has not the form of a key.
    #[error("not a key: expected `NAME+HASH+BASE64`")]
    Form,
    /// Its algorithm is not Ed25519.
    #[error("the key's algorithm is not Ed25519")]
    Algorithm,
    /// Its hash is not that of its name and bytes.
    #[error("the key's hash does not fit its name and bytes")]
    Hash,
    /// Its bytes are no public key.
    #[error("the key's bytes are not an Ed25519 public key")]
    Point,
}

/// The key of a log's owner. Its text is a secret, and it is not `Debug`.
pub struct SigningKey {
    name: LogId,
    key: ed25519_dalek::SigningKey,
}

/// The key by which anyone checks a log's checkpoints.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    name: LogId,
    key: ed25519_dalek::VerifyingKey,
}

/// The four bytes that tell a note's keys apart.
pub(crate) type KeyHash = [u8; 4];

impl SigningKey {
    /// Makes a key from 32 bytes that the caller drew at random.
    #[must_use]
    pub fn from_seed(name: LogId, seed: &[u8; 32]) -> Self {
        Self {
            name,
            key: ed25519_dalek::SigningKey::from_bytes(seed),
        }
    }

    /// The log that it signs for.
    #[must_use]
    pub fn name(&self) -> &LogId {
        &self.name
    }

    /// What verifiers need to know of it.
    #[must_use]
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey {
            name: self.name.clone(),
            key: self.key.verifying_key(),
        }
    }

    /// The secret text, to be kept in a file that its owner alone can read.
    #[must_use]
    pub fn to_secret_text(&self) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new(vec![ED25519]);
        bytes.extend_from_slice(self.key.as_bytes());
        let hash = u32::from_be_bytes(self.verifying_key().hash());
        let seed = Zeroizing::new(STANDARD.encode(&*bytes));
        Zeroizing::new(format!("{PRIVATE}{}+{hash:08x}+{}", self.name, *seed))
    }

    /// Reads the secret text.
    ///
    /// # Errors
    /// A text that [`SigningKey::to_secret_text`] does not write.
    pub fn parse_secret(text: &str) -> Result<Self, MalformedKey> {
        let rest = text.strip_prefix(PRIVATE).ok_or(MalformedKey::Form)?;
        let (name, hash, bytes) = parts(rest)?;
        let seed = bytes
            .as_slice()
            .try_into()
            .map_err(|_| MalformedKey::Form)?;
        let key = Self::from_seed(name, seed);
        if key.verifying_key().hash() == hash {
            Ok(key)
        } else {
            Err(MalformedKey::Hash)
        }
    }

    /// Signs the statement that `next` is the log's key from here on.
    #[must_use]
    pub fn rotate(&self, next: &VerifyingKey) -> KeyRotation {
        let previous = self.verifying_key();
        let statement = rotation_statement(&previous, next);
        KeyRotation {
            previous: previous.to_string(),
            next: next.to_string(),
            signature: STANDARD.encode(self.sign(statement.as_bytes())),
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}

impl VerifyingKey {
    /// Reads a verifier's text `NAME+HASH+KEY`.
    ///
    /// # Errors
    /// Any other text, another algorithm, a hash that does not fit.
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        let (name, hash, bytes) = parts(text)?;
        let bytes: &[u8; 32] = bytes
            .as_slice()
            .try_into()
            .map_err(|_| MalformedKey::Form)?;
        let key =
            ed25519_dalek::VerifyingKey::from_bytes(bytes).map_err(|_| MalformedKey::Point)?;
        if key.is_weak() {
            return Err(MalformedKey::Point);
        }
        let key = Self { name, key };
        if key.hash() == hash {
            Ok(key)
        } else {
            Err(MalformedKey::Hash)
        }
    }

    /// The log whose checkpoints it checks.
    #[must_use]
    pub fn name(&self) -> &LogId {
        &self.name
    }

    /// The 32 bytes of the public key.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.key.to_bytes()
    }

    /// Checks a rotation that this key states, and gives the key that follows.
    /// `None` where the signature is not this key's, or the text is malformed.
    #[must_use]
    pub fn follow(&self, rotation: &KeyRotation) -> Option<Self> {
        let next = Self::parse(&rotation.next).ok()?;
        let signature = STANDARD.decode(&rotation.signature).ok()?;
        let signature = signature.as_slice().try_into().ok()?;
        let stated = rotation.previous == self.to_string();
        let statement = rotation_statement(self, &next);
        (stated && self.verifies(statement.as_bytes(), signature)).then_some(next)
    }

    /// `SHA-256(NAME ‖ LF ‖ 0x01 ‖ KEY)`, its first four bytes.
    pub(crate) fn hash(&self) -> KeyHash {
        let hash: [u8; 32] = Sha256::new()
            .chain_update(self.name.as_str())
            .chain_update([b'\n', ED25519])
            .chain_update(self.key.as_bytes())
            .finalize()
            .into();
        let [a, b, c, d, ..] = hash;
        [a, b, c, d]
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.key.verify_strict(message, &signature).is_ok()
    }
}

fn rotation_statement(previous: &VerifyingKey, next: &VerifyingKey) -> String {
    format!("{ROTATION}\n{previous}\n{next}\n")
}

/// Takes `NAME+HASH+BASE64` apart; the algorithm's byte is checked and left out.
fn parts(text: &str) -> Result<(LogId, KeyHash, Zeroizing<Vec<u8>>), MalformedKey> {
    // The name and the hash hold no `+`; the base64 may.
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(hash), Some(bytes)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(MalformedKey::Form);
    };
    let name = LogId::new(name).map_err(|_| MalformedKey::Form)?;
    let plain = hash.len() == 8 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let hash = u32::from_str_radix(hash, 16).map_err(|_| MalformedKey::Form)?;
    let mut bytes = Zeroizing::new(STANDARD.decode(bytes).map_err(|_| MalformedKey::Form)?);
    match bytes.first() {
        Some(&ED25519) if plain => {}
        Some(_) if plain => return Err(MalformedKey::Algorithm),
        _ => return Err(MalformedKey::Form),
    }
    bytes.remove(0);
    Ok((name, hash.to_be_bytes(), bytes))
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![ED25519];
        bytes.extend_from_slice(self.key.as_bytes());
        let hash = u32::from_be_bytes(self.hash());
        write!(f, "{}+{hash:08x}+{}", self.name, STANDARD.encode(bytes))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(LogId::new("gateway.example.com/1").unwrap(), &[seed; 32])
    }

    #[test]
    fn a_key_reads_back_from_its_texts() {
        let secret = key(1).to_secret_text();
        assert!(secret.starts_with("PRIVATE+KEY+gateway.example.com/1+"));
        let again = SigningKey::parse_secret(&secret).unwrap();
        assert_eq!(again.verifying_key(), key(1).verifying_key());
        let text = key(1).verifying_key().to_string();
        assert_eq!(VerifyingKey::parse(&text).unwrap(), key(1).verifying_key());
    }

    #[test]
    fn a_key_of_other_software_reads_as_ours_do() {
        // The example key of Go's golang.org/x/mod/sumdb/note.
        let text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        assert_eq!(VerifyingKey::parse(text).unwrap().to_string(), text);
    }

    #[test]
    fn a_text_that_is_no_key_is_refused() {
        let good = key(1).verifying_key().to_string();
        let renamed = good.replacen("/1+", "/2+", 1);
        let mut flipped = good.clone().into_bytes();
        let at = flipped.len() - 9;
        flipped[at] = if flipped[at] == b'A' { b'B' } else { b'A' };
        let flipped = String::from_utf8(flipped).unwrap();
        for (text, error) in [
            ("", MalformedKey::Form),
            ("a+b", MalformedKey::Form),
            ("a+00000000+AQ==", MalformedKey::Form),
            ("a+00000000+Ag==", MalformedKey::Algorithm),
            (renamed.as_str(), MalformedKey::Hash),
        ] {
            assert_eq!(VerifyingKey::parse(text).unwrap_err(), error, "`{text}`");
        }
        assert!(VerifyingKey::parse(&flipped).is_err());
        // A point of small order verifies signatures over anything.
        let weak = ed25519_dalek::VerifyingKey::from_bytes(&{
            let mut identity = [0; 32];
            identity[0] = 1;
            identity
        });
        let weak = VerifyingKey {
            name: LogId::new("a").unwrap(),
            key: weak.unwrap(),
        };
        assert_eq!(
            VerifyingKey::parse(&weak.to_string()).unwrap_err(),
            MalformedKey::Point
        );
    }

    #[test]
    fn only_the_key_in_force_can_name_the_next_one() {
        let (old, new, other) = (key(1), key(2), key(3));
        let rotation = old.rotate(&new.verifying_key());
        assert_eq!(
            old.verifying_key().follow(&rotation),
            Some(new.verifying_key())
        );
        assert_eq!(other.verifying_key().follow(&rotation), None);
        let forged = KeyRotation {
            next: other.verifying_key().to_string(),
            ..rotation
        };
        assert_eq!(old.verifying_key().follow(&forged), None);
    }
}
