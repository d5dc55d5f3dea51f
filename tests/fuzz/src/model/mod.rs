//! JSON as `serde_json` reads it, with the spelling of its numbers: a second
//! opinion that shares no code with the strict reader.
//!
//! `read` gives a tree or the reason why there is none, `write` the canonical
//! form and other spellings of a tree.

mod read;
mod write;

pub(crate) use countersign_certify::generate::Tree;
pub(crate) use read::{Lacking, read, values};
pub(crate) use write::{canonical, respelled};
