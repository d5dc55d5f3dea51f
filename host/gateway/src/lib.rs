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
mod bodies;
pub mod catalog;
pub mod config;
mod counts;
mod decisions;
mod delivery;
pub mod environment;
pub mod export;
mod fetch;
mod front;
mod handles;
pub mod identity;
mod issued;
mod limits;
pub mod operator;
mod pipeline;
mod profiles;
mod queue;
mod readiness;
mod reload;
pub mod replace;
pub mod rotation;
#[cfg(test)]
mod sample;
mod session;
mod shutdown;
mod start;
mod state;
pub mod store;
mod suppressed;
mod telemetry;
mod tls;
mod upstream;
mod whole;

pub use answers::AnswersKeyError;
pub use archive::Archive;
pub use catalog::approved::ApprovedError;
pub use fetch::FetchError;
pub use handles::TooFewHandles;
pub use profiles::{ProfilesError, check_profiles};
pub use reload::{InForceNow, ReloadError};
pub use start::{Ended, Prepared, Reloader, StartError, policy_tools, prepare};
pub use tls::TlsError;
