//! What must be true whatever bytes arrive: one target for each reader.
//!
//! A [`Target`] takes bytes and panics where a property is violated. Each says
//! more than that nothing panics: readers are held against models that share
//! no code with them, writers against their readers, the verifier against what
//! was done to its bundle. `tests/short.rs` runs every kept input and some
//! mutations of them; `tests/fuzz/driver` puts a coverage-guided engine before
//! the same targets (`cargo xtask fuzz`).
//!
//! Inputs that were worth keeping are in `corpus/TARGET`, those that once found
//! something in `found/TARGET`.

#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a target says what is violated by panicking"
)]

mod bundle;
mod choices;
mod config;
mod envelope;
mod headers;
mod kept;
mod message;
mod model;
mod mutate;
mod reader;
mod sse;
mod verifier;
mod writer;

pub use kept::{Kept, kept};
pub use mutate::Mutator;

/// One reader, and what must be true of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called, on the command line and as a folder.
    pub name: &'static str,
    /// Panics where a property is violated.
    pub run: fn(&[u8]),
    /// How long an input may get, in bytes.
    pub most_bytes: usize,
    /// How many mutations the tests try beside what is kept.
    pub mutations: u32,
}

const fn target(name: &'static str, run: fn(&[u8]), most_bytes: usize, mutations: u32) -> Target {
    Target {
        name,
        run,
        most_bytes,
        mutations,
    }
}

/// All of them.
pub const TARGETS: [Target; 8] = [
    target("reader", reader::run, 4_096, 4_000),
    target("writer", writer::run, 4_096, 4_000),
    target("envelope", envelope::run, 4_096, 3_000),
    target("sse", sse::run, 4_096, 4_000),
    target("headers", headers::run, 2_048, 4_000),
    target("bundle", bundle::run, 65_536, 1_500),
    target("verifier", verifier::run, 1_024, 150),
    target("config", config::run, 4_096, 1_500),
];

/// The target of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
