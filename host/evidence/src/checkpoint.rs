//! A log's signed head: a C2SP checkpoint, as a signed note.
//!
//! ```text
//! gateway.example.com/1
//! 4
//! CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//!
//! — gateway.example.com/1 <base64 of key hash and signature>
//! ```
//!
//! The origin is the log's id and the name of its key. A chain alone cannot
//! show that its tail was cut; a checkpoint that somebody kept can.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::key::{SigningKey, VerifyingKey};
use crate::note::{self, Note};
use crate::tree::Hash;
use crate::{Head, LogId, MAX_INTEGER};

/// The size and root of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log.
    pub log_id: LogId,
    /// How many entries the log had.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Hash,
}

/// A checkpoint with the signatures that stand under it, not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    text: String,
    note: Note,
}

/// A text that is not a signed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedCheckpoint {
    /// It has not the form of a signed note.
    #[error("not a signed note")]
    Note,
    /// Its text is not that of a checkpoint.
    #[error("not a checkpoint: expected the log's origin, size and root")]
    Text,
}

impl Checkpoint {
    /// The head of a log as it is now.
    #[must_use]
    pub fn of(head: &Head) -> Self {
        Self {
            log_id: head.log_id().clone(),
            size: head.size(),
            root: head.root(),
        }
    }

    /// Signs it with the log's key; gives the note's text.
    #[must_use]
    pub fn sign(&self, key: &SigningKey) -> String {
        note::sign(&self.text(), key)
    }

    fn text(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.log_id,
            self.size,
            STANDARD.encode(self.root)
        )
    }
}

impl SignedCheckpoint {
    /// Reads a note. Signatures by unknown keys and lines that extend a
    /// checkpoint are kept and not understood, as C2SP says.
    ///
    /// # Errors
    /// A text that is not a checkpoint in a signed note.
    pub fn parse(text: &str) -> Result<Self, MalformedCheckpoint> {
        let note = Note::parse(text).ok_or(MalformedCheckpoint::Note)?;
        let checkpoint = read_text(note.signed()).ok_or(MalformedCheckpoint::Text)?;
        Ok(Self {
            checkpoint,
            text: text.to_owned(),
            note,
        })
    }

    /// What it says, whoever signed it. Trust it only after
    /// [`SignedCheckpoint::verify`].
    #[must_use]
    pub fn unverified(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The note, exactly as it was read.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.text
    }

    /// What was signed: origin, size, root, and whatever extends them, each with
    /// its line feed.
    #[must_use]
    pub fn signed_text(&self) -> &str {
        self.note.signed()
    }

    /// Whether it carries a signature that says it is of `key`, good or not.
    #[must_use]
    pub fn names(&self, key: &VerifyingKey) -> bool {
        self.note.names(key)
    }

    /// Checks the signature of `key`, whose name must be the log's.
    #[must_use]
    pub fn verify(&self, key: &VerifyingKey) -> bool {
        key.name() == &self.checkpoint.log_id && self.note.verifies(key)
    }
}

fn read_text(text: &str) -> Option<Checkpoint> {
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
    if lines.any(str::is_empty) {
        return None;
    }
    let padded = size.len() > 1 && size.starts_with('0');
    let plain = size.bytes().all(|byte| byte.is_ascii_digit()) && !padded;
    let size = size
        .parse()
        .ok()
        .filter(|size| plain && *size <= MAX_INTEGER)?;
    let root = STANDARD.decode(root).ok()?.try_into().ok()?;
    Some(Checkpoint {
        log_id: LogId::new(origin).ok()?,
        size,
        root,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::NoteSignature;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(LogId::new("log.example/1").unwrap(), &[seed; 32])
    }

    fn note() -> String {
        let log_id = LogId::new("log.example/1").unwrap();
        Checkpoint {
            log_id,
            size: 7,
            root: [9; 32],
        }
        .sign(&key(1))
    }

    #[test]
    fn a_signed_checkpoint_reads_back_and_verifies_under_its_key_alone() {
        let signed = SignedCheckpoint::parse(&note()).unwrap();
        assert_eq!(signed.unverified().size, 7);
        assert!(signed.verify(&key(1).verifying_key()));
        assert!(!signed.verify(&key(2).verifying_key()));
    }

    #[test]
    fn a_note_of_other_software_verifies() {
        // The example of Go's golang.org/x/mod/sumdb/note: its text is no
        // checkpoint, so only its parts are checked here.
        let key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let key = VerifyingKey::parse(key).unwrap();
        let text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
        let line = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=";
        let line = NoteSignature::parse(line).unwrap();
        assert_eq!(line.hash, key.hash());
        assert!(key.verifies(
            text.as_bytes(),
            line.signature.as_slice().try_into().unwrap()
        ));
    }

    #[test]
    fn signatures_by_others_and_further_lines_do_no_harm() {
        let text = "log.example/1\n7\nCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=\nextension\n";
        let mut blob = key(1).verifying_key().hash().to_vec();
        blob.extend_from_slice(&key(1).sign(text.as_bytes()));
        let note = format!(
            "{text}\n\u{2014} witness.example AAAAAAAA\n\u{2014} log.example/1 {}\n",
            STANDARD.encode(blob)
        );
        let signed = SignedCheckpoint::parse(&note).unwrap();
        assert!(signed.verify(&key(1).verifying_key()));
    }

    #[test]
    fn a_changed_or_malformed_note_is_refused() {
        let good = note();
        let changed = good.replacen("\n7\n", "\n8\n", 1);
        let signed = SignedCheckpoint::parse(&changed).unwrap();
        assert!(!signed.verify(&key(1).verifying_key()));
        for bad in [
            String::new(),
            good.trim_end().to_owned(),
            good.replacen("\n7\n", "\n07\n", 1),
            good.replacen("\n7\n", "\n+7\n", 1),
            good.replacen("\n7\n", "\n-7\n", 1),
            good.replacen("\n7\n", "\n7\r\n", 1),
            good.replacen("\n7\n", "\n9007199254740992\n", 1),
            good.replacen('\u{2014}', "-", 1),
            good.replacen("CQkJ", "CQk", 1),
            format!("{good}\n"),
            format!("{good}rest\n"),
            "x".repeat(20_000),
        ] {
            assert!(
                SignedCheckpoint::parse(&bad).is_err(),
                "`{bad}` must be refused"
            );
        }
    }
}
