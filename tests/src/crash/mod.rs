//! Crashes and faults of the real gateway, and what must hold whatever happens.
//!
//! A [`World`] is one or several real gateways on a real store, with the library
//! of `tests/faults` preloaded, in front of an upstream that counts what reaches
//! it. A [`Sequence`] is what happens there; [`play`] plays it and checks every
//! invariant of `docs/spec/executions.md` §7 from outside. `generate` makes
//! sequences from seeds, `shrink` makes a failing one small, `matrix` has one for
//! each boundary, moment and fault. `model` is the reference, written apart from
//! the ledger. The program is `src/bin/crash.rs`.

pub mod account;
mod campaign;
mod cells;
pub mod check;
mod faults;
mod fleet;
mod generate;
mod kept;
pub mod log;
mod matrix;
pub mod model;
mod plan;
mod proxy;
mod run;
mod upstream;
mod world;

pub use account::{Account, Sent, Told};
pub use campaign::{Campaign, Failure, campaign, in_one_world};
pub use cells::{boundaries, faults};
pub use check::{Seen, check};
pub use faults::{Does, Errno, Fault, Faults, Ports, Recorded, Spot};
pub use fleet::{Evidence, Fleet, fleet};
pub use generate::generate;
pub use kept::{kept, replay};
pub use matrix::{Extent, Matrix, matrix};
pub use plan::{Call, Cut, Deed, Round, Sequence, Step};
pub use run::{Tally, play};
pub use upstream::{Moment, Reply};
pub use world::{AGENTS, Replica, Store, Victim, World};
