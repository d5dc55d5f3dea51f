//! Messages made at random, and what must be true of every one of them.
//!
//! `generate` makes them, from a seed; `judge` asks native code, the components
//! and the Python reference about each and compares; `keys` holds what an exact
//! reader tells apart against what bindings tell apart; `shrink` makes a
//! failing message small. The program is `src/bin/fuzz.rs`, a short run of it
//! is a test.

mod generate;
mod judge;
mod keys;
mod random;
mod reference;
mod run;
mod spell;
mod tree;

pub use generate::Generator;
pub use judge::{Disagreement, Judge};
pub use random::Random;
pub use reference::Reference;
pub use run::{Failure, Plan, Tally, run};
