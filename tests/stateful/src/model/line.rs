//! What an entry says, as far as the model speaks of it: one text each, made by
//! the model and, apart from it, from the exported log.

use std::fmt;

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Its kind.
    pub kind: String,
    /// Who it is about.
    pub agent: Option<String>,
    /// Which execution.
    pub id: Option<String>,
    /// Which attempt, by the workflow that each has of its own.
    pub attempt: Option<String>,
    /// Where the call goes: `server/tool`, or the server.
    pub target: Option<String>,
    /// What the attempt is.
    pub class: Option<String>,
    /// Why it was refused, or how it ended.
    pub code: Option<String>,
    /// The outcome.
    pub outcome: Option<String>,
    /// The policies that decided, or that came into force.
    pub policy: Option<String>,
    /// The profile.
    pub profile: Option<String>,
    /// What of the server's tools was approved.
    pub approved: Option<String>,
    /// `asked` or `claimed`, or a task's status.
    pub says: Option<String>,
    /// Whether an operator says why.
    pub because: Option<String>,
    /// How many it counts.
    pub count: u64,
}

impl Line {
    /// An entry of that kind which says nothing else.
    #[must_use]
    pub fn of(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            ..Self::default()
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        let told = [
            ("", &self.agent),
            ("", &self.id),
            ("", &self.attempt),
            ("", &self.target),
            ("", &self.class),
            ("code=", &self.code),
            ("outcome=", &self.outcome),
            ("policy=", &self.policy),
            ("profile=", &self.profile),
            ("approved=", &self.approved),
            ("says=", &self.says),
            ("because=", &self.because),
        ];
        for (name, value) in told {
            if let Some(value) = value {
                write!(f, " {name}{value}")?;
            }
        }
        if self.count > 0 {
            write!(f, " ×{}", self.count)?;
        }
        Ok(())
    }
}
