//! States of rounds that an upstream issued in answer to a request that is no
//! call: whose each is.
//!
//! A state is bound to the agent that received it; to any other it is unknown
//! (`docs/spec/executions.md` §6). Calls have the ledger for this; what is no
//! call leaves nothing there, so a restart forgets these states, and whoever
//! presents one begins anew.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use countersign_canon::Digest;
use countersign_evidence::Agent;

/// States that are remembered; the oldest goes first.
const MOST: usize = 10_000;

/// The states that one server issued.
#[derive(Debug, Default)]
pub(crate) struct Issued(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    known: HashSet<(Agent, Digest)>,
    order: VecDeque<(Agent, Digest)>,
}

impl Issued {
    /// Remembers that an agent received a state.
    pub(crate) fn remember(&self, agent: &Agent, state: &str) {
        let key = (agent.clone(), Digest::of(&[state.as_bytes()]));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.known.insert(key.clone()) {
            return;
        }
        known.order.push_back(key);
        if known.order.len() > MOST
            && let Some(oldest) = known.order.pop_front()
        {
            known.known.remove(&oldest);
        }
    }

    /// Whether that agent received that state.
    pub(crate) fn knows(&self, agent: &Agent, state: &str) -> bool {
        let key = (agent.clone(), Digest::of(&[state.as_bytes()]));
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.known.contains(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::agent;

    #[test]
    fn a_state_is_known_to_its_agent_alone_and_the_oldest_are_forgotten() {
        let issued = Issued::default();
        issued.remember(&agent("a"), "s");
        assert!(issued.knows(&agent("a"), "s"));
        assert!(!issued.knows(&agent("b"), "s"));
        assert!(!issued.knows(&agent("a"), "t"));
        for number in 0..MOST {
            issued.remember(&agent("a"), &number.to_string());
        }
        assert!(!issued.knows(&agent("a"), "s"));
    }
}
