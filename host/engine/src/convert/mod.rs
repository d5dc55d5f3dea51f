//! From what a component says to what the house believes, and back.
//!
//! `answer` takes a component's answers apart and refuses those that no
//! message could have; `question` writes what `classify` is asked.

mod answer;
mod question;

pub(crate) use answer::{Described, admitted, interpretation, refusal};
pub(crate) use question::{classification, presented, recorded};
