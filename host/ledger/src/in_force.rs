//! Whether a key may still sign a log.
//!
//! The newest checkpoint says which key signed last, and a `key-rotated` entry at
//! its end, or behind it, which key follows. A log that is opened with a key that
//! was given up would be signed twice, and contradict itself.

use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;
use countersign_evidence::{Entry, KeyRotation};

use crate::error::{LedgerError, OpenError};
use crate::reading::{Reads, Selection};

/// Entries that are read at once. A checkpoint is seldom older than some seconds.
const PAGE: usize = 256;

/// Refuses a key that is not the one under which the log goes on, before anything
/// is written with it. Of a log that was rolled back to before a change of its key,
/// too: accepted under the new key, it would contradict itself.
pub(crate) fn check(reads: &dyn Reads, key: &VerifyingKey) -> Result<(), OpenError> {
    let unread = |error: LedgerError| OpenError::Damaged(format!("its log: {error}"));
    let newest = reads.newest_checkpoint(key.name()).wait().map_err(unread)?;
    let from = newest.as_ref().map_or(0, |newest| newest.size);
    let rotation = last_rotation(reads, key, from.saturating_sub(1)).map_err(unread)?;
    let signed = newest.and_then(|newest| SignedCheckpoint::parse(&newest.text).ok());
    let ours = match (rotation, signed) {
        (Some(rotation), _) => rotation.next == key.to_string(),
        (None, Some(signed)) => signed.verify(key),
        (None, None) => true,
    };
    if ours {
        Ok(())
    } else {
        Err(OpenError::OtherKey {
            log: key.name().to_string(),
        })
    }
}

fn last_rotation(
    reads: &dyn Reads,
    key: &VerifyingKey,
    from: u64,
) -> Result<Option<KeyRotation>, LedgerError> {
    let mut last = None;
    let mut next = Some(from);
    while let Some(from) = next {
        let page = reads
            .entries(key.name(), &Selection::All, from, PAGE)
            .wait()?;
        next = page.next;
        for stored in page.entries {
            let entry = Entry::parse(&stored.bytes).ok();
            last = entry.and_then(|entry| entry.said().key.clone()).or(last);
        }
    }
    Ok(last)
}
