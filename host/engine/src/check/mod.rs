//! The checks that a component passes before it is a profile
//! (`docs/spec/action-binding.md` §5): of its form without running it, of its
//! exports, and of what it says about itself.

mod exports;
mod form;
mod self_test;

pub(crate) use exports::exports;
pub(crate) use form::{Instructions, form};
pub(crate) use self_test::{describe, self_test};
