//! Loads profiles and runs them under limits; the only room that knows
//! wasmtime.
//!
//! A profile is a component with no imports that reads a message, or an
//! action, and says what it is. Here it is checked before it is used, run in a
//! fresh instance for each request, and believed only where the host cannot
//! compute the same thing itself (`docs/spec/action-binding.md` §5).
//!
//! The gateway, the verifier and the command line call this. It reads no
//! clock, no environment and no randomness of its own; the only files are
//! components and the cache of compiled code.

mod bindings;
mod cache;
mod check;
mod convert;
pub mod embedded;
mod engine;
mod fault;
mod fuel;
mod load_error;
mod pin;
mod profile;
mod profiles;
mod runtime;
mod settings;
mod slots;

pub use cache::Warning;
pub use engine::{Candidate, ComponentFile, Engine};
pub use fault::{Fault, FaultKind, Function, Rule};
pub use fuel::for_bytes as fuel_for_bytes;
pub use load_error::{EngineError, LoadError, Problem};
pub use pin::Pin;
pub use profile::{Interpreted, Profile, WORLD, Warm};
pub use profiles::Profiles;
pub use settings::{CacheSettings, Compiled, DEFAULT_SLOTS, MAX_SLOTS, Settings};
