//! The answer: claim by claim, and as a whole.

use std::fmt;

use crate::claim::{Claim, Level, Status};
use crate::findings::{Finding, Findings};

/// What holds of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The claims in their order.
    pub claims: Vec<ClaimReport>,
    /// What is reported and belongs to no claim: unknown kinds, unknown
    /// members, keys that a bundle names.
    pub notes: Vec<String>,
    /// How many entries were read.
    pub entries: u64,
}

/// One claim, with reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimReport {
    /// The claim.
    pub claim: Claim,
    /// How far it holds.
    pub status: Status,
    /// What was shown.
    pub shown: Vec<String>,
    /// What contradicts it: the first few.
    pub contradictions: Vec<Finding>,
    /// How many contradictions there are.
    pub contradiction_count: u64,
    /// What it lacks: the first few.
    pub gaps: Vec<Finding>,
    /// How many gaps there are.
    pub gap_count: u64,
}

/// The whole, measured at a level. Its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is contradicted, and all claims of the level are verified: 0.
    Verified,
    /// A claim is contradicted, be it in the level or not: 1.
    Contradicted,
    /// A claim of the level is not established: 2.
    NotEstablished,
}

impl Report {
    pub(crate) fn new(findings: Findings, notes: Vec<String>, entries: u64) -> Self {
        let claims = findings.into_sides().map(|(claim, side)| ClaimReport {
            claim,
            status: side.status(),
            shown: side.shown,
            contradictions: side.against.kept,
            contradiction_count: side.against.count,
            gaps: side.open.kept,
            gap_count: side.open.count,
        });
        Self {
            claims: claims.collect(),
            notes,
            entries,
        }
    }

    /// How far a claim holds.
    #[must_use]
    pub fn status(&self, claim: Claim) -> Status {
        let found = self.claims.iter().find(|report| report.claim == claim);
        found.map_or(Status::NotEstablished, |report| report.status)
    }

    /// The whole. A contradiction anywhere makes it contradicted.
    #[must_use]
    pub fn verdict(&self, level: &Level) -> Verdict {
        let has = |status| move |claim: &ClaimReport| claim.status == status;
        if self.claims.iter().any(has(Status::Contradicted)) {
            Verdict::Contradicted
        } else if self
            .claims
            .iter()
            .all(|c| !level.asks_for(c.claim) || has(Status::Verified)(c))
        {
            Verdict::Verified
        } else {
            Verdict::NotEstablished
        }
    }
}

impl Verdict {
    /// The exit status: 0, 1 or 2. Unusable input is 3.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Verified => 0,
            Self::Contradicted => 1,
            Self::NotEstablished => 2,
        }
    }

    /// The verdict's words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Contradicted => "contradicted",
            Self::NotEstablished => "not established",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_has_an_exit_status_and_words_of_its_own() {
        for (verdict, code, words) in [
            (Verdict::Verified, 0, "verified"),
            (Verdict::Contradicted, 1, "contradicted"),
            (Verdict::NotEstablished, 2, "not established"),
        ] {
            assert_eq!((verdict.exit_code(), verdict.as_str()), (code, words));
        }
    }
}
