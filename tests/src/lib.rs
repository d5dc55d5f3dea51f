//! Whole-system tests: real clients, real servers, crashes and falsification.
//!
//! This library is their equipment: it starts the real `countersign` binary
//! and the ledger server as processes ([`Gateway`], [`LedgerServer`]), speaks
//! MCP byte by byte ([`Client`]), answers as an upstream byte by byte
//! ([`Upstream`]), and drives the official foreign clients ([`Foreign`]). The
//! tests themselves are in `tests/tests`, one file for each subject.
//!
//! It fails by panicking, as tests do.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "equipment of tests fails as tests do"
)]

mod answer;
mod binaries;
mod client;
pub mod conformance;
pub mod crash;
pub mod environment;
mod foreign;
pub mod fuzz;
mod gateway;
pub mod interop;
mod ledger;
pub mod measure;
pub mod outcome;
mod plan;
mod process;
mod upstream;
pub mod vectors;

pub use answer::Answer;
pub use binaries::{countersign, root, target};
pub use client::{Call, Client, Revision, SERVER};
pub use foreign::{Foreign, Language, everything_server};
pub use gateway::{Gateway, said};
pub use ledger::LedgerServer;
pub use plan::{Plan, Server};
pub use process::Process;
pub use upstream::{Reaction, Received, Upstream};
