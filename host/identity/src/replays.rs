//! Proofs that were used, so that none is used twice.
//!
//! Two generations: when a whole life of a proof has passed, the older one is
//! forgotten. So each is remembered for at least its life, in bounded memory
//! and without a search for what is old.

use std::collections::{HashMap, HashSet};

use countersign_evidence::Agent;
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
    /// How many are of each key, and of each agent.
    shares: HashMap<[u8; 32], usize>,
}

/// What a proof is, as far as is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// It was not used before, and is now.
    Yes,
    /// It was used before.
    No,
    /// It was not, but its agent sends more than it may; it was not used up.
    OverRate,
    /// So many were used that no more can be remembered until so many seconds have
    /// passed, at least 1; it was not used up.
    Full(u64),
}

impl Replays {
    /// Remembers each proof for `life_s` seconds or longer, `most` of them in a
    /// life, and of one key or one agent a quarter of that: agents choose their
    /// keys, so that a share of each key alone would bound nobody.
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

    /// Uses up a proof that `agent` brings, where that is `within_rate`, which is asked
    /// of a fresh proof alone: who sends somebody's proof again takes nothing of theirs.
    pub fn use_up(
        &mut self,
        proof: &Proof,
        agent: &Agent,
        now_s: i64,
        within_rate: impl FnOnce() -> bool,
    ) -> Fresh {
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
        let shares = [key, share(agent)];
        let of = |share: &[u8; 32]| self.current.shares.get(share).copied().unwrap_or_default();
        let most_of_one = self.most.div_ceil(4);
        if self.current.used.len() >= self.most || shares.iter().any(|one| of(one) >= most_of_one) {
            let ends_s = self.began_s.saturating_add(self.life_s);
            let left_s = ends_s.saturating_sub(now_s).max(1);
            return Fresh::Full(left_s.unsigned_abs());
        }
        if !within_rate() {
            return Fresh::OverRate;
        }
        self.current.used.insert(name);
        for share in shares {
            *self.current.shares.entry(share).or_default() += 1;
        }
        Fresh::Yes
    }
}

/// What an agent's proofs are counted under; no key's is the same.
fn share(agent: &Agent) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(b"agent");
    for part in [&agent.method, &agent.issuer, &agent.subject] {
        // A length before each part, so that no two agents have the same bytes.
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
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

    fn agent(subject: &str) -> Agent {
        Agent {
            method: "jwt".to_owned(),
            issuer: "i".to_owned(),
            subject: subject.to_owned(),
        }
    }

    #[test]
    fn a_proof_is_used_once_in_its_life_whenever_that_began() {
        let (of, yes) = (agent("a"), || true);
        for begins in [0, 1, 59, 60, 61, 119] {
            let mut replays = Replays::new(60, 100, 0);
            assert_eq!(replays.use_up(&proof("a", 1), &of, begins, yes), Fresh::Yes);
            for later in [0, 1, 30, 59] {
                let again = replays.use_up(&proof("a", 1), &of, begins + later, yes);
                assert_eq!(again, Fresh::No, "{begins} + {later}");
            }
            assert_eq!(replays.use_up(&proof("b", 1), &of, begins, yes), Fresh::Yes);
            assert_eq!(
                replays.use_up(&proof("a", 1), &of, begins + 180, yes),
                Fresh::Yes,
                "its own age refuses it by then"
            );
        }
    }

    #[test]
    fn one_takes_a_quarter_and_all_together_no_more_than_there_is() {
        // Whether keys or agents are changed, and each with every proof or never.
        for (why, keys, agents) in [
            ("one key", 1, 1),
            ("one agent with a key for each proof", 1_000, 1),
            ("one key in many hands", 1, 1_000),
        ] {
            let mut replays = Replays::new(60, 80, 0);
            let mut number = 0;
            let mut taken = 0;
            for _ in 0..1_000 {
                number += 1;
                let key = format!("k{}", number % keys);
                let of = agent(&format!("a{}", number % agents));
                match replays.use_up(&proof(&key, number), &of, 7, || true) {
                    Fresh::Yes => taken += 1,
                    other => assert_eq!(other, Fresh::Full(53), "{why}"),
                }
            }
            assert_eq!(taken, 20, "{why}");
            let other = replays.use_up(&proof("other", 1), &agent("other"), 7, || true);
            assert_eq!(other, Fresh::Yes, "{why}: there is room for others");
        }
        let mut replays = Replays::new(60, 8, 0);
        for name in ["a", "b", "c", "d"] {
            let mut use_up =
                |number| replays.use_up(&proof(name, number), &agent(name), 0, || true);
            assert_eq!(use_up(1), Fresh::Yes);
            assert_eq!(use_up(2), Fresh::Yes);
            assert_eq!(use_up(3), Fresh::Full(60));
            assert_eq!(use_up(1), Fresh::No);
        }
        let (e, of) = (proof("e", 1), agent("e"));
        assert_eq!(replays.use_up(&e, &of, 59, || true), Fresh::Full(1));
        assert_eq!(replays.use_up(&e, &of, 60, || true), Fresh::Yes);
    }

    #[test]
    fn only_a_fresh_proof_that_is_remembered_takes_from_its_agents_rate() {
        let mut replays = Replays::new(60, 8, 0);
        let of = agent("a");
        let asked = std::cell::Cell::new(0);
        let rate = |within: bool| {
            asked.set(asked.get() + 1);
            within
        };
        for (number, within, fresh, times) in [
            (1, false, Fresh::OverRate, 1),
            (1, true, Fresh::Yes, 2),
            (1, true, Fresh::No, 2),
            (2, false, Fresh::OverRate, 3),
            (2, true, Fresh::Yes, 4),
            (3, true, Fresh::Full(60), 4),
        ] {
            let used = replays.use_up(&proof("k", number), &of, 0, || rate(within));
            assert_eq!((used, asked.get()), (fresh, times), "{number} {within}");
        }
    }
}
