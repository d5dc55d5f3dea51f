//! What unit tests of several rooms are made of.

use countersign_evidence::Agent;

/// An agent of that name, known by a token.
pub(crate) fn agent(subject: &str) -> Agent {
    Agent {
        method: "token".into(),
        issuer: String::new(),
        subject: subject.into(),
    }
}
