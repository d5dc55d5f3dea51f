//! What a component does that it must not, with the messages that show it.

use crate::check::Check;

/// One failure of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which check fails.
    pub check: Check,
    /// What is wrong, in one sentence.
    pub reason: String,
    /// The messages that show it: none, one, or two that are held against each
    /// other; made small.
    pub requests: Vec<Vec<u8>>,
    /// Which consumer tells the two apart, and what it sees of each.
    pub seen: Option<Box<Seen>>,
    /// Which case of the seed it came from, where it came from one.
    pub case: Option<u64>,
}

/// What one consumer sees of two messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The consumer.
    pub consumer: &'static str,
    /// What it sees of the first message, and of the second.
    pub of: [String; 2],
}

impl Finding {
    pub(crate) fn new(check: Check, reason: impl Into<String>) -> Self {
        Self {
            check,
            reason: reason.into(),
            requests: Vec::new(),
            seen: None,
            case: None,
        }
    }

    pub(crate) fn shown_by<const N: usize>(mut self, requests: [&[u8]; N]) -> Self {
        self.requests = requests.map(<[u8]>::to_vec).into();
        self
    }

    pub(crate) fn in_case(self, case: u64) -> Self {
        Self {
            case: Some(case),
            ..self
        }
    }

    pub(crate) fn seen_by(mut self, seen: Option<Seen>) -> Self {
        self.seen = seen.map(Box::new);
        self
    }
}
