//! A vendor's word that these bytes are that profile: a signed note beside the
//! component (`docs/spec/action-binding.md` §5).
//!
//! ```text
//! countersign.profile-signature.v1
//! decimal@1.0.0
//! sha256:…
//!
//! — vendor.example/profiles …
//! ```
//!
//! The first line keeps a vendor's key from being taken for a log's, and the
//! other way round: no checkpoint is such a note. Which keys are trusted, and
//! for which profiles, is the operator's to say.

use countersign_canon::{Digest, ProfileId};

use crate::key::{SigningKey, VerifyingKey};
use crate::note::{self, Note};

const DOMAIN: &str = "countersign.profile-signature.v1";

/// A note about a component, not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileSignature {
    profile: ProfileId,
    component: Digest,
    note: Note,
}

/// Why a component is not taken on a vendor's word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// It is no note about a component.
    #[error("it is no signed note with the lines `{DOMAIN}`, a profile and a component's digest")]
    Malformed,
    /// Nobody who is trusted for this profile signed it.
    #[error("none of the keys that are trusted for it signed it")]
    UnknownVendor,
    /// The signature in a trusted key's name is not that key's, or the text was
    /// changed.
    #[error("the signature in the name of `{0}` does not hold for its text")]
    Invalid(String),
    /// The vendor signed something else.
    #[error("`{vendor}` signed `{signed}`, and this is `{found}`")]
    Other {
        /// Whose key it is.
        vendor: String,
        /// What was signed: a profile, or where that is the same, a digest.
        signed: String,
        /// What there is.
        found: String,
    },
}

impl SignatureProblem {
    /// Every code, for the pages that explain them.
    pub const CODES: [&'static str; 4] = [
        "profile-signature-malformed",
        "profile-vendor-unknown",
        "profile-signature-invalid",
        "profile-signature-other",
    ];

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed => "profile-signature-malformed",
            Self::UnknownVendor => "profile-vendor-unknown",
            Self::Invalid(_) => "profile-signature-invalid",
            Self::Other { .. } => "profile-signature-other",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Malformed => "fetch the `.sig` that the vendor published beside the component",
            Self::UnknownVendor => {
                "name the vendor's key, and this profile, where trusted vendors are named; only if you trust them"
            }
            Self::Invalid(_) => "do not use the component: the note was changed, or forged",
            Self::Other { .. } => "fetch the component and its `.sig` together, of one version",
        }
    }
}

/// Signs that the component with that digest is that profile; gives the note.
#[must_use]
pub fn sign(key: &SigningKey, profile: &ProfileId, component: Digest) -> String {
    note::sign(&format!("{DOMAIN}\n{profile}\n{component}\n"), key)
}

impl ProfileSignature {
    /// Reads a note.
    ///
    /// # Errors
    /// [`SignatureProblem::Malformed`].
    pub fn parse(text: &str) -> Result<Self, SignatureProblem> {
        Self::read(text).ok_or(SignatureProblem::Malformed)
    }

    fn read(text: &str) -> Option<Self> {
        let note = Note::parse(text)?;
        let mut lines = note.signed().strip_suffix('\n')?.split('\n');
        let (domain, profile, component) = (lines.next()?, lines.next()?, lines.next()?);
        if domain != DOMAIN || lines.next().is_some() {
            return None;
        }
        Some(Self {
            profile: profile.parse().ok()?,
            component: component.parse().ok()?,
            note,
        })
    }

    /// Holds it against the profile that a component is to be, and the digest
    /// that it has; gives the key that vouches. `trusted` are the keys that the
    /// operator trusts for this profile.
    ///
    /// # Errors
    /// Any [`SignatureProblem`] but `Malformed`.
    pub fn check<'k>(
        &self,
        trusted: impl IntoIterator<Item = &'k VerifyingKey>,
        profile: &ProfileId,
        component: Digest,
    ) -> Result<&'k VerifyingKey, SignatureProblem> {
        let mut named = None;
        let mut valid = None;
        for key in trusted {
            if self.note.verifies(key) {
                valid = Some(key);
                break;
            } else if self.note.names(key) {
                named = Some(key);
            }
        }
        let key = match (valid, named) {
            (Some(key), _) => key,
            (None, Some(key)) => return Err(SignatureProblem::Invalid(key.name().to_string())),
            (None, None) => return Err(SignatureProblem::UnknownVendor),
        };
        let other = |signed: String, found: String| SignatureProblem::Other {
            vendor: key.name().to_string(),
            signed,
            found,
        };
        if self.profile != *profile {
            return Err(other(self.profile.to_string(), profile.to_string()));
        }
        if self.component != component {
            return Err(other(self.component.to_string(), component.to_string()));
        }
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogId;
    use crate::checkpoint::{Checkpoint, SignedCheckpoint};

    fn key(name: &str, seed: u8) -> SigningKey {
        SigningKey::from_seed(LogId::new(name).unwrap(), &[seed; 32])
    }

    fn vendor() -> SigningKey {
        key("vendor.example/profiles", 1)
    }

    fn id(text: &str) -> ProfileId {
        text.parse().unwrap()
    }

    fn component(bytes: &[u8]) -> Digest {
        Digest::of(&[bytes])
    }

    fn note() -> String {
        sign(&vendor(), &id("decimal@1.0.0"), component(b"one"))
    }

    /// The code of what is wrong when `text` stands beside the component.
    fn verdict(text: &str, trusted: &[VerifyingKey], is: &str, bytes: &[u8]) -> &'static str {
        let checked = ProfileSignature::parse(text).and_then(|signature| {
            let found = signature.check(trusted, &id(is), component(bytes));
            found.map(|key| assert_eq!(*key, vendor().verifying_key()))
        });
        checked.map_or_else(|problem| problem.code(), |()| "holds")
    }

    #[test]
    fn a_component_is_taken_on_a_trusted_vendors_word_and_on_no_other() {
        let right = vendor().verifying_key();
        let same_name = key("vendor.example/profiles", 2);
        let other = key("other.example/profiles", 1);
        let unsure = sign(&same_name, &id("decimal@1.0.0"), component(b"one"));
        for (why, text, trusted, is, bytes, code) in [
            (
                "what was signed",
                note(),
                vec![right.clone()],
                "decimal@1.0.0",
                &b"one"[..],
                "holds",
            ),
            (
                "one of several keys",
                note(),
                vec![other.verifying_key(), right.clone()],
                "decimal@1.0.0",
                b"one",
                "holds",
            ),
            (
                "no key is trusted",
                note(),
                vec![],
                "decimal@1.0.0",
                b"one",
                "profile-vendor-unknown",
            ),
            (
                "another vendor's key",
                note(),
                vec![other.verifying_key()],
                "decimal@1.0.0",
                b"one",
                "profile-vendor-unknown",
            ),
            (
                "another key of the same name",
                unsure,
                vec![right.clone()],
                "decimal@1.0.0",
                b"one",
                "profile-vendor-unknown",
            ),
            (
                "other bytes",
                note(),
                vec![right.clone()],
                "decimal@1.0.0",
                b"two",
                "profile-signature-other",
            ),
            (
                "another version",
                note(),
                vec![right.clone()],
                "decimal@1.0.1",
                b"one",
                "profile-signature-other",
            ),
            (
                "another name",
                note(),
                vec![right.clone()],
                "decimals@1.0.0",
                b"one",
                "profile-signature-other",
            ),
            (
                "a version that was changed in the note",
                note().replacen("decimal@1.0.0", "decimal@1.0.1", 1),
                vec![right.clone()],
                "decimal@1.0.1",
                b"one",
                "profile-signature-invalid",
            ),
            (
                "a digest that was changed in the note",
                note().replacen(component(b"one").as_str(), component(b"two").as_str(), 1),
                vec![right.clone()],
                "decimal@1.0.0",
                b"two",
                "profile-signature-invalid",
            ),
        ] {
            assert_eq!(verdict(&text, &trusted, is, bytes), code, "{why}");
        }
    }

    #[test]
    fn a_text_that_is_no_such_note_is_refused() {
        let good = note();
        let log = key("log.example/1", 3);
        let checkpoint = Checkpoint {
            log_id: log.name().clone(),
            size: 7,
            root: [9; 32],
        };
        for text in [
            String::new(),
            good.trim_end().to_owned(),
            good.replacen("signature.v1", "signature.v2", 1),
            good.replacen("decimal@1.0.0", "decimal", 1),
            good.replacen("sha256:", "sha512:", 1),
            good.replacen("\n\n", "\nmore\n\n", 1),
            good.replacen('\u{2014}', "-", 1),
            good.replace('\n', "\r\n"),
            checkpoint.sign(&log),
            "x".repeat(20_000),
        ] {
            let problem = ProfileSignature::parse(&text).unwrap_err();
            assert_eq!(problem.code(), "profile-signature-malformed", "{text}");
        }
        assert!(
            SignedCheckpoint::parse(&good).is_err(),
            "nor is it a checkpoint"
        );
    }
}
