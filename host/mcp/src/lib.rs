//! MCP revisions, envelopes, headers, errors and the SSE codec, without I/O.
//!
//! Everything here is a function of its arguments: the gateway reads and
//! writes bytes at its rim and asks this crate what they mean. Values from
//! outside are spliced as bytes and never printed again from a tree. The rules
//! are those of `docs/spec/protocol.md`.

#![forbid(unsafe_code)]

pub mod answer;
pub mod asks;
pub mod capability;
pub mod client;
pub mod code;
pub mod conformity;
pub mod envelope;
pub mod guard;
pub mod headers;
pub mod incoming;
pub mod json;
pub mod methods;
pub mod mirror;
pub mod outcome;
mod problem;
pub mod relay;
mod revision;
pub mod server;
pub mod sse;
pub mod task;
pub mod tools;

pub use answer::{Answer, RECEIPT, Verdict};
pub use code::{ErrorCode, refused_as};
pub use headers::{HeaderFault, Headers};
pub use problem::{LogPosition, Problem};
pub use revision::{Revision, UnsupportedRevision};
