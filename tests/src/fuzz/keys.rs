//! Adequacy, seen from outside: what an exact reader tells apart never shares
//! an action, and what it does not tell apart always does.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use countersign_canon::Digest;

/// Which key came with which action so far, and in which case.
#[derive(Debug, Default)]
pub(super) struct Keys {
    by_key: HashMap<[u8; 32], ([u8; 32], u64)>,
    by_action: HashMap<[u8; 32], ([u8; 32], u64)>,
    /// How often a message met another one that asks for the same.
    pub(super) met: u64,
}

impl Keys {
    /// Notes a call; the earlier case that it contradicts, if there is one.
    pub(super) fn note(&mut self, case: u64, key: &str, action: &[u8]) -> Result<(), u64> {
        let key = Digest::of(&[key.as_bytes()]).to_bytes();
        let action = Digest::of(&[action]).to_bytes();
        let met = check(&mut self.by_key, key, action, case)?;
        check(&mut self.by_action, action, key, case)?;
        self.met += u64::from(met);
        Ok(())
    }
}

fn check(
    known: &mut HashMap<[u8; 32], ([u8; 32], u64)>,
    from: [u8; 32],
    to: [u8; 32],
    case: u64,
) -> Result<bool, u64> {
    match known.entry(from) {
        Entry::Vacant(entry) => {
            entry.insert((to, case));
            Ok(false)
        }
        Entry::Occupied(entry) if entry.get().0 == to => Ok(true),
        Entry::Occupied(entry) => Err(entry.get().1),
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn a_key_with_two_actions_and_an_action_with_two_keys_are_both_found() {
        let mut keys = Keys::default();
        assert_eq!(keys.note(0, "a", b"A"), Ok(()));
        assert_eq!(keys.note(1, "a", b"A"), Ok(()));
        assert_eq!(keys.met, 1);
        assert_eq!(keys.note(2, "a", b"B"), Err(0));
        assert_eq!(keys.note(3, "b", b"A"), Err(0));
    }
}
