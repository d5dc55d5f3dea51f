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

mod admit;
mod call;
mod classification;
mod cursor;
mod digest;
pub mod document;
mod earliest;
mod fault;
mod interpret;
mod limits;
mod message;
mod number;
mod order;
mod pointer;
pub mod preimage;
mod profile_id;
mod read;
mod refusal;
mod string;
mod verdict;
pub mod view;
pub mod write;

pub use admit::{admit, envelop};
pub use classification::{
    Classification, Difference, Outcome, Presented, Recorded, RecordedState, Round, classify,
};
pub use digest::{Digest, MalformedDigest};
pub use document::Document;
pub use interpret::interpret;
pub use limits::{Limits, Numbers};
pub use message::{Admitted, Call, Continuation, Id, Notification, Reply, Request};
pub use profile_id::{MalformedProfileId, ProfileId};
pub use refusal::{Code, Refusal};
pub use view::{Interpretation, Node, Value, View};
