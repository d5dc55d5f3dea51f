//! The container in which evidence travels: one tar file.
//!
//! | member | holds |
//! |---|---|
//! | `manifest.json` | first: the format, the logs with their sizes, the filter |
//! | `entries/NNNNNN.jsonl` | entries, one canonical object a line, each log's in ascending order |
//! | `proofs/NNNNNN.jsonl` | inclusion proofs, and consistency proofs, in a filtered bundle |
//! | `salts/NNNNNN.jsonl` | what opens blinded executions, of those that it discloses |
//! | `checkpoints/NNNNNN.txt` | signed notes |
//! | `profiles/NAME@VERSION.wasm` | the components that entries name |
//! | `policies/HEX/…` | the policies and schema with that digest |
//!
//! Every header is the one that [`Writer`] writes: plain ustar, owner 0, time
//! 0, mode 0644. Hence equal content gives equal bytes, and two readers cannot
//! see two different things in one file. Nothing that a bundle says of itself
//! is trusted. Nothing in it is a secret, but for salts, which a bundle holds
//! only of what it discloses.

mod container;
mod lines;
mod manifest;
mod narrow;
mod openings;
mod prove;
mod reader;
mod writer;

pub use container::BundleError;
pub use lines::{Consistency, ExecutionName, Opening, Proof};
pub use manifest::{Filter, FilterBy, LogExtent, Manifest};
pub use narrow::narrow;
pub use openings::{Opened, Openings};
pub use prove::{ProveError, Which, prove};
pub use reader::{Bundle, Lines, Policy, Profile};
pub use writer::{Named, Writer};

/// How much a reader accepts, and a writer makes, of each part.
pub(crate) mod limits {
    /// One member with entries, proofs or salts, in bytes.
    pub(crate) const CHUNK: u64 = 4 << 20;
    /// The manifest, in bytes.
    pub(crate) const MANIFEST: u64 = 1 << 20;
    /// One checkpoint, in bytes.
    pub(crate) const CHECKPOINT: u64 = 16 << 10;
    /// One component, in bytes.
    pub(crate) const PROFILE: u64 = 16 << 20;
    /// One file of a policy set, in bytes.
    pub(crate) const POLICY: u64 = 4 << 20;
    pub(crate) const CATALOG: u64 = 64 << 20;
    /// Everything that is held in memory at once, in bytes.
    pub(crate) const HELD: u64 = 128 << 20;
    /// All members together.
    pub(crate) const MEMBERS: usize = 1 << 20;
    /// Members other than those.
    pub(crate) const HELD_MEMBERS: usize = 16_384;
}
