//! Who is calling. Only what authentication establishes is an agent; nothing
//! that a caller writes into a message ever is (`docs/spec/protocol.md` §2).

mod tokens;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use countersign_evidence::Agent;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use thiserror::Error;

pub use tokens::{Grant, MalformedTokens, Token, TokenFile};

/// How the gateway tells agents apart.
#[derive(Clone, Debug)]
pub enum Identities {
    /// Everyone is one agent. Only for loopback.
    Open,
    /// Bearer tokens from a file.
    Tokens(Tokens),
}

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

/// Nobody whom the gateway knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no credential that names an agent")]
pub struct Unauthenticated;

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

impl Identities {
    /// The agent that a request's credential names.
    ///
    /// # Errors
    /// [`Unauthenticated`] for a missing, doubled, malformed or unknown one.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Agent, Unauthenticated> {
        match self {
            Self::Open => Ok(agent("open", "anonymous")),
            Self::Tokens(tokens) => tokens.authenticate(headers),
        }
    }
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

    fn authenticate(&self, headers: &HeaderMap) -> Result<Agent, Unauthenticated> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Unauthenticated);
        };
        let (scheme, token) = value
            .to_str()
            .ok()
            .and_then(|text| text.split_once(' '))
            .ok_or(Unauthenticated)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Unauthenticated);
        }
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let grant = current
            .file
            .find(token.trim_start_matches(' '))
            .ok_or(Unauthenticated)?;
        Ok(agent("token", &grant.subject))
    }
}

/// The file vouches for its subjects, so there is no other issuer to name.
fn agent(method: &str, subject: &str) -> Agent {
    Agent {
        method: method.to_owned(),
        issuer: String::new(),
        subject: subject.to_owned(),
    }
}

fn stamp(path: &std::path::Path) -> Option<(SystemTime, u64)> {
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

    fn headers(values: &[&str]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for value in values {
            map.append(AUTHORIZATION, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn only_one_whole_and_known_bearer_token_names_an_agent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let token = Token::from_random([7; 32]);
        let mut file = TokenFile::default();
        file.add("billing", &token, "2026-01-01T00:00:00.000000Z")
            .unwrap();
        std::fs::write(&path, file.to_text()).unwrap();
        let tokens = Tokens::open(path.clone()).unwrap();
        let secret = token.reveal().to_owned();
        let (good, short) = (
            format!("Bearer {secret}"),
            format!("Bearer {}", &secret[1..]),
        );
        for (why, values, subject) in [
            ("the token", vec![good.as_str()], Some("billing")),
            (
                "another case of the scheme",
                vec![&*good.replace("Bearer", "bearer")],
                Some("billing"),
            ),
            ("no header", vec![], None),
            ("twice", vec![good.as_str(), good.as_str()], None),
            (
                "another scheme",
                vec![&*good.replace("Bearer", "Basic")],
                None,
            ),
            ("cut", vec![short.as_str()], None),
            ("no scheme", vec![secret.as_str()], None),
            ("empty", vec!["Bearer "], None),
        ] {
            let got = tokens
                .authenticate(&headers(&values))
                .ok()
                .map(|agent| agent.subject);
            assert_eq!(got.as_deref(), subject, "{why}");
        }
        file.revoke("billing");
        std::fs::write(&path, file.to_text()).unwrap();
        assert!(tokens.refresh().unwrap());
        assert!(tokens.authenticate(&headers(&[&good])).is_err(), "revoked");
    }
}
