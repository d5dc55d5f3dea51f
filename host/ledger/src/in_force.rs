//! Whether a key may still sign a log.
//!
//! The newest checkpoint says which key signed last, and a `key-rotated` entry at
//! its end, or behind it, which key follows. A log that is opened with a key that
//! was given up would be signed twice, and contradict itself.

use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::VerifyingKey;
use countersign_evidence::{Entry, KeyRotation};

use crate::error::OpenError;
use crate::store::{Store, StoreError};

/// Entries that are read at once. A checkpoint is seldom older than some seconds.
const PAGE: usize = 256;

/// Refuses a key that is not the one under which the log goes on, before anything
/// is written with it. Of a log that was rolled back to before a change of its key,
/// too: accepted under the new key, it would contradict itself. It is asked over the
/// connection that writes: another one may lead to another database.
pub(crate) fn check<S: Store>(store: &mut S, key: &VerifyingKey) -> Result<(), OpenError> {
    match is_ours(store, key) {
        Ok(true) => Ok(()),
        Ok(false) => Err(OpenError::OtherKey {
            log: key.name().to_string(),
        }),
        Err(error) => Err(store.cannot_open(&error)),
    }
}

fn is_ours<S: Store>(store: &mut S, key: &VerifyingKey) -> Result<bool, StoreError> {
    let newest = store.newest_checkpoint()?;
    let from = newest.as_ref().map_or(0, |newest| newest.size);
    let rotation = last_rotation(store, from.saturating_sub(1))?;
    let signed = newest.and_then(|newest| SignedCheckpoint::parse(&newest.text).ok());
    Ok(match (rotation, signed) {
        (Some(rotation), _) => rotation.next == key.to_string(),
        (None, Some(signed)) => signed.verify(key),
        (None, None) => true,
    })
}

fn last_rotation<S: Store>(store: &mut S, from: u64) -> Result<Option<KeyRotation>, StoreError> {
    let mut last = None;
    let mut next = Some(from);
    while let Some(from) = next {
        let page = store.entries(from, PAGE)?;
        next = page.next;
        for stored in page.entries {
            let entry = Entry::parse(&stored.bytes).ok();
            last = entry.and_then(|entry| entry.said().key.clone()).or(last);
        }
    }
    Ok(last)
}
