//! From a bundle to the proof of one entry that stands alone.

use std::io::{Read, Seek};

use super::{Bundle, BundleError, Proof};
use crate::checkpoint::SignedCheckpoint;
use crate::proof::Collector;
use crate::tree::Hash;
use crate::{CallId, Entry, ProofFile, ProofFileError, Receipt};

/// Which entry is to be proved.
#[derive(Clone, Debug)]
pub enum Which {
    /// The one that a receipt names.
    Receipt(Box<Receipt>),
    /// The last one of a call.
    Call(CallId),
}

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The entry is not there.
    #[error("the bundle holds no such entry")]
    Missing,
    /// Another entry stands where the receipt says.
    #[error("another entry stands where the receipt says: keep both, they do not belong together")]
    Other,
    /// No checkpoint of its log covers it, or no path leads to one.
    #[error("no signed checkpoint in the bundle covers the entry yet")]
    Unsigned,
    /// The parts do not make a proof.
    #[error(transparent)]
    Proof(#[from] ProofFileError),
}

/// Makes the proof of an entry under the newest checkpoint that covers it.
///
/// # Errors
/// [`ProveError`].
pub fn prove<R: Read + Seek>(
    bundle: &mut Bundle<R>,
    which: &Which,
) -> Result<ProofFile, ProveError> {
    let entry = find(bundle, which)?;
    let mut notes: Vec<SignedCheckpoint> = bundle
        .checkpoints()
        .iter()
        .filter_map(|(_, note)| SignedCheckpoint::parse(std::str::from_utf8(note).ok()?).ok())
        .filter(|note| {
            let head = note.unverified();
            head.log_id == *entry.log_id() && head.size > entry.sequence()
        })
        .collect();
    notes.sort_by_key(|note| note.unverified().size);
    let note = notes.pop().ok_or(ProveError::Unsigned)?;
    let size = note.unverified().size;
    let path = match bundle.manifest().filter {
        None => computed(bundle, &entry, size)?,
        Some(_) => carried(bundle, &entry, size)?,
    };
    let path = path.ok_or(ProveError::Unsigned)?;
    Ok(ProofFile::new(entry, path, note.note())?)
}

fn find<R: Read + Seek>(bundle: &mut Bundle<R>, which: &Which) -> Result<Entry, ProveError> {
    let mut found = None;
    let mut lines = bundle.entries();
    while let Some(line) = lines.next()? {
        let Ok(entry) = Entry::parse(line) else {
            continue;
        };
        match which {
            Which::Receipt(receipt) => {
                let here =
                    *entry.log_id() == receipt.log_id && entry.sequence() == receipt.sequence;
                if here && entry.hash() != receipt.entry_hash {
                    return Err(ProveError::Other);
                }
                if here {
                    return Ok(entry);
                }
            }
            Which::Call(call) => {
                if entry.said().call_id.as_ref() == Some(call) {
                    found = Some(entry);
                }
            }
        }
    }
    found.ok_or(ProveError::Missing)
}

/// The path, from all entries of the log.
fn computed<R: Read + Seek>(
    bundle: &mut Bundle<R>,
    entry: &Entry,
    size: u64,
) -> Result<Option<Vec<Hash>>, ProveError> {
    let mut collector = Collector::new(size);
    collector.want_inclusion(entry.sequence());
    let mut lines = bundle.entries();
    let mut number = 0_u64;
    while let Some(line) = lines.next()? {
        number = number.saturating_add(1);
        let other = Entry::parse(line).map_err(|_| BundleError::Entry(number))?;
        if other.log_id() == entry.log_id() {
            collector.leaf(other.hash().to_bytes());
        }
    }
    Ok(collector.inclusion(entry.sequence()))
}

/// The path that the bundle carries.
fn carried<R: Read + Seek>(
    bundle: &mut Bundle<R>,
    entry: &Entry,
    size: u64,
) -> Result<Option<Vec<Hash>>, ProveError> {
    let mut lines = bundle.proofs();
    while let Some(line) = lines.next()? {
        if let Some(proof) = Proof::parse(line)
            && proof.log_id == *entry.log_id()
            && proof.sequence == entry.sequence()
            && proof.size == size
        {
            return Ok(Some(proof.path));
        }
    }
    Ok(None)
}
