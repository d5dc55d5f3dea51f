//! The stateful harness: the whole gateway, held against a model.
//!
//! A `Plan` is a sequence of requests and operator's acts. `generate` makes
//! valid ones from seeds, `mutate` changes one thing in each, `model` says, from
//! the specification alone, what must come of every act: what its sender is
//! told, and which entries the log gains. A `stage` is a real gateway to play it
//! on, in this process (with a clock and a store's faults of the harness's own)
//! or as the real binary; [`play`] plays it there, and `check` compares the
//! exported, verified bundle with the model's account, entry by entry. `matrix`
//! holds which mutation led to which finding.
//!
//! It is equipment of tests, and fails by panicking, as they do. The program is
//! `src/bin/stateful.rs`, a short run of it is a test.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "equipment of tests fails as tests do"
)]

mod campaign;
mod check;
mod client;
mod generate;
mod kept;
mod matrix;
pub mod model;
mod mutate;
pub mod plan;
mod play;
mod stage;
mod upstream;

pub use campaign::{Campaign, Failure, campaign, replay};
pub use generate::{Story, generate};
pub use kept::kept;
pub use matrix::Matrix;
pub use mutate::{Row, mutated, rows};
pub use play::{Played, play};
pub use stage::On;
