//! From a view to a Cedar decision.
//!
//! A [`Bundle`] is a set of policy files with a digest; a [`PolicySet`] is a
//! bundle that was read, validated and held against the mistakes that would
//! allow by error; [`PolicySet::decide`] is a pure function of its files and a
//! [`Request`]. The gateway decides with it, the verifier decides again with
//! the same files. Nothing outside this crate knows Cedar.
//!
//! Arguments reach Cedar as typed values built from the view, never as JSON
//! (`docs/spec/action-binding.md` §7), and whatever cannot be evaluated is
//! denied.

#![forbid(unsafe_code)]

// The tests within share the calls of those outside.
#[cfg(test)]
extern crate self as countersign_policy;

mod budget;
mod bundle;
mod check;
mod decision;
mod each_tool;
mod expression;
mod facts;
mod groups;
mod guard;
mod index;
mod keys;
mod measure;
mod misread;
mod names;
mod number;
mod policy;
mod problem;
mod read;
mod reads;
mod request;
mod requirement;
mod roots;
mod schema;
mod set;
mod shown;
mod slices;
mod statements;
mod values;

pub use bundle::{Bundle, BundleError, File};
pub use decision::{Decision, PolicyId, Reason, RefusalCode};
pub use number::Number;
pub use problem::{LoadError, Problem, ProblemCode};
pub use request::{
    Agent, Class, Hints, Identity, NoAgent, OwnedAgent, OwnedTool, Request, Tool, Typed,
    UnknownClass,
};
pub use schema::schema;
pub use set::PolicySet;
