//! Workloads that an operator declared to be one: who moves from one method of
//! authentication to another keeps its executions.
//!
//! An alias is explicit, one for one, and never a chain; the log says so from
//! the moment that it counts (`docs/spec/executions.md` §1).

use std::collections::HashMap;

use countersign_evidence::Agent;

/// The aliases of one configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases {
    // In the order in which they were written.
    pairs: Vec<(Agent, Agent)>,
    known: HashMap<Agent, Agent>,
}

/// Aliases that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AliasError {
    /// One identity stands for two.
    #[error("an identity has two aliases")]
    Twice,
    /// What an alias leads to is an alias itself.
    #[error("an alias leads to another alias")]
    Chain,
    /// It leads to itself.
    #[error("an alias leads to itself")]
    Itself,
}

impl Aliases {
    /// Takes pairs of who authenticates and whose executions those are.
    ///
    /// # Errors
    /// [`AliasError`].
    pub fn new(pairs: Vec<(Agent, Agent)>) -> Result<Self, AliasError> {
        let mut known = HashMap::new();
        for (now, before) in &pairs {
            if now == before {
                return Err(AliasError::Itself);
            }
            if known.insert(now.clone(), before.clone()).is_some() {
                return Err(AliasError::Twice);
            }
        }
        if pairs.iter().any(|(_, before)| known.contains_key(before)) {
            return Err(AliasError::Chain);
        }
        Ok(Self { pairs, known })
    }

    /// Who an authenticated workload counts as.
    #[must_use]
    pub fn resolve(&self, agent: Agent) -> Agent {
        match self.known.get(&agent) {
            Some(before) => before.clone(),
            None => agent,
        }
    }

    /// The pairs: who authenticates, and whose executions those are.
    pub fn iter(&self) -> impl Iterator<Item = (&Agent, &Agent)> {
        self.pairs.iter().map(|(now, before)| (now, before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(method: &str) -> Agent {
        Agent {
            method: method.to_owned(),
            issuer: String::new(),
            subject: "billing".to_owned(),
        }
    }

    #[test]
    fn an_alias_is_one_for_one_and_never_a_chain() {
        let (a, b, c) = (agent("a"), agent("b"), agent("c"));
        let pair = |from: &Agent, to: &Agent| (from.clone(), to.clone());
        for (pairs, error) in [
            (vec![pair(&a, &a)], AliasError::Itself),
            (vec![pair(&a, &b), pair(&a, &c)], AliasError::Twice),
            (vec![pair(&a, &b), pair(&b, &c)], AliasError::Chain),
            (vec![pair(&a, &b), pair(&b, &a)], AliasError::Chain),
        ] {
            assert_eq!(Aliases::new(pairs), Err(error));
        }
        let aliases = Aliases::new(vec![pair(&a, &b), pair(&c, &b)]).unwrap();
        let pairs: Vec<_> = aliases.iter().collect();
        assert_eq!(pairs, [(&a, &b), (&c, &b)]);
        assert_eq!(aliases.resolve(a), b);
        assert_eq!(aliases.resolve(c), b);
        assert_eq!(aliases.resolve(b.clone()), b);
        let mut another = b.clone();
        another.issuer.push('x');
        assert_eq!(aliases.resolve(another.clone()), another, "exact bytes");
    }
}
