//! What the tools of upstreams are approved to be.
//!
//! A [`Descriptor`] is one tool as its server describes it, byte for byte in
//! canonical form; an [`Offer`] is all the tools of one server with the
//! [`checkpoint`](Offer::checkpoint) over them; a [`Lock`] is the file in which
//! offers stand that an operator approved. [`drift`] says what differs between
//! two offers, [`Shape`] what of a tool's arguments has one type.
//!
//! Nothing here reads a file, asks a server or decides: the gateway discovers
//! and holds calls against the lock, the verifier computes the same digests
//! again (`docs/spec/protocol.md` §3).

#![forbid(unsafe_code)]

mod descriptor;
mod drift;
mod hidden;
mod lock;
mod offer;
mod shape;
mod text;

pub use descriptor::{Descriptor, Hints, MalformedDescriptor};
pub use drift::{Change, Drift, drift};
pub use hidden::hidden;
pub use lock::{Lock, LockError};
pub use offer::{MalformedOffer, Offer};
pub use shape::{Field, Shape};
