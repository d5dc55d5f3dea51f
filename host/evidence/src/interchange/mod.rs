//! Evidence in the forms of other communities. Each is made from a bundle, so
//! that it says nothing which a bundle does not show.

mod action_binding;
mod base58;
mod trace;

pub use action_binding::{ActionBinding, preimage};
pub use trace::{TraceError, TraceFacts, trace};
