//! Reads one JSON-RPC message strictly, and writes what it asks for canonically.
//!
//! Everything that decides what two requests have in common lives here: the
//! reader, the canonical form, the digests' preimages, and the classification
//! table. The shipped profiles compile this crate to WebAssembly; the host uses
//! it natively for upstream answers and to check what components say.
//!
//! There is no I/O, no clock and no randomness, and no function here recurses.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod classification;
mod digest;
mod message;
mod refusal;
mod view;

pub use classification::{
    Classification, Difference, Outcome, Presented, Recorded, RecordedState, Round, classify,
};
pub use digest::{Digest, MalformedDigest};
pub use message::{Admitted, Call, Continuation, Id, Notification, Reply, Request};
pub use refusal::{Code, Refusal};
pub use view::{Interpretation, Node, Value};
