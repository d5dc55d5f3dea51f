//! The closed sets of words that stand in entries, each with its one spelling.

use std::fmt;

use countersign_canon::{Classification, Difference, Outcome};

macro_rules! terms {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$case_doc])* $case),+
        }

        impl $name {
            /// Every word of this set, in the order of its declaration.
            pub const ALL: &'static [Self] = &[$(Self::$case),+];

            /// The word as it stands in entries.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$case => $text),+ }
            }

            /// The word that `text` spells, if it is one of this set.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$case),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// What an entry records (`docs/spec/evidence.md`, section 1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A log's owner started, as a new incarnation.
    Start,
    /// An attempt was admitted and its execution reserved.
    Admission,
    /// An authenticated attempt was refused.
    Refusal,
    /// Attempts that were counted instead of written one by one.
    Suppressed,
    /// An execution's outcome.
    Terminal,
    /// An answer that arrived after its owner had been fenced.
    LateAnswer,
    /// An execution lost its owner.
    Blocked,
    /// An operator stated an outcome.
    Resolution,
    /// The upstream asked for another round, or an attempt claimed it.
    Round,
    /// A task of the upstream was acknowledged or changed its state.
    Task,
    /// A workload was moved to another identity.
    Alias,
    /// A set of policies came into force.
    PolicyLoaded,
    /// A tool's description was approved.
    CatalogApproved,
    /// A tool's description differs from the approved one.
    CatalogDrift,
    /// An upstream's tools were read.
    Discovery,
    /// A profile was loaded.
    ProfileLoaded,
    /// A profile trapped, or gave an answer that the host disproved.
    ProfileFault,
    /// The log's checkpoints are signed with another key from here on.
    KeyRotated,
    /// The store was behind its anchor.
    Rollback,
    /// A kind that this version does not know; read from an entry and never
    /// made here. It is reported, not skipped.
    Other(OtherKind),
}

/// The name of a kind that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherKind(Box<str>);

impl Kind {
    /// Every kind that this version writes.
    pub const ALL: &'static [Self] = &[
        Self::Start,
        Self::Admission,
        Self::Refusal,
        Self::Suppressed,
        Self::Terminal,
        Self::LateAnswer,
        Self::Blocked,
        Self::Resolution,
        Self::Round,
        Self::Task,
        Self::Alias,
        Self::PolicyLoaded,
        Self::CatalogApproved,
        Self::CatalogDrift,
        Self::Discovery,
        Self::ProfileLoaded,
        Self::ProfileFault,
        Self::KeyRotated,
        Self::Rollback,
    ];

    /// The kind as it stands in entries.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Start => "start",
            Self::Admission => "admission",
            Self::Refusal => "refusal",
            Self::Suppressed => "suppressed",
            Self::Terminal => "terminal",
            Self::LateAnswer => "late-answer",
            Self::Blocked => "blocked",
            Self::Resolution => "resolution",
            Self::Round => "round",
            Self::Task => "task",
            Self::Alias => "alias",
            Self::PolicyLoaded => "policy-loaded",
            Self::CatalogApproved => "catalog-approved",
            Self::CatalogDrift => "catalog-drift",
            Self::Discovery => "discovery",
            Self::ProfileLoaded => "profile-loaded",
            Self::ProfileFault => "profile-fault",
            Self::KeyRotated => "key-rotated",
            Self::Rollback => "rollback",
            Self::Other(name) => &name.0,
        }
    }

    /// The kind that `text` names, known or not.
    pub(crate) fn read(text: &str) -> Self {
        let known = Self::ALL.iter().find(|kind| kind.as_str() == text);
        known
            .cloned()
            .unwrap_or_else(|| Self::Other(OtherKind(text.into())))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

terms! {
    /// What is known of the execution id that an attempt carried.
    ExecutionIdStatus {
        /// The attempt carried none.
        Absent = "absent",
        /// It stands in the entry.
        Present = "present",
        /// It was not an execution id; what stood there is not recorded.
        Malformed = "malformed",
        /// The attempt was refused before it was read.
        Unread = "unread",
    }
}

terms! {
    /// How far a request got on its way to the upstream.
    EffectBoundary {
        /// No application byte of it has left.
        PreTransport = "pre-transport",
        /// Bytes may have left.
        TransportMayHaveStarted = "transport-may-have-started",
        /// An answer has come.
        ResponseReceived = "response-received",
    }
}

terms! {
    /// Which side of a round an entry records.
    RoundSays {
        /// The upstream asked for input.
        Asked = "asked",
        /// An attempt claimed the round with its continuation.
        Claimed = "claimed",
    }
}

/// The verdict on an attempt, as it stands in its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Classified {
    /// What `classify` said.
    Verdict(Classification),
    /// A collision that the host found: the recorded profile refuses the
    /// message, so there is no binding to compare
    /// (`docs/spec/executions.md`, section 3).
    NotAdmissible,
}

impl From<Classification> for Classified {
    fn from(verdict: Classification) -> Self {
        Self::Verdict(verdict)
    }
}

impl Classified {
    /// The verdict's word, without its outcome or difference.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verdict(Classification::Fresh) => "fresh",
            Self::Verdict(Classification::InFlight) => "in-flight",
            Self::Verdict(Classification::Continuation) => "continuation",
            Self::Verdict(Classification::ContinuationMismatch) => "continuation-mismatch",
            Self::Verdict(Classification::RoundReplay) => "round-replay",
            Self::Verdict(Classification::Replay(_)) => "replay",
            Self::Verdict(Classification::Blocked) => "blocked",
            Self::Verdict(Classification::Collision(_)) | Self::NotAdmissible => "collision",
            Self::Verdict(Classification::Incomparable) => "incomparable",
        }
    }

    /// The outcome that a replay repeats.
    #[must_use]
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Verdict(Classification::Replay(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// In what a collision differs, as words; empty for every other verdict.
    #[must_use]
    pub const fn difference(self) -> &'static [&'static str] {
        match self {
            Self::NotAdmissible => &["not-admissible"],
            Self::Verdict(Classification::Collision(difference)) => {
                match (difference.binding, difference.target) {
                    (true, true) => &["binding", "target"],
                    (true, false) => &["binding"],
                    (false, true) => &["target"],
                    (false, false) => &[],
                }
            }
            Self::Verdict(_) => &[],
        }
    }

    /// Puts a verdict together from its three parts, if they belong together.
    pub(crate) fn parse(word: &str, outcome: Option<Outcome>, difference: &[&str]) -> Option<Self> {
        let verdict = match (word, outcome, difference) {
            ("replay", Some(outcome), []) => Classification::Replay(outcome),
            ("collision", None, ["not-admissible"]) => return Some(Self::NotAdmissible),
            ("collision", None, parts) => Classification::Collision(match parts {
                ["binding"] => Difference {
                    binding: true,
                    target: false,
                },
                ["target"] => Difference {
                    binding: false,
                    target: true,
                },
                ["binding", "target"] => Difference {
                    binding: true,
                    target: true,
                },
                _ => return None,
            }),
            ("fresh", None, []) => Classification::Fresh,
            ("in-flight", None, []) => Classification::InFlight,
            ("continuation", None, []) => Classification::Continuation,
            ("continuation-mismatch", None, []) => Classification::ContinuationMismatch,
            ("round-replay", None, []) => Classification::RoundReplay,
            ("blocked", None, []) => Classification::Blocked,
            ("incomparable", None, []) => Classification::Incomparable,
            _ => return None,
        };
        Some(Self::Verdict(verdict))
    }
}

impl fmt::Display for Classified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        if let Some(outcome) = self.outcome() {
            write!(f, " ({})", outcome_text(outcome))?;
        }
        if let [first, rest @ ..] = self.difference() {
            write!(f, " ({first}")?;
            for word in rest {
                write!(f, ", {word}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// The one spelling of an outcome.
pub(crate) const fn outcome_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::ToolError => "tool-error",
        Outcome::UpstreamError => "upstream-error",
        Outcome::NotAttempted => "not-attempted",
        Outcome::OutcomeUnknown => "outcome-unknown",
    }
}

/// The outcome that `text` spells.
pub(crate) fn parse_outcome(text: &str) -> Option<Outcome> {
    [
        Outcome::Succeeded,
        Outcome::ToolError,
        Outcome::UpstreamError,
        Outcome::NotAttempted,
        Outcome::OutcomeUnknown,
    ]
    .into_iter()
    .find(|outcome| outcome_text(*outcome) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_as_itself() {
        for kind in Kind::ALL {
            assert_eq!(Kind::read(kind.as_str()), *kind);
        }
        assert_eq!(Kind::ALL.len(), 19);
        assert!(matches!(Kind::read("Start"), Kind::Other(_)));
    }

    #[test]
    fn a_verdict_is_read_only_from_parts_that_belong_together() {
        let both = Difference {
            binding: true,
            target: true,
        };
        for verdict in [
            Classified::NotAdmissible,
            Classification::Fresh.into(),
            Classification::Replay(Outcome::OutcomeUnknown).into(),
            Classification::Collision(both).into(),
        ] {
            let read = Classified::parse(verdict.as_str(), verdict.outcome(), verdict.difference());
            assert_eq!(read, Some(verdict));
        }
        assert_eq!(Classified::parse("replay", None, &[]), None);
        assert_eq!(
            Classified::parse("fresh", Some(Outcome::Succeeded), &[]),
            None
        );
        assert_eq!(Classified::parse("collision", None, &[]), None);
        assert_eq!(
            Classified::parse("collision", None, &["target", "binding"]),
            None
        );
    }
}
