//! Proofs that were used, so that none is used twice.
//!
//! Two generations: when a whole life of a proof has passed, the older one is
//! forgotten. So each is remembered for at least its life, in bounded memory
//! and without a search for what is old.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};

use crate::dpop::Proof;

/// The proofs that were used lately.
#[derive(Clone, Debug)]
pub struct Replays {
    life_s: i64,
    most: usize,
    began_s: i64,
    current: Generation,
    previous: Generation,
}

#[derive(Clone, Debug, Default)]
struct Generation {
    used: HashSet<[u8; 32]>,
    by_key: HashMap<[u8; 32], usize>,
}

/// What a proof is, as far as is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// It was not used before, and is now.
    Yes,
    /// It was used before.
    No,
    /// So many were used that no more can be remembered.
    Full,
}

impl Replays {
    /// Remembers each proof for `life_s` seconds or longer, `most` of them in a
    /// life, and of one key a quarter of that.
    #[must_use]
    pub fn new(life_s: i64, most: usize, now_s: i64) -> Self {
        Self {
            life_s,
            most,
            began_s: now_s,
            current: Generation::default(),
            previous: Generation::default(),
        }
    }

    /// Uses a proof up.
    pub fn use_up(&mut self, proof: &Proof, now_s: i64) -> Fresh {
        let age = now_s.saturating_sub(self.began_s);
        if age >= self.life_s {
            let ended = std::mem::take(&mut self.current);
            // After two lives without any, both are over.
            self.previous = if age >= self.life_s.saturating_mul(2) {
                Generation::default()
            } else {
                ended
            };
            self.began_s = now_s;
        }
        let key: [u8; 32] = Sha256::digest(&proof.jkt).into();
        let name: [u8; 32] = Sha256::new_with_prefix(key)
            .chain_update(&proof.jti)
            .finalize()
            .into();
        if self.current.used.contains(&name) || self.previous.used.contains(&name) {
            return Fresh::No;
        }
        let of_key = self.current.by_key.get(&key).copied().unwrap_or_default();
        if self.current.used.len() >= self.most || of_key >= self.most.div_ceil(4) {
            return Fresh::Full;
        }
        self.current.used.insert(name);
        *self.current.by_key.entry(key).or_default() += 1;
        Fresh::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(jkt: &str, jti: u32) -> Proof {
        Proof {
            jkt: jkt.to_owned(),
            jti: jti.to_string(),
        }
    }

    #[test]
    fn a_proof_is_used_once_in_its_life_whenever_that_began() {
        for begins in [0, 1, 59, 60, 61, 119] {
            let mut replays = Replays::new(60, 100, 0);
            assert_eq!(replays.use_up(&proof("a", 1), begins), Fresh::Yes);
            for later in [0, 1, 30, 59] {
                let again = replays.use_up(&proof("a", 1), begins + later);
                assert_eq!(again, Fresh::No, "{begins} + {later}");
            }
            assert_eq!(replays.use_up(&proof("b", 1), begins), Fresh::Yes);
            assert_eq!(
                replays.use_up(&proof("a", 1), begins + 180),
                Fresh::Yes,
                "its own age refuses it by then"
            );
        }
    }

    #[test]
    fn one_key_takes_a_quarter_and_all_together_no_more_than_there_is() {
        let mut replays = Replays::new(60, 8, 0);
        for key in ["a", "b", "c", "d"] {
            assert_eq!(replays.use_up(&proof(key, 1), 0), Fresh::Yes);
            assert_eq!(replays.use_up(&proof(key, 2), 0), Fresh::Yes);
            assert_eq!(replays.use_up(&proof(key, 3), 0), Fresh::Full);
            assert_eq!(replays.use_up(&proof(key, 1), 0), Fresh::No);
        }
        assert_eq!(replays.use_up(&proof("e", 1), 0), Fresh::Full);
        assert_eq!(replays.use_up(&proof("e", 1), 60), Fresh::Yes);
    }
}
