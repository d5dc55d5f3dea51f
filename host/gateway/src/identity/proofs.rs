//! Proofs of possession as requests bring them, each used once.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_evidence::Agent;
use countersign_identity::{
    Fault, Fresh, Nonced, Nonces, Proof, ProofRules, Refusal, Replays, Target,
};

use super::credential::Request;
use super::{NotTaken, now_s};
use crate::config;
use crate::environment::{Environment, NoRandomness};

/// Proofs that are remembered in a life of theirs; some 15 MiB at most.
const MOST: usize = 100_000;

/// What proofs are held against.
#[derive(Debug)]
pub(super) struct Proofs {
    rules: ProofRules,
    nonces: Nonces,
    replays: Mutex<Replays>,
    began_s: i64,
    /// Proofs that say that they were made until then have to have a nonce.
    nonced_until_s: i64,
}

/// A token that is bound to a key, as a request brings it.
pub(super) struct Bound<'r> {
    pub(super) agent: &'r Agent,
    pub(super) token: &'r str,
    /// The thumbprint of the key.
    pub(super) jkt: &'r str,
    /// What the proof must be made for.
    pub(super) url: &'r str,
}

impl Proofs {
    pub(super) fn new(
        config: &config::Proofs,
        environment: &Environment,
    ) -> Result<Self, NoRandomness> {
        let rules = config.rules.clone();
        let began_s = now_s(environment);
        // One whose clock is ahead may have been used before this gateway began, of
        // which nothing is remembered: what it says of its time proves nothing
        // then, and a nonce of this gateway's does.
        let nonced_until_s = if config.nonces {
            i64::MAX
        } else {
            began_s.saturating_add(rules.skew_s)
        };
        // One that comes from the future lives longest.
        let life_s = rules.age_s + rules.skew_s + 1;
        Ok(Self {
            replays: Mutex::new(Replays::new(life_s, MOST, began_s)),
            rules,
            nonces: Nonces::new(environment.bytes()?),
            began_s,
            nonced_until_s,
        })
    }

    /// Checks the one proof of a request and uses it up. `within_rate` takes the
    /// request off the rate of `agent`; it is asked once the proof is known to be
    /// fresh and the agent's own, and before it is remembered.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub(super) fn check(
        &self,
        request: &Request<'_>,
        bound: &Bound<'_>,
        within_rate: impl FnOnce(&Agent) -> bool,
        environment: &Environment,
    ) -> Result<(), NotTaken> {
        let Bound {
            agent,
            token,
            jkt,
            url,
        } = *bound;
        let mut values = request.headers.get_all("dpop").iter();
        let text = match (values.next(), values.next()) {
            (None, _) => return Err(Refusal::ProofRequired.into()),
            (Some(value), None) => value.to_str().map_err(|_| Refusal::Proof(Fault::Form))?,
            (Some(_), Some(_)) => return Err(Refusal::Proof(Fault::Form).into()),
        };
        let now_s = now_s(environment);
        let target = Target {
            method: request.method.as_str(),
            url,
            token,
        };
        // What was used before this gateway began is not remembered, so proofs
        // from then do not count.
        let mut rules = self.rules.clone();
        rules.age_s = rules.age_s.min(now_s.saturating_sub(self.began_s));
        let nonced = Nonced {
            nonces: &self.nonces,
            made_until_s: self.nonced_until_s,
        };
        let proof = Proof::check(text, target, &rules, Some(nonced), now_s)?;
        if proof.jkt != jkt {
            return Err(Refusal::Proof(Fault::Binding).into());
        }
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        match replays.use_up(&proof, agent, now_s, || within_rate(agent)) {
            Fresh::Yes => Ok(()),
            Fresh::No => Err(Refusal::ProofReplayed.into()),
            Fresh::OverRate => Err(NotTaken::over_rate(agent.clone())),
            Fresh::Full(left_s) => Err(NotTaken::TooMuch {
                agent: agent.clone(),
                wait: Duration::from_secs(left_s),
            }),
        }
    }

    /// The nonce that is given now.
    pub(super) fn nonce(&self, now_s: i64) -> String {
        self.nonces.current(now_s)
    }

    /// The algorithms, as a challenge has them.
    pub(super) fn algorithms(&self) -> String {
        let names = self.rules.algorithms.iter().map(|one| one.as_str());
        names.collect::<Vec<_>>().join(" ")
    }
}
