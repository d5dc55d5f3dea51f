//! Digests as they are written everywhere: `sha256:` and lowercase hex.

use core::fmt;
use core::str::FromStr;

use sha2::{Digest as _, Sha256};

const PREFIX: &[u8; 7] = b"sha256:";
const LEN: usize = 7 + 64;

/// A SHA-256 digest in its written form, `sha256:` and 64 lowercase
/// hexadecimal digits; compared as that whole string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; LEN]);

/// A text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDigest;

impl Digest {
    /// The digest of the concatenation of `parts`.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self::from_bytes(hash.finalize().into())
    }

    /// Writes 32 raw bytes as a digest.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; LEN];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX);
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            if let [high, low] = pair {
                *high = HEX.get(usize::from(byte >> 4)).copied().unwrap_or(b'0');
                *low = HEX.get(usize::from(byte & 15)).copied().unwrap_or(b'0');
            }
        }
        Self(text)
    }

    /// The 32 bytes that this digest writes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (byte, pair) in bytes
            .iter_mut()
            .zip(self.0.get(7..).unwrap_or_default().chunks_exact(2))
        {
            let [high, low] = pair else { continue };
            let value = |digit: u8| {
                if digit <= b'9' {
                    digit - b'0'
                } else {
                    digit - b'a' + 10
                }
            };
            *byte = value(*high) << 4 | value(*low);
        }
        bytes
    }

    /// `sha256:` and 64 lowercase hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // INVARIANT: only ASCII is ever stored.
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for Digest {
    type Err = MalformedDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes: [u8; LEN] = text.as_bytes().try_into().map_err(|_| MalformedDigest)?;
        let digits = bytes.strip_prefix(PREFIX).ok_or(MalformedDigest)?;
        if digits
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        {
            Ok(Self(bytes))
        } else {
            Err(MalformedDigest)
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for MalformedDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is `sha256:` and 64 lowercase hexadecimal digits")
    }
}

impl core::error::Error for MalformedDigest {}
