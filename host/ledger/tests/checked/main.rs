//! The state machine, composed with replicas, leases, fences, lost
//! acknowledgements, pauses, crashes and a store that goes away: every order of
//! every event within small bounds (`docs/spec/executions.md`, "How this is
//! checked").
//!
//! Every change of a row is [`countersign_ledger::step`] itself. A group that
//! shares a commit is the union of its requests' transactions, so requests are
//! modelled one by one. Time goes in thirds of a lease. Each fault that is put
//! in must be found, or the checker shows nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod bounds;
mod faults;
mod machine;
mod moves;
mod processes;
mod rules;
mod sound;
mod state;
mod transactions;
