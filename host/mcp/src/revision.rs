//! The revisions of MCP, and the rules in which they differ.
//!
//! A revision is a typed input: the rules contradict each other between
//! revisions, so nothing here or elsewhere asks "is it new?" of a text
//! (`docs/spec/protocol.md` §1).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A revision of MCP that the gateway speaks; ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2025-03-26: what an absent version header means.
    R2025_03_26,
    /// 2025-06-18
    R2025_06_18,
    /// 2025-11-25: the newest with sessions.
    R2025_11_25,
    /// 2026-07-28: stateless.
    R2026_07_28,
}

/// A text that names no revision the gateway speaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unsupported protocol version")]
pub struct UnsupportedRevision;

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 4] = [
        Self::R2025_03_26,
        Self::R2025_06_18,
        Self::R2025_11_25,
        Self::R2026_07_28,
    ];

    /// The newest revision with `initialize`; what a server answers to a
    /// version that it does not know.
    pub const NEWEST_WITH_SESSIONS: Self = Self::R2025_11_25;

    /// The date that names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::R2025_03_26 => "2025-03-26",
            Self::R2025_06_18 => "2025-06-18",
            Self::R2025_11_25 => "2025-11-25",
            Self::R2026_07_28 => "2026-07-28",
        }
    }

    /// Whether a client starts with `initialize` and goes on in a session.
    #[must_use]
    pub const fn has_sessions(self) -> bool {
        !matches!(self, Self::R2026_07_28)
    }

    /// Whether `params.task` means something.
    #[must_use]
    pub const fn has_tasks(self) -> bool {
        matches!(self, Self::R2025_11_25)
    }

    /// Whether `inputResponses` and `requestState` mean something.
    #[must_use]
    pub const fn has_rounds(self) -> bool {
        matches!(self, Self::R2026_07_28)
    }

    /// What a server answers to `initialize` with this version: the same where
    /// it is one with sessions that the gateway speaks, else the newest such.
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        requested
            .parse::<Self>()
            .ok()
            .filter(|revision| revision.has_sessions())
            .unwrap_or(Self::NEWEST_WITH_SESSIONS)
    }
}

impl FromStr for Revision {
    type Err = UnsupportedRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
            .ok_or(UnsupportedRevision)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_is_read_back_from_its_own_date_and_from_nothing_else() {
        for revision in Revision::ALL {
            assert_eq!(revision.as_str().parse(), Ok(revision));
        }
        for text in ["", "2025-11-25 ", "2024-11-05", "2026-07-29", "DRAFT-2026"] {
            assert_eq!(
                text.parse::<Revision>(),
                Err(UnsupportedRevision),
                "{text:?}"
            );
        }
    }

    #[test]
    fn each_revision_has_sessions_tasks_and_rounds_as_it_defines_them() {
        for (revision, has) in [
            (Revision::R2025_03_26, [true, false, false]),
            (Revision::R2025_06_18, [true, false, false]),
            (Revision::R2025_11_25, [true, true, false]),
            (Revision::R2026_07_28, [false, false, true]),
        ] {
            let found = [
                revision.has_sessions(),
                revision.has_tasks(),
                revision.has_rounds(),
            ];
            assert_eq!(found, has, "{revision}");
        }
    }

    #[test]
    fn initialize_never_negotiates_a_revision_without_sessions() {
        for (asked, answered) in [
            ("2025-03-26", Revision::R2025_03_26),
            ("2025-06-18", Revision::R2025_06_18),
            ("2025-11-25", Revision::R2025_11_25),
            ("2026-07-28", Revision::R2025_11_25),
            ("1999-01-01", Revision::R2025_11_25),
        ] {
            assert_eq!(Revision::negotiate(asked), answered, "{asked}");
        }
    }
}
