//! Messages made at random, and what must be true of every one of them.
//!
//! They are those of certification, from a seed; `judge` asks native code, the components
//! and the Python reference about each and compares; `keys` holds what an exact
//! reader tells apart against what bindings tell apart; a
//! failing message is made small. The program is `src/bin/fuzz.rs`, a short run of it
//! is a test.

mod judge;
mod keys;
mod reference;
mod run;

pub use countersign_certify::generate::{Generator, Random};
pub use judge::{Disagreement, Judge};
pub use reference::Reference;
pub use run::{Failure, Plan, Tally, run};
