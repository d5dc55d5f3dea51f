//! The token file of a running gateway: read again where it has changed.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use countersign_canon::Digest;
use countersign_evidence::Agent;
use thiserror::Error;

use super::tokens::{MalformedTokens, TokenFile, hash};

/// The token file as it was read last.
#[derive(Clone, Debug)]
pub struct Tokens {
    path: PathBuf,
    current: Arc<RwLock<Read>>,
}

#[derive(Debug)]
struct Read {
    file: TokenFile,
    changed: Option<(SystemTime, u64)>,
}

/// A token file that cannot be used.
#[derive(Debug, Error)]
pub enum TokensError {
    /// It cannot be read.
    #[error("the token file `{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not of its form.
    #[error("the token file `{}` is malformed: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: MalformedTokens,
    },
}

impl Tokens {
    /// Reads the file.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn open(path: PathBuf) -> Result<Self, TokensError> {
        let read = read(&path)?;
        Ok(Self {
            path,
            current: Arc::new(RwLock::new(read)),
        })
    }

    /// Reads the file again where it has changed, so that a revocation takes
    /// effect; answers whether it had. A file that cannot be read leaves the
    /// grants as they were.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn refresh(&self) -> Result<bool, TokensError> {
        let changed = stamp(&self.path);
        let known = self
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .changed;
        if changed.is_some() && changed == known {
            return Ok(false);
        }
        let read = read(&self.path)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(true)
    }

    /// The agent that a token names.
    pub(super) fn find(&self, token: &str) -> Option<Agent> {
        self.find_hashed(&hash(token))
    }

    /// The agent that a token names, by the token's hash.
    pub(super) fn find_hashed(&self, token: &Digest) -> Option<Agent> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let grant = current.file.find_hashed(token)?;
        // The file vouches for its subjects, so there is no issuer to name.
        Some(Agent {
            method: "token".to_owned(),
            issuer: String::new(),
            subject: grant.subject.clone(),
        })
    }
}

/// When a file was written last, and its length.
pub(super) fn stamp(path: &std::path::Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(path: &std::path::Path) -> Result<Read, TokensError> {
    // Taken before the content, so that a change in between is seen later.
    let changed = stamp(path);
    let text = std::fs::read_to_string(path).map_err(|source| TokensError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let file = TokenFile::parse(&text).map_err(|source| TokensError::Malformed {
        path: path.to_owned(),
        source,
    })?;
    Ok(Read { file, changed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Token;

    #[test]
    fn a_token_names_its_agent_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let token = Token::from_random([7; 32]);
        let mut file = TokenFile::default();
        file.add("billing", &token, "2026-01-01T00:00:00.000000Z")
            .unwrap();
        std::fs::write(&path, file.to_text()).unwrap();
        let tokens = Tokens::open(path.clone()).unwrap();
        let found = tokens.find(token.reveal()).unwrap();
        assert_eq!(
            (found.method.as_str(), found.subject.as_str()),
            ("token", "billing")
        );
        assert_eq!(tokens.find(&token.reveal()[1..]), None, "cut");
        assert!(!tokens.refresh().unwrap(), "nothing has changed");
        file.revoke("billing");
        std::fs::write(&path, file.to_text()).unwrap();
        assert!(tokens.refresh().unwrap());
        assert_eq!(tokens.find(token.reveal()), None, "revoked");
    }
}
