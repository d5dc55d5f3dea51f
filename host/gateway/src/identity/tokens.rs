//! The token file: who may call, by the hash of a token that only they hold.

use std::fmt;

use countersign_canon::Digest;
use serde::{Deserialize, Serialize};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};
use thiserror::Error;

use crate::config::said;

/// What every token begins with, so that scanners for leaked secrets know it.
const PREFIX: &str = "csgn_";
const HEADING: &str =
    "# Written by `countersign agent`. It holds hashes of tokens, never tokens.\n";

/// A bearer token; shown once, when it is made.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// One subject's right to call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Who it is: 1 to 200 visible ASCII characters.
    pub subject: String,
    /// `sha256:` and the hash of the token.
    token: String,
    /// When it was added, UTC.
    pub added: String,
}

/// The grants of a token file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    #[serde(default, rename = "agent")]
    grants: Vec<Grant>,
}

/// A text that is no token file, or a subject that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct MalformedTokens(String);

impl Token {
    /// Makes a token from 32 bytes that the caller drew at random.
    #[must_use]
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(format!("{PREFIX}{}", crate::environment::hex(&bytes)))
    }

    /// The token itself, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

impl TokenFile {
    /// Reads a token file.
    ///
    /// # Errors
    /// [`MalformedTokens`], also for a subject or a hash that is none.
    pub fn parse(text: &str) -> Result<Self, MalformedTokens> {
        let file = toml::from_str::<Self>(text);
        let file = file.map_err(|error| MalformedTokens(said(&error)))?;
        for grant in &file.grants {
            subject(&grant.subject)?;
            if grant.token.parse::<Digest>().is_err() {
                return Err(MalformedTokens(format!(
                    "the hash of `{}` is none",
                    grant.subject
                )));
            }
        }
        Ok(file)
    }

    /// The file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = HEADING.to_owned();
        for grant in &self.grants {
            // INVARIANT: each value is visible ASCII; only `"` and `\` could
            // break out of a basic string.
            let quote = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
            text.push_str(&format!(
                "\n[[agent]]\nsubject = \"{}\"\ntoken = \"{}\"\nadded = \"{}\"\n",
                quote(&grant.subject),
                quote(&grant.token),
                quote(&grant.added)
            ));
        }
        text
    }

    /// Grants `token` to a subject; a subject may have several tokens, so that
    /// they can be changed without a gap.
    ///
    /// # Errors
    /// [`MalformedTokens`] where the subject is none.
    pub fn add(&mut self, name: &str, token: &Token, added: &str) -> Result<(), MalformedTokens> {
        subject(name)?;
        self.grants.push(Grant {
            subject: name.to_owned(),
            token: hash(token.reveal()).to_string(),
            added: added.to_owned(),
        });
        Ok(())
    }

    /// Takes all tokens from a subject; answers how many.
    pub fn revoke(&mut self, name: &str) -> usize {
        let before = self.grants.len();
        self.grants.retain(|grant| grant.subject != name);
        before - self.grants.len()
    }

    /// All grants, in the order in which they were added.
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The grant of a token. Takes as long for a token that is not there.
    #[must_use]
    pub fn find(&self, token: &str) -> Option<&Grant> {
        self.find_hashed(&hash(token))
    }

    /// The same by the token's hash.
    pub(super) fn find_hashed(&self, presented: &Digest) -> Option<&Grant> {
        let mut found = u32::MAX;
        for (index, grant) in (0u32..).zip(&self.grants) {
            let same: Choice = grant.token.as_bytes().ct_eq(presented.as_str().as_bytes());
            found.conditional_assign(&index, same);
        }
        self.grants.get(usize::try_from(found).ok()?)
    }
}

pub(super) fn hash(token: &str) -> Digest {
    Digest::of(&[token.as_bytes()])
}

fn subject(text: &str) -> Result<(), MalformedTokens> {
    let sound = (1..=200).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    if sound {
        Ok(())
    } else {
        Err(MalformedTokens(
            "a subject is 1 to 200 visible ASCII characters".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_file_reads_back_and_never_holds_a_token() {
        let token = Token::from_random([1; 32]);
        let mut file = TokenFile::default();
        file.add("a\"b\\c", &token, "now").unwrap();
        file.add("billing", &Token::from_random([2; 32]), "now")
            .unwrap();
        let text = file.to_text();
        assert!(!text.contains(token.reveal()));
        assert_eq!(TokenFile::parse(&text).unwrap(), file);
        assert_eq!(file.find(token.reveal()).unwrap().subject, "a\"b\\c");
        assert_eq!(file.find("csgn_"), None);
        assert_eq!(file.revoke("billing"), 1);
        assert_eq!(file.revoke("billing"), 0);
    }

    #[test]
    fn what_is_no_token_file_is_refused() {
        for text in [
            "[[agent]]\nsubject = \"a\"\ntoken = \"sha256:00\"\nadded = \"\"\n",
            "[[agent]]\nsubject = \"a b\"\ntoken = \"\"\nadded = \"\"\n",
            "[[agent]]\nsubject = \"a\"\n",
            "[[agents]]\n",
            "x",
        ] {
            assert!(TokenFile::parse(text).is_err(), "{text}");
        }
        assert_eq!(TokenFile::parse("").unwrap(), TokenFile::default());
    }
}
