//! What a database that several replicas share must do beyond what every store
//! must: leases, fences, the sweeper, outages, poolers, settings, TLS.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../support/mod.rs"]
mod support;

mod failover;
mod leases;
mod outages;
mod replicas;
mod rollbacks;
mod servers;
mod tls;
