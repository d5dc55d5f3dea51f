//! The token file of a running gateway: read again where it has changed.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use countersign_canon::Digest;
use countersign_evidence::Agent;
use thiserror::Error;

use super::tokens::{MalformedTokens, TokenFile, hash};

/// How long grants, or keys, stay as they were while their file cannot be read: long
/// enough for whoever edits it, and no longer, since a revocation may be what it says.
pub(super) const UNREAD_FOR: Duration = Duration::from_secs(10);

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
    /// Since when it cannot be read, and why; none where it can.
    unread: Option<(Duration, String)>,
}

/// What looking at the file again gave, where something is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// It was read again.
    Read,
    /// It cannot be read, and why; the grants stay as they were for now.
    Unread(String),
    /// It could not be read for too long: no token is good until it can.
    Closed,
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
    /// effect; answers what is new, and nothing where nothing is. `now` is monotonic.
    /// A file that cannot be read leaves the grants as they were for ten seconds, and
    /// none from then on.
    pub fn refresh(&self, now: Duration) -> Option<Refreshed> {
        let changed = stamp(&self.path);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if changed.is_some() && changed == current.changed && current.unread.is_none() {
            return None;
        }
        let why = match read(&self.path) {
            Ok(read) => {
                *current = read;
                return Some(Refreshed::Read);
            }
            Err(error) => error.to_string(),
        };
        let (since, known) = match current.unread.take() {
            Some((since, known)) => (since, Some(known)),
            None => (now, None),
        };
        let differs = known.is_none_or(|known| known != why);
        current.unread = Some((since, why.clone()));
        let closes = now.saturating_sub(since) >= UNREAD_FOR && !current.file.grants().is_empty();
        if closes {
            current.file = TokenFile::default();
            // Whatever is there next is read.
            current.changed = None;
            return Some(Refreshed::Closed);
        }
        differs.then_some(Refreshed::Unread(why))
    }

    /// Whether the file could not be read for too long, so that no token is good.
    pub(super) fn closed(&self, now: Duration) -> bool {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let since = current.unread.as_ref().map(|(since, _)| *since);
        since.is_some_and(|since| now.saturating_sub(since) >= UNREAD_FOR)
    }

    /// Whether the file could be read when it was looked at last.
    pub(super) fn readable(&self) -> bool {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.unread.is_none()
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
    Ok(Read {
        file,
        changed,
        unread: None,
    })
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
        let at = Duration::from_secs;
        assert_eq!(tokens.refresh(at(0)), None, "nothing has changed");
        file.revoke("billing");
        std::fs::write(&path, file.to_text()).unwrap();
        assert_eq!(tokens.refresh(at(1)), Some(Refreshed::Read));
        assert_eq!(tokens.find(token.reveal()), None, "revoked");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_once_and_grants_nothing_after_a_while() {
        let token = Token::from_random([7; 32]);
        let mut file = TokenFile::default();
        file.add("billing", &token, "2026-01-01T00:00:00.000000Z")
            .unwrap();
        type Spoils = fn(&std::path::Path);
        let spoils: [(&str, Spoils); 4] = [
            ("gone", |path| std::fs::remove_file(path).unwrap()),
            ("no such form", |path| {
                std::fs::write(path, "[[agent]").unwrap();
            }),
            ("no text", |path| std::fs::write(path, b"\xff").unwrap()),
            ("a folder", |path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            }),
        ];
        for (name, spoil) in spoils {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("tokens.toml");
            std::fs::write(&path, file.to_text()).unwrap();
            let tokens = Tokens::open(path.clone()).unwrap();
            spoil(&path);
            let at = Duration::from_secs;
            let told = tokens.refresh(at(100));
            assert!(
                matches!(told, Some(Refreshed::Unread(_))),
                "{name}: {told:?}"
            );
            for now in 101..110 {
                assert_eq!(tokens.refresh(at(now)), None, "{name}: told once");
                assert!(tokens.find(token.reveal()).is_some(), "{name}: as before");
                assert!(!tokens.closed(at(now)) && !tokens.readable(), "{name}");
            }
            assert_eq!(tokens.refresh(at(110)), Some(Refreshed::Closed), "{name}");
            for now in 110..115 {
                assert!(tokens.closed(at(now)) && !tokens.readable(), "{name}");
                assert_eq!(tokens.find(token.reveal()), None, "{name}: none is good");
                assert_eq!(tokens.refresh(at(now)), None, "{name}: told once");
            }
            let _ = std::fs::remove_dir(&path);
            std::fs::write(&path, file.to_text()).unwrap();
            assert_eq!(tokens.refresh(at(200)), Some(Refreshed::Read), "{name}");
            assert!(tokens.find(token.reveal()).is_some(), "{name}: again");
            assert!(!tokens.closed(at(200)) && tokens.readable(), "{name}");
        }
    }
}
