//! The view: what every consumer of an action works from.

use alloc::string::String;
use alloc::vec::Vec;

use crate::Digest;
pub use crate::cursor::{Children, Cursor, MalformedView, View};

/// What an action means, in the form that policy, header and routing code see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpretation {
    /// The digest of the action under this profile.
    pub binding: Digest,
    /// The tool's name: `name` of the action.
    pub tool: String,
    /// Every value of the action in the order of its bytes, a container before
    /// its content. At most 262,144.
    pub view: Vec<Node>,
}

/// One value of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// A member's name; none for the root and for an array's items.
    pub name: Option<String>,
    /// The value.
    pub value: Value,
}

/// A typed JSON value; a container says only how much of it follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// Written `0` or `-?[1-9][0-9]*`, and within `i64`.
    Integer(i64),
    /// Every other number: its lexeme.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// How many items follow.
    Array(u32),
    /// How many members follow.
    Object(u32),
}
