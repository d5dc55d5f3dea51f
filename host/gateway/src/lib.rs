//! The HTTP front, identity, the way of a call, and the upstreams.
//!
//! ```text
//! agent ─ front ─► pipeline ─► upstream ─► server
//!                     │
//!                  ledger
//! ```
//!
//! [`prepare`] turns a [`config::Config`] into a gateway that is ready to
//! [`Prepared::run`]. `front` reads HTTP, `pipeline` takes a call on its way,
//! `upstream` speaks with servers, `operator` and [`export`] serve whoever runs
//! it. What MCP's rules are is asked of `countersign_mcp`; what is durable is
//! the ledger's to say. Only `environment` knows the clock, randomness and the
//! process environment.

#![forbid(unsafe_code)]

mod answers;
mod archive;
mod catalog;
pub mod config;
mod delivery;
pub mod environment;
pub mod export;
mod fetch;
mod front;
pub mod identity;
mod limits;
pub mod operator;
mod pipeline;
pub mod rotation;
mod session;
mod shutdown;
mod start;
mod state;
pub mod store;
mod suppressed;
mod telemetry;
mod tls;
mod upstream;

pub use answers::AnswersKeyError;
pub use archive::Archive;
pub use fetch::FetchError;
pub use start::{Ended, Prepared, StartError, prepare};
pub use tls::TlsError;
