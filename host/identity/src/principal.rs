//! What authentication established: five facts, each in a field of its own.

use countersign_evidence::Agent;

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The workload: the key of its executions.
    pub agent: Agent,
    /// What else was established.
    pub facts: Facts,
    /// Until when, in seconds since 1970; none where the credential has no end.
    pub until_s: Option<i64>,
}

/// What was established beside the workload. Each is absent unless it was
/// established by itself; none follows from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    /// The user for whom the workload acts.
    pub represented_user: Option<String>,
    /// The audience under which the token was taken.
    pub audience: Option<String>,
    /// The key whose possession was proved: `jkt:` or `x5t#S256:` and its
    /// thumbprint.
    pub proof_key: Option<String>,
    /// The authority that was delegated to the workload.
    pub authority: Option<String>,
}

impl Principal {
    /// A workload of which nothing else is known.
    #[must_use]
    pub fn bare(agent: Agent) -> Self {
        Self {
            agent,
            facts: Facts::default(),
            until_s: None,
        }
    }

    /// Whether the credential still holds at `now_s`, seconds since 1970.
    #[must_use]
    pub fn holds(&self, now_s: i64) -> bool {
        self.until_s.is_none_or(|until| now_s < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_holds_until_its_end_and_not_at_it() {
        let mut principal = Principal::bare(Agent {
            method: "jwt".to_owned(),
            issuer: "https://issuer.example".to_owned(),
            subject: "billing".to_owned(),
        });
        assert!(principal.holds(i64::MAX));
        principal.until_s = Some(1_000);
        let holds = [0, 999, 1_000, 1_001].map(|now_s| principal.holds(now_s));
        assert_eq!(holds, [true, true, false, false]);
    }
}
