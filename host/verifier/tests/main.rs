//! Everything that the verifier says of bundles, honest and forged. One program,
//! so that whoever changes one line waits for one to be linked.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a test says what fails by failing"
)]

mod blinded;
mod component;
mod golden;
mod honest;
mod notes;
mod tamper;
mod threads;
mod world;
