//! What a reader counts, and which numbers it carries in an action.
//!
//! What is refused is decided by these counts alone, never by time, fuel or
//! memory, so that every host of a profile refuses the same messages.

/// How much one message may hold (`docs/spec/action-binding.md` §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes in one message.
    pub message_bytes: u32,
    /// Containers open at once; the root is depth 1.
    pub depth: u32,
    /// Bytes of one number's lexeme.
    pub number_bytes: u32,
    /// Values in one message, containers included.
    pub nodes: u32,
}

impl Limits {
    /// The limits of both shipped profiles.
    pub const STANDARD: Self = Self {
        message_bytes: 10_485_760,
        depth: 64,
        number_bytes: 1_024,
        nodes: 262_144,
    };
}

/// Which numbers a profile carries in an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// Every number of RFC 8259, its lexeme kept: `exact`.
    AsWritten,
    /// Only `-?(0|[1-9][0-9]*)` of magnitude at most 2^53 - 1 and not `-0`:
    /// `jcs-integer`.
    SafeIntegers,
}

impl Numbers {
    /// Whether a number that RFC 8259 allows is carried.
    #[must_use]
    pub fn carries(self, lexeme: &[u8]) -> bool {
        match self {
            Self::AsWritten => true,
            Self::SafeIntegers => crate::number::safe_integer(lexeme).is_some(),
        }
    }
}
