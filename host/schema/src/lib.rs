//! Holding a call's arguments against its tool's input schema.
//!
//! An [`InputSchema`] is made once, when a tool is approved or the lock is
//! loaded, and is a pure function of the view from then on. The library
//! validates; what it would judge on rounded numbers is judged here, on digits
//! ([`decimal`]), and what could cost it more than a bounded effort is refused
//! before it sees it ([`graph`]). Remote references are never followed.
//!
//! Which schemas and which arguments are refused is in
//! `docs/spec/protocol.md` §3. Nothing outside this crate knows the library.

#![forbid(unsafe_code)]

mod choice;
mod decimal;
mod graph;
mod input;
mod instance;
mod keywords;
mod pattern;
mod places;
mod reference;
mod text;
mod work;

pub use input::{InputSchema, Misfit};

use std::fmt;

/// A schema that is not held to, since it could not be held to exactly, or at
/// a bounded cost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at `{at}`: {reason}")]
pub struct SchemaRefused {
    /// Why.
    pub reason: Reason,
    /// JSON Pointer into the schema, as far as it is known.
    pub at: String,
}

impl SchemaRefused {
    /// The stable code of every one of these.
    pub const CODE: &'static str = "schema-refused";

    pub(crate) fn new(reason: Reason, at: impl Into<String>) -> Self {
        Self {
            reason,
            at: at.into(),
        }
    }
}

/// Why a schema is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// There is none, or it is no object.
    Missing,
    /// `$schema` names a dialect that is not spoken here, or stands elsewhere
    /// than at the root.
    Dialect,
    /// A reference that leads out of the schema, or nowhere, or by a name, or a
    /// part with a name of its own.
    Reference,
    /// It leads back into itself without descending into the arguments.
    Cycle,
    /// It is too large, or one value would be looked at too often.
    Cost,
    /// A pattern that cannot be matched in linear time, or is too large.
    Pattern,
    /// A number that is not held exactly.
    Number,
    /// It is no valid schema of its dialect.
    Invalid,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "there is no input schema that is an object",
            Self::Dialect => "the dialect is none of 2020-12, 2019-09, draft-07 and draft-06, or a part has one of its own",
            Self::Reference => "a reference that is no `#` or `#/…` to a schema within the schema, or a part with a name of its own",
            Self::Cycle => "it leads back to itself without descending",
            Self::Cost => "it is too large, or looks at one value too often",
            Self::Pattern => "a pattern that cannot be matched in linear time, or is too large",
            Self::Number => "a number of more than 15 significant digits that is no 64-bit integer",
            Self::Invalid => "it is no valid schema of its dialect",
        })
    }
}
