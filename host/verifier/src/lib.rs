//! Checks a bundle with no network, no store and no trust in its author.
//!
//! [`verify`] reads a bundle once, in constant memory for each entry, and
//! re-executes what it says: hashes, chains and the tree; the component's
//! `admit`, `interpret` and `classify`; the policies. It answers claim by
//! claim ([`Claim`]), and everything that counts as approved comes from its
//! caller ([`Inputs`]), never from the bundle (`docs/spec/evidence.md`,
//! section 3).
//!
//! There is no async runtime, no clock and no file system here; the only thing
//! that is not pure is the WebAssembly engine.

#![forbid(unsafe_code)]

mod admission;
mod attribution;
mod blind;
mod chain;
mod claim;
mod classification;
mod component;
mod decision;
mod facts;
mod findings;
mod heads;
mod inputs;
mod keys;
mod logs;
mod outcome;
mod parsing;
mod receipts;
mod render;
mod report;
mod state;
mod verify;
mod waiting;

pub use claim::{Claim, Level, Status, UnknownClaim};
pub use component::{Classifier, Component, Components, Meaning, Native};
pub use findings::{Finding, Place};
pub use inputs::{Inputs, RequestFile};
pub use report::{ClaimReport, Report, Verdict};
pub use verify::{Unusable, Watch, verify, verify_watched};
