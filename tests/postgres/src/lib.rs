//! A private PostgreSQL, and a pooler in front of it, for tests.
//!
//! [`Cluster`] is a real server of its own: files in a temporary folder, a free
//! port of loopback, `fsync` on. [`Database`] is one database of it, for one
//! test; [`Pooler`] is a PgBouncer that hands out its connections for one
//! transaction at a time. Each goes away when it is dropped, also after a panic,
//! and when the test's process is killed: a keeper waits for that.
//!
//! It fails by panicking, as tests do, and says what is missing.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "equipment of tests fails as tests do"
)]

mod binaries;
mod cluster;
mod keeper;
mod pooler;

pub use cluster::{Cluster, Database, Shutdown, Standby};
pub use pooler::Pooler;
