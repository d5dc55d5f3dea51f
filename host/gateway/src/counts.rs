//! Counts by a key, of which those that are nothing are not kept.

use std::collections::HashMap;
use std::hash::Hash;

/// Gives back `by` of what is counted for a key.
pub(crate) fn release<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K, by: usize) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(by);
        if *count == 0 {
            counts.remove(key);
        }
    }
}
