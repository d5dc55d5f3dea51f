//! What can be claimed of a bundle, and how far each claim holds.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One of the eight claims of `docs/spec/evidence.md`, section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// Entries hash, chains link, the tree has the root that a trusted key signed.
    Integrity,
    /// Nothing is missing from any log.
    Completeness,
    /// The requests at hand were admitted as the entries say.
    Admission,
    /// Every attempt is what the entries before it make it.
    Classification,
    /// The same policies decide the requests at hand in the same way.
    Decision,
    /// Each execution was reserved once, settled once, and not touched after.
    Ordering,
    /// What was named at each call had been approved by then.
    Attribution,
    /// What the gateway recorded as outcomes, and by whom each was stated.
    Outcome,
}

/// How far a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It was shown.
    Verified,
    /// It could not be shown, and nothing speaks against it.
    NotEstablished,
    /// The opposite was shown.
    Contradicted,
}

/// The claims that must be verified for a good exit, as `--fail-under` names
/// them: `all`, or claims separated by commas. `integrity` is always one of
/// them: without it nobody knows who said the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level(BTreeSet<Claim>);

/// A word that names no claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no claim: use `all`, or some of `integrity`, `completeness`, `admission`, `classification`, `decision`, `ordering`, `attribution`, `outcome`, separated by commas"
)]
pub struct UnknownClaim(String);

impl Claim {
    /// All claims, in the order in which they are reported.
    pub const ALL: [Self; 8] = [
        Self::Integrity,
        Self::Completeness,
        Self::Admission,
        Self::Classification,
        Self::Decision,
        Self::Ordering,
        Self::Attribution,
        Self::Outcome,
    ];

    /// The claim's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Integrity => "integrity",
            Self::Completeness => "completeness",
            Self::Admission => "admission",
            Self::Classification => "classification",
            Self::Decision => "decision",
            Self::Ordering => "ordering",
            Self::Attribution => "attribution",
            Self::Outcome => "outcome",
        }
    }
}

impl Status {
    /// The status's words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::NotEstablished => "not established",
            Self::Contradicted => "contradicted",
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Level {
    /// Whether a claim belongs to this level.
    #[must_use]
    pub fn asks_for(&self, claim: Claim) -> bool {
        self.0.contains(&claim)
    }
}

impl Default for Level {
    fn default() -> Self {
        Self(BTreeSet::from([Claim::Integrity]))
    }
}

impl FromStr for Level {
    type Err = UnknownClaim;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self(Claim::ALL.into()));
        }
        let claim = |word: &str| {
            let found = Claim::ALL.into_iter().find(|claim| claim.as_str() == word);
            found.ok_or_else(|| UnknownClaim(word.to_owned()))
        };
        let mut claims = BTreeSet::from([Claim::Integrity]);
        for word in text.split(',') {
            claims.insert(claim(word)?);
        }
        Ok(Self(claims))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() == Claim::ALL.len() {
            return f.write_str("all");
        }
        let words: Vec<&str> = self.0.iter().map(|claim| claim.as_str()).collect();
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_all_or_a_list_of_claims() {
        for text in ["all", "integrity", "integrity,outcome"] {
            assert_eq!(text.parse::<Level>().unwrap().to_string(), text);
        }
        assert_eq!(Level::default().to_string(), "integrity");
        let outcome = "outcome".parse::<Level>().unwrap();
        assert_eq!(outcome.to_string(), "integrity,outcome");
        assert!("all".parse::<Level>().unwrap().asks_for(Claim::Decision));
        for bad in ["", "Integrity", "integrity,", "integrity, outcome", "none"] {
            assert!(bad.parse::<Level>().is_err(), "`{bad}` must be refused");
        }
    }
}
