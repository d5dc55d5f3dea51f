//! The objects that stand one to a line in members besides the entries: proofs
//! that an entry stands in a log, proofs that an earlier head of a log is the
//! beginning of a later one, and what opens blinded executions.

use countersign_canon::document::Document;
use countersign_canon::{Digest, Limits};
use sha2::{Digest as _, Sha256};

use crate::member::{Member, object};
use crate::tree::Hash;
use crate::{Agent, CallId, Draft, ExecutionId, LogId, Salt};

const LIMITS: Limits = Limits {
    message_bytes: 65_536,
    depth: 3,
    number_bytes: 20,
    nodes: 128,
};

/// A longer path than any tree's has: a consistency path has one hash more
/// than an inclusion path.
const LONGEST_PATH: usize = 65;

/// The proof that an entry stands in a log of a certain size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The log.
    pub log_id: LogId,
    /// The entry's place in it.
    pub sequence: u64,
    /// The size of the tree that the path leads to.
    pub size: u64,
    /// The inclusion path.
    pub path: Vec<Hash>,
}

/// The proof that a log of one size is the beginning of the same log at a later
/// size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consistency {
    /// The log.
    pub log_id: LogId,
    /// The size of the earlier head.
    pub from: u64,
    /// The size of the later one.
    pub to: u64,
    /// The consistency path.
    pub path: Vec<Hash>,
}

/// What opens one blinded execution: its salt, and the binding that its
/// admission must have under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Whose execution it is.
    pub agent: Agent,
    /// The call that opened it, where it has no identifier.
    pub call_id: Option<CallId>,
    /// Its identifier.
    pub execution_id: Option<ExecutionId>,
    /// The binding that was admitted.
    pub binding: Digest,
    /// What it was blinded with.
    pub salt: Salt,
}

object! { Proof { "log_id": log_id, "path": path, "sequence": sequence, "size": size } }
object! { Consistency { "from": from, "log_id": log_id, "path": path, "to": to } }
object! { Opening {
    "agent": agent,
    "binding": binding,
    "call_id": call_id,
    "execution_id": execution_id,
    "salt": salt,
} }

/// Writes and reads each of them as one line, without its line feed.
macro_rules! lines {
    ($($name:ident: $sound:expr),+ $(,)?) => {$(
        impl $name {
            /// One line of a member, without its line feed.
            #[must_use]
            pub fn to_json(&self) -> Vec<u8> {
                let mut out = Vec::new();
                self.write(&mut out);
                out
            }

            /// Reads such a line.
            #[must_use]
            pub fn parse(json: &[u8]) -> Option<Self> {
                let document = Document::read(json, LIMITS).ok()?;
                let sound: fn(&Self) -> bool = $sound;
                <Self as Member>::read(document.root()).filter(sound)
            }
        }
    )+};
}

lines! {
    Proof: |proof| proof.path.len() <= LONGEST_PATH,
    Consistency: |proof| proof.path.len() <= LONGEST_PATH,
    Opening: |opening| opening.call_id.is_some() != opening.execution_id.is_some(),
}

/// Names the execution that an entry is about, or would be about if it had a
/// row; by the identifier or, where there is none, by the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionName([u8; 32]);

impl ExecutionName {
    /// The execution of an entry; none where it names no agent or no call.
    #[must_use]
    pub fn of(said: &Draft) -> Option<Self> {
        let agent = said.agent.as_ref()?;
        Self::named(agent, said.execution_id.as_ref(), said.call_id.as_ref())
    }

    fn named(
        agent: &Agent,
        execution_id: Option<&ExecutionId>,
        call_id: Option<&CallId>,
    ) -> Option<Self> {
        let mut text = Vec::with_capacity(256);
        agent.write(&mut text);
        match (execution_id, call_id) {
            (Some(id), _) => {
                text.extend_from_slice(b" execution ");
                text.extend_from_slice(id.as_str().as_bytes());
            }
            (None, Some(call)) => {
                text.extend_from_slice(b" call ");
                text.extend_from_slice(call.as_str().as_bytes());
            }
            (None, None) => return None,
        }
        Some(Self(Sha256::digest(&text).into()))
    }
}

impl Opening {
    /// What opens the execution that an entry is about; none where the entry
    /// does not say which.
    #[must_use]
    pub fn of(said: &Draft, binding: Digest, salt: Salt) -> Option<Self> {
        let agent = said.agent.clone()?;
        let execution_id = said.execution_id.clone();
        let call_id = match &execution_id {
            Some(_) => None,
            None => Some(said.call_id.clone()?),
        };
        Some(Self {
            agent,
            call_id,
            execution_id,
            binding,
            salt,
        })
    }

    /// The execution that it opens.
    #[must_use]
    pub fn name(&self) -> Option<ExecutionName> {
        let (id, call) = (self.execution_id.as_ref(), self.call_id.as_ref());
        ExecutionName::named(&self.agent, id, call)
    }
}
