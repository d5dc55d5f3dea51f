//! A receipt turned into a proof that stands alone: a text file in the form of
//! C2SP's tlog-proof, with the entry as its extra data.
//!
//! ```text
//! c2sp.org/tlog-proof@v1
//! extra <base64 of the entry>
//! index 12
//! <base64 hash>
//! <base64 hash>
//!
//! <the signed checkpoint>
//! ```
//!
//! The leaf is the entry's hash, which its bytes give; so the file shows what
//! was recorded, that it stands in the log, and who signed that log.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Entry;
use crate::checkpoint::SignedCheckpoint;
use crate::key::VerifyingKey;
use crate::proof::verify_inclusion;
use crate::tree::Hash;

const HEADER: &str = "c2sp.org/tlog-proof@v1";

/// The longest file that is read, in bytes.
const MAX_BYTES: usize = 512 << 10;

/// An entry with its inclusion path and the checkpoint that this leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofFile {
    entry: Entry,
    path: Vec<Hash>,
    note: String,
    checkpoint: SignedCheckpoint,
}

/// Why a proof file proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofFileError {
    /// It is not in the form of a proof.
    #[error("not a proof file of the form `{HEADER}`")]
    Form,
    /// Its extra data is not an entry, or not the one at its index.
    #[error("the proof file holds no entry for its index")]
    Entry,
    /// The checkpoint is of another log.
    #[error("the proof file's checkpoint is of another log than its entry")]
    Log,
    /// The path does not lead from the entry to the checkpoint's root.
    #[error("the proof file's path does not lead from its entry to its checkpoint")]
    Path,
    /// The checkpoint carries no signature of the key: it was signed by another
    /// one, before or after this was in force, or by a stranger.
    #[error("the proof file's checkpoint is signed by another key than this one")]
    Key,
    /// The checkpoint's signature is not the key's.
    #[error("the proof file's checkpoint is not signed by the key")]
    Signature,
}

impl ProofFile {
    /// Puts a proof together; whether it holds is for [`ProofFile::verify`] to
    /// say.
    ///
    /// # Errors
    /// A note that is no signed checkpoint.
    pub fn new(entry: Entry, path: Vec<Hash>, note: &str) -> Result<Self, ProofFileError> {
        let checkpoint = SignedCheckpoint::parse(note).map_err(|_| ProofFileError::Form)?;
        Ok(Self {
            entry,
            path,
            note: note.to_owned(),
            checkpoint,
        })
    }

    /// The entry that it is about.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let extra = STANDARD.encode(self.entry.bytes());
        let mut text = format!("{HEADER}\nextra {extra}\nindex {}\n", self.entry.sequence());
        for hash in &self.path {
            text.push_str(&STANDARD.encode(hash));
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.note);
        text
    }

    /// Reads such a text.
    ///
    /// # Errors
    /// Any other text.
    pub fn parse(text: &str) -> Result<Self, ProofFileError> {
        let rest = text
            .strip_prefix(HEADER)
            .and_then(|rest| rest.strip_prefix('\n'));
        let rest = rest
            .filter(|rest| rest.len() <= MAX_BYTES)
            .ok_or(ProofFileError::Form)?;
        let (lines, note) = rest.split_once("\n\n").ok_or(ProofFileError::Form)?;
        let mut lines = lines.split('\n');
        let extra = lines.next().and_then(|line| line.strip_prefix("extra "));
        let index = lines.next().and_then(|line| line.strip_prefix("index "));
        let (extra, index) = extra.zip(index).ok_or(ProofFileError::Form)?;
        let hash = |line: &str| STANDARD.decode(line).ok()?.try_into().ok();
        let path: Option<Vec<Hash>> = lines.take(65).map(hash).collect();
        let path = path
            .filter(|path| path.len() <= 64)
            .ok_or(ProofFileError::Form)?;
        let bytes = STANDARD.decode(extra).map_err(|_| ProofFileError::Form)?;
        let entry = Entry::parse(&bytes).map_err(|_| ProofFileError::Entry)?;
        if entry.sequence().to_string() != index {
            return Err(ProofFileError::Entry);
        }
        Self::new(entry, path, note)
    }

    /// Checks that the entry stands in the log that `key` signed.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn verify(&self, key: &VerifyingKey) -> Result<(), ProofFileError> {
        let checkpoint = self.checkpoint.unverified();
        if &checkpoint.log_id != self.entry.log_id() {
            return Err(ProofFileError::Log);
        }
        let leaf = self.entry.hash().to_bytes();
        let (index, size) = (self.entry.sequence(), checkpoint.size);
        if !verify_inclusion(&leaf, index, size, &self.path, &checkpoint.root) {
            return Err(ProofFileError::Path);
        }
        if self.checkpoint.verify(key) {
            Ok(())
        } else if self.checkpoint.names(key) {
            Err(ProofFileError::Signature)
        } else {
            Err(ProofFileError::Key)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Checkpoint;
    use crate::key::SigningKey;
    use crate::proof::Collector;
    use crate::{Draft, Head, Kind, LogId, Time};

    fn log_id() -> LogId {
        LogId::new("log.example/1").unwrap()
    }

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(log_id(), &[seed; 32])
    }

    fn proofs(size: u64) -> Vec<ProofFile> {
        let mut head = Head::new(log_id());
        let draft = |number| Draft::new(Kind::Refusal, Time::from_micros(number));
        let entries: Vec<Entry> = (0..size)
            .map(|n| head.append(draft(n.cast_signed()), None))
            .collect();
        let mut collector = Collector::new(size);
        (0..size).for_each(|index| collector.want_inclusion(index));
        entries
            .iter()
            .for_each(|entry| collector.leaf(entry.hash().to_bytes()));
        let note = Checkpoint::of(&head).sign(&key(1));
        let proof = |entry: Entry| {
            let path = collector.inclusion(entry.sequence()).unwrap();
            ProofFile::new(entry, path, &note).unwrap()
        };
        entries.into_iter().map(proof).collect()
    }

    #[test]
    fn a_proof_file_verifies_alone_and_reads_back() {
        for size in 1..12 {
            for proof in proofs(size) {
                let again = ProofFile::parse(&proof.to_text()).unwrap();
                assert_eq!(again, proof);
                assert_eq!(again.verify(&key(1).verifying_key()), Ok(()));
                assert_eq!(
                    again.verify(&key(2).verifying_key()),
                    Err(ProofFileError::Key)
                );
            }
        }
    }

    #[test]
    fn no_part_of_a_proof_file_can_be_exchanged() {
        let all = proofs(7);
        let key = key(1).verifying_key();
        let other = ProofFile {
            entry: all[3].entry.clone(),
            ..all[4].clone()
        };
        assert_eq!(other.verify(&key), Err(ProofFileError::Path));
        let other = ProofFile::new(
            all[4].entry.clone(),
            all[4].path.clone(),
            &proofs(6)[0].note,
        );
        assert_eq!(other.unwrap().verify(&key), Err(ProofFileError::Path));
        let text = all[4].to_text();
        let renumbered = text.replacen("index 4", "index 3", 1);
        assert_eq!(ProofFile::parse(&renumbered), Err(ProofFileError::Entry));
        for bad in [
            "",
            "c2sp.org/tlog-proof@v2\n",
            &text[..40],
            &text.replacen("\n\n", "\n", 1),
        ] {
            assert_eq!(ProofFile::parse(bad), Err(ProofFileError::Form), "`{bad}`");
        }
    }
}
