//! Settled answers, kept for a while, so that a caller who lost one can fetch
//! it instead of only being told that its execution is settled; and the answers
//! that asked for the round that is awaited, to be given again.
//!
//! The ledger keeps them, in the transaction that settles; here they are sealed
//! before they get there and opened for their owner alone. What is kept is
//! bound to its row: an answer that was moved to another row does not open. A
//! seal that fails is never in the way of an outcome; the answer is then not
//! kept (`docs/operators/answers.md`).

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use countersign_evidence::{Agent, CallId, keyfile};
use countersign_ledger::Kept;
use thiserror::Error;

use crate::config;
use crate::environment::{Environment, hex};

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;
/// What the associated data begins with; rises with its form.
const FORM: &[u8] = b"countersign.answer.v1";

/// Keeps and opens answers.
pub(crate) struct Answers {
    cipher: Option<Aes256Gcm>,
    keep_for: Duration,
    most_bytes: usize,
}

/// Why answers cannot be kept.
#[derive(Debug, Error)]
pub enum AnswersKeyError {
    /// It cannot be opened, read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Others than its owner can get at it.
    #[error("it is open to others than its owner (mode {mode:04o})")]
    Permissions {
        /// Its permission bits.
        mode: u32,
    },
    /// It holds no key.
    #[error("it holds no key: 64 hexadecimal digits and a line end")]
    Malformed,
    /// The system has no randomness.
    #[error(transparent)]
    Randomness(#[from] crate::environment::NoRandomness),
}

/// An answer in the form in which it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Result,
    Error,
    /// A result that asks for another round; it settles nothing.
    Asked,
}

impl Answers {
    /// Takes the key of the file that is configured, or makes one; keeps nothing
    /// where answers are not to be kept.
    pub(crate) fn open(
        config: &config::Answers,
        environment: &Environment,
    ) -> Result<Self, AnswersKeyError> {
        let cipher = if config.keep_for.is_zero() {
            None
        } else {
            let key = key(&config.key, environment)?;
            Aes256Gcm::new_from_slice(&key)
                .map(Some)
                .map_err(|_| AnswersKeyError::Malformed)?
        };
        Ok(Self {
            cipher,
            keep_for: config.keep_for,
            most_bytes: config.most_bytes,
        })
    }

    /// Seals an answer for its owner. None where none is kept, or this one is
    /// too large.
    pub(crate) fn seal(
        &self,
        environment: &Environment,
        agent: &Agent,
        call_id: &CallId,
        form: &Form,
        answer: &[u8],
    ) -> Option<Kept> {
        let cipher = self.cipher.as_ref()?;
        if answer.len() > self.most_bytes {
            return None;
        }
        let nonce = environment.bytes::<NONCE_BYTES>().ok()?;
        let mut plain = Vec::with_capacity(answer.len() + 1);
        plain.push(match form {
            Form::Result => b'r',
            Form::Error => b'e',
            Form::Asked => b'a',
        });
        plain.extend_from_slice(answer);
        let payload = Payload {
            msg: &plain,
            aad: &row(agent, call_id),
        };
        let sealed = cipher.encrypt(&Nonce::from(nonce), payload).ok()?;
        let keep_us = i64::try_from(self.keep_for.as_micros()).ok()?;
        Some(Kept {
            bytes: [&nonce[..], &sealed].concat(),
            expires_us: environment.now().micros().saturating_add(keep_us),
        })
    }

    /// Opens what was kept for that agent's call. None where it is another
    /// row's, another key's, or was changed.
    pub(crate) fn unseal(
        &self,
        agent: &Agent,
        call_id: &CallId,
        kept: &[u8],
    ) -> Option<(Form, Vec<u8>)> {
        let cipher = self.cipher.as_ref()?;
        let (nonce, sealed) = kept.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: sealed,
            aad: &row(agent, call_id),
        };
        let plain = cipher.decrypt(&Nonce::from(*nonce), payload).ok()?;
        let (form, answer) = plain.split_first()?;
        let form = match form {
            b'r' => Form::Result,
            b'e' => Form::Error,
            b'a' => Form::Asked,
            _ => return None,
        };
        Some((form, answer.to_vec()))
    }
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers")
            .field("keep_for", &self.keep_for)
            .finish_non_exhaustive()
    }
}

/// The row's identity: each part with its length, so that no two rows share it.
fn row(agent: &Agent, call_id: &CallId) -> Vec<u8> {
    let parts = [
        FORM,
        agent.method.as_bytes(),
        agent.issuer.as_bytes(),
        agent.subject.as_bytes(),
        call_id.as_str().as_bytes(),
    ];
    let mut all = Vec::new();
    for part in parts {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        all.extend_from_slice(&length.to_be_bytes());
        all.extend_from_slice(part);
    }
    all
}

fn key(path: &Path, environment: &Environment) -> Result<[u8; KEY_BYTES], AnswersKeyError> {
    match File::open(path) {
        Ok(file) => read(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = environment.bytes::<KEY_BYTES>()?;
            keyfile::create_text(path, &hex(&key))?;
            Ok(key)
        }
        Err(error) => Err(error.into()),
    }
}

fn read(file: &File) -> Result<[u8; KEY_BYTES], AnswersKeyError> {
    // Asked of the open file, so that it cannot be exchanged in between.
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(AnswersKeyError::Permissions { mode });
    }
    let mut text = String::new();
    file.take(128).read_to_string(&mut text)?;
    from_hex(text.trim_end()).ok_or(AnswersKeyError::Malformed)
}

fn from_hex(text: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != KEY_BYTES || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in key.iter_mut().zip(pairs) {
        let digit = |c: &u8| char::from(*c).to_digit(16);
        *byte = u8::try_from(digit(high)? << 4 | digit(low)?).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::agent;

    fn answers(folder: &Path, keep_for: Duration) -> Result<Answers, AnswersKeyError> {
        let config = config::Answers {
            keep_for,
            key: folder.join("key"),
            most: 10,
            most_bytes: 100,
            all_bytes: 1_000,
        };
        Answers::open(&config, &Environment::system())
    }

    #[test]
    fn an_answer_opens_for_its_own_row_under_its_own_key_and_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let minute = Duration::from_secs(60);
        let answers_ = answers(folder.path(), minute).unwrap();
        let environment = Environment::system();
        let call: CallId = "c1".parse().unwrap();
        let seal = || {
            answers_
                .seal(
                    &environment,
                    &agent("a"),
                    &call,
                    &Form::Result,
                    b"{\"n\":1.0}",
                )
                .unwrap()
        };
        let kept = seal();
        assert!(!String::from_utf8_lossy(&kept.bytes).contains("1.0"));
        assert_ne!(kept.bytes, seal().bytes, "no nonce is used twice");
        let again = answers(folder.path(), minute).unwrap();
        assert_eq!(
            again.unseal(&agent("a"), &call, &kept.bytes),
            Some((Form::Result, b"{\"n\":1.0}".to_vec())),
            "after a restart too"
        );
        assert_eq!(again.unseal(&agent("b"), &call, &kept.bytes), None);
        let other: CallId = "c2".parse().unwrap();
        assert_eq!(again.unseal(&agent("a"), &other, &kept.bytes), None);
        for at in 0..kept.bytes.len() {
            let mut changed = kept.bytes.clone();
            changed[at] ^= 1;
            assert_eq!(again.unseal(&agent("a"), &call, &changed), None, "{at}");
        }
        std::fs::remove_file(folder.path().join("key")).unwrap();
        let another = answers(folder.path(), minute).unwrap();
        assert_eq!(another.unseal(&agent("a"), &call, &kept.bytes), None);
    }

    #[test]
    fn what_is_too_large_or_not_to_be_kept_is_not_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::system();
        let call: CallId = "c1".parse().unwrap();
        let seal = |answers: &Answers, bytes: &[u8]| {
            answers.seal(&environment, &agent("a"), &call, &Form::Error, bytes)
        };
        let off = answers(folder.path(), Duration::ZERO).unwrap();
        assert_eq!(seal(&off, b"{}"), None);
        assert!(!folder.path().join("key").exists(), "no key is needed");
        let on = answers(folder.path(), Duration::from_secs(1)).unwrap();
        assert!(seal(&on, &[b' '; 100]).is_some());
        assert_eq!(seal(&on, &[b' '; 101]), None);
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let open = || answers(folder.path(), Duration::from_secs(1));
        open().unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
        mode(0o640).unwrap();
        assert!(matches!(
            open().unwrap_err(),
            AnswersKeyError::Permissions { mode: 0o640 }
        ));
        mode(0o600).unwrap();
        for text in ["", "00", &"g".repeat(64), &"0".repeat(66)] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(open().unwrap_err(), AnswersKeyError::Malformed));
        }
    }

    #[test]
    #[ignore = "run by the test of what it leaves"]
    fn makes_a_key_here() {
        let _ = answers(Path::new(""), Duration::from_secs(1));
    }

    #[test]
    fn who_is_cut_off_while_it_writes_the_key_leaves_none_and_can_make_it_again() {
        let folder = tempfile::tempdir().unwrap();
        // It is killed at the first byte that it writes into any file.
        let limited = std::process::Command::new("sh")
            .args(["-c", "ulimit -f 0; exec \"$0\" --ignored --exact \"$1\""])
            .arg(std::env::current_exe().unwrap())
            .arg("answers::tests::makes_a_key_here")
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(limited.status.code(), None, "{limited:?}");
        assert!(!folder.path().join("key").exists(), "a part of a key");
        answers(folder.path(), Duration::from_secs(1)).unwrap();
        answers(folder.path(), Duration::from_secs(1)).unwrap();
    }
}
