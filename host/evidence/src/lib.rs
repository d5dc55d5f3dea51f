//! Typed entries, their hashes and chains, and the bundles that carry them.
//!
//! The gateway and the ledger describe what happened in a [`Draft`]; the
//! [`Head`] of a log gives it its place and its hash and yields an [`Entry`].
//! The ledger stores entries as the bytes that this crate writes, signs its
//! head as a [`checkpoint`], and exports both in a [`bundle`] that the
//! verifier reads. The rules are those of `docs/spec/evidence.md`.
//!
//! Nothing here reads a clock or draws randomness, and only [`keyfile`]
//! touches a file.

#![forbid(unsafe_code)]

pub mod answer;
mod blind;
pub mod bundle;
pub mod checkpoint;
mod draft;
mod entry;
mod head;
mod ids;
pub mod interchange;
pub mod key;
pub mod keyfile;
mod member;
mod note;
pub mod profile_signature;
pub mod proof;
mod proof_file;
mod receipt;
mod terms;
mod time;
pub mod tree;

pub use blind::{Blinding, MalformedSalt, Salt};
pub use draft::{
    Agent, Catalog, Decision, Draft, KeyRotation, OBSERVED, PolicyInputs, Resolution, Round,
    Suppressed, Target, Task,
};
pub use entry::{Entry, MalformedEntry};
pub use head::{Head, Link, MalformedHead};
pub use ids::{
    CallId, ExecutionId, LogId, MalformedIdentifier, RefusalCode, ServerName, SessionId, WorkflowId,
};
pub use proof_file::{ProofFile, ProofFileError};
pub use receipt::{MalformedReceipt, RECEIPT_KEY, Receipt};
pub use terms::{Classified, EffectBoundary, ExecutionIdStatus, Kind, OtherKind, RoundSays};
pub use time::Time;

/// The greatest integer that every JSON reader holds exactly, 2^53 − 1; no
/// number in evidence is above it.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;
