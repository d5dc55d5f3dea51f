//! Lies about an honest bundle, and the claim that catches each.
//!
//! Two sorts of liar: one who got hold of the file and not of the key, and the
//! gateway itself, which signs what it likes. The first is always caught. The
//! second is caught wherever what it wrote can be computed from something else;
//! the rest is on the list in [`beyond`], each with the reason.
//!
//! Every test prints its part of the table, mutation → claims. With
//! `COUNTERSIGN_TAMPER_DIR` in the environment the bundles go there too, with
//! what this verifier says of each, for another verifier to judge.

mod beyond;
mod blinded;
mod brought;
mod fleet;
mod gateway;
mod keys;
mod left_out;
pub mod lies;
mod parts;
mod signed;
mod states;
mod stranger;
pub mod table;
mod unusable;
