//! Server-sent events: the one codec, for what upstreams send and for what we
//! send.
//!
//! Bytes in, events out, and the other way round. What an event's data means
//! is read elsewhere, strictly. Used by `gateway::upstream` (reading) and
//! `gateway::front` (writing).

mod parser;
mod writer;

pub use parser::{Event, Overflow, Parser};
pub use writer::{comment, event};
