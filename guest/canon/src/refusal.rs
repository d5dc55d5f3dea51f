//! Why a message is not admitted, and where that became certain.

use alloc::string::String;
use core::fmt;

/// The stable code of a refusal by a profile.
///
/// Declared in the order in which ties between them are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Not well-formed UTF-8, or a byte order mark at the start.
    Encoding,
    /// Anything that RFC 8259 does not allow.
    Syntax,
    /// An unpaired surrogate escape in a name or a string.
    Surrogate,
    /// A member name that occurs twice in one object after unescaping.
    DuplicateMember,
    /// Larger, deeper or longer than the profile reads.
    Limit,
    /// Not one JSON-RPC 2.0 request, notification or response.
    Envelope,
    /// The parameters of a `tools/call` are not of its form.
    Params,
    /// A malformed or contradictory `execution_id` or `workflow_id`.
    Correlation,
    /// A number in the action that this profile does not carry.
    Number,
    /// Another value that this profile does not carry.
    Value,
}

impl Code {
    /// Every code, in the order in which ties are decided.
    pub const ALL: [Self; 10] = [
        Self::Encoding,
        Self::Syntax,
        Self::Surrogate,
        Self::DuplicateMember,
        Self::Limit,
        Self::Envelope,
        Self::Params,
        Self::Correlation,
        Self::Number,
        Self::Value,
    ];

    /// The code as it is written in vectors, entries and errors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Encoding => "encoding",
            Self::Syntax => "syntax",
            Self::Surrogate => "surrogate",
            Self::DuplicateMember => "duplicate-member",
            Self::Limit => "limit",
            Self::Envelope => "envelope",
            Self::Params => "params",
            Self::Correlation => "correlation",
            Self::Number => "number",
            Self::Value => "value",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message that is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which rule it breaks.
    pub code: Code,
    /// RFC 6901 pointer of the innermost value being read, cut after the last
    /// whole step within 256 bytes. The caller's own text: never evidence.
    pub pointer: String,
    /// Length in bytes of the shortest prefix that nothing could make
    /// admissible; the message's length where all of it had to be read.
    pub offset: u32,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at byte {}, `{}`",
            self.code, self.offset, self.pointer
        )
    }
}

impl core::error::Error for Refusal {}
