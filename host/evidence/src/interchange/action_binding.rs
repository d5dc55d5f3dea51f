//! `cmcp.execution-action-binding`, version 1: the outer digest that another
//! community froze, with our binding as its `action_scope`.
//!
//! Its preimage is the RFC 8785 form of exactly six members. Ours fills them
//! like this:
//!
//! | member | holds |
//! |---|---|
//! | `domain`, `version` | `cmcp.execution-action-binding`, 1 |
//! | `agent_id` | the canonical text of the entry's `agent`: three exact strings in one |
//! | `action_type` | `tools/call` |
//! | `action_scope` | the binding |
//! | `action_timestamp` | the time of the admission that reserved the execution |

use countersign_canon::{Digest, write};

use crate::bundle::Opened;
use crate::member::{Member, member};
use crate::{Blinding, Entry, Kind};

const DOMAIN: &str = "cmcp.execution-action-binding";
const TOOLS_CALL: &str = "tools/call";

/// The outer digest of one admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionBinding {
    /// The binding that is its scope.
    pub scope: Digest,
    /// The canonical bytes.
    pub preimage: Vec<u8>,
    /// Their SHA-256.
    pub digest: Digest,
}

impl ActionBinding {
    /// The outer digest of an execution, from the entry that reserved it and,
    /// where that is blinded, what opens it; none for other entries, and for one
    /// that stays closed.
    #[must_use]
    pub fn of(entry: &Entry, opened: Option<&Opened>) -> Option<Self> {
        let said = entry.said();
        if said.kind != Kind::Admission {
            return None;
        }
        let mut agent = Vec::new();
        said.agent.as_ref()?.write(&mut agent);
        // INVARIANT: what is written is UTF-8.
        let agent = String::from_utf8(agent).ok()?;
        let scope = match said.blind {
            Blinding::Plain => said.binding?,
            _ => opened.filter(|opened| opened.opens(said))?.binding?,
        };
        let preimage = preimage(&agent, TOOLS_CALL, scope.as_str(), &said.time.to_string());
        Some(Self {
            digest: Digest::of(&[&preimage]),
            scope,
            preimage,
        })
    }

    /// One line, to be read beside the entry that it is about.
    #[must_use]
    pub fn line(&self, entry: &Entry) -> Vec<u8> {
        let said = entry.said();
        let mut out = vec![b'{'];
        member(&mut out, "action_binding", &self.digest);
        member(&mut out, "binding", &self.scope);
        member(&mut out, "call_id", &said.call_id);
        member(&mut out, "entry_hash", &entry.hash());
        member(&mut out, "execution_id", &said.execution_id);
        member(&mut out, "log_id", entry.log_id());
        let text = String::from_utf8_lossy(&self.preimage).into_owned();
        member(&mut out, "preimage", &text);
        member(&mut out, "sequence", &entry.sequence());
        out.push(b'}');
        out
    }
}

/// The canonical bytes of the six members.
#[must_use]
pub fn preimage(agent_id: &str, action_type: &str, scope: &str, timestamp: &str) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (name, value) in [
        ("action_scope", scope),
        ("action_timestamp", timestamp),
        ("action_type", action_type),
        ("agent_id", agent_id),
        ("domain", DOMAIN),
    ] {
        write::string(&mut out, name);
        out.push(b':');
        write::string(&mut out, value);
        out.push(b',');
    }
    out.extend_from_slice(br#""version":1}"#);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frozen definition's own vectors, EAB-001 and EAB-002.
    #[test]
    fn the_published_vectors_are_reproduced() {
        for (scope, digest) in [
            (
                "account:merchant-7",
                "sha256:305b05b249b159fa9dea8cbbfaa0c19b71aa867a6da718693c1c7d4b83f52fe4",
            ),
            (
                "工具/merchant-7",
                "sha256:6c6a43dd37e7762b65063a24fcbf77bb914f95e1ab976405e3e2cafa54b1d08a",
            ),
        ] {
            let bytes = preimage(
                "spiffe://agent.example/payments/prod",
                "transfer",
                scope,
                "2026-09-10T16:30:00Z",
            );
            assert_eq!(Digest::of(&[&bytes]).as_str(), digest);
        }
    }
}
