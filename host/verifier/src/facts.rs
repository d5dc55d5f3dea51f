//! What many executions have in common, kept once.
//!
//! A bundle holds millions of executions of few tools by few agents. What is
//! the same for many is held in one place and shared; what names only one is
//! held as a digest. So the memory of a verification grows by some 200 bytes
//! for each execution, whatever its entries say.

use std::collections::HashSet;
use std::sync::Arc;

use countersign_canon::Digest;
use countersign_evidence::{Agent, Draft};
use sha2::{Digest as _, Sha256};

/// SHA-256 in 32 bytes: a [`Digest`] in less than half its size.
pub(crate) type Raw = [u8; 32];

/// What was reserved, but for the binding.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Facts {
    pub(crate) profile: Box<str>,
    pub(crate) component: Digest,
    /// `SERVER@DIGEST/TOOL`
    pub(crate) target: Box<str>,
}

/// Whose execution it is, and under which name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) agent: Arc<Agent>,
    /// The digest of the identifier or, where there is none, of the call.
    pub(crate) name: Raw,
}

/// A call, as the first half of its id's digest: enough to tell calls apart
/// for whoever cannot try 2^64 of them.
pub(crate) type Caller = [u8; 16];

/// Everything that is shared.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    facts: HashSet<Arc<Facts>>,
    agents: HashSet<Arc<Agent>>,
}

impl Shared {
    /// The facts that an entry states; none where it lacks one of them.
    pub(crate) fn facts(&mut self, said: &Draft) -> Option<Arc<Facts>> {
        let facts = Facts {
            profile: said.profile.as_deref()?.into(),
            component: said.component?,
            target: said.target()?.to_string().into(),
        };
        Some(once(&mut self.facts, facts))
    }

    /// The row that an entry is about: its agent with the identifier or, where
    /// there is none, with the call.
    pub(crate) fn key(&mut self, said: &Draft) -> Option<Key> {
        let name = match (&said.execution_id, &said.call_id) {
            (Some(id), _) => digest(b"execution ", id.as_str()),
            (None, Some(call)) => digest(b"call ", call.as_str()),
            (None, None) => return None,
        };
        let agent = said.agent.as_ref()?;
        let agent = match self.agents.get(agent) {
            Some(known) => Arc::clone(known),
            None => once(&mut self.agents, agent.clone()),
        };
        Some(Key { agent, name })
    }
}

impl Facts {
    /// Whether an entry states the same.
    pub(crate) fn are_of(&self, said: &Draft) -> bool {
        said.profile.as_deref() == Some(&self.profile)
            && said.component == Some(self.component)
            && said
                .target()
                .is_some_and(|target| target.to_string() == *self.target)
    }
}

/// Who called, as far as an entry names it.
pub(crate) fn caller(said: &Draft) -> Option<Caller> {
    let digest = digest(b"call ", said.call_id.as_ref()?.as_str());
    digest.first_chunk().copied()
}

fn digest(sort: &[u8], text: &str) -> Raw {
    Sha256::new_with_prefix(sort)
        .chain_update(text)
        .finalize()
        .into()
}

fn once<T: Eq + std::hash::Hash>(known: &mut HashSet<Arc<T>>, value: T) -> Arc<T> {
    if let Some(known) = known.get(&value) {
        return Arc::clone(known);
    }
    let value = Arc::new(value);
    known.insert(Arc::clone(&value));
    value
}
