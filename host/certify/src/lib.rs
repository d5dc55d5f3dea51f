//! Tells whether a profile is adequate.
//!
//! Adequate means two things (`docs/spec/action-binding.md` §6). Equal bindings
//! mean equal treatment: whatever stands behind admission does the same with
//! both messages. And the binding is at least as discriminating as every
//! consumer: what any of them can tell apart in an action, it tells apart.
//! Both are tried here on messages made around every place where readers are
//! known to disagree, through the consumers that the gateway itself uses, and
//! against native code that says what every profile must say.
//!
//! The one freedom that a profile has is how it spells a number that is not an
//! integer to policy: within its exact value and sign, and no further.
//!
//! The command line calls [`certify`]; the tests use the generator and
//! [`Shrinking`] for more than certification. Nothing here reads a clock, a
//! file or randomness: the same component, seed and number of cases give the
//! same report.

#![forbid(unsafe_code)]

mod certify;
mod check;
mod consumers;
mod counterexample;
mod difference;
mod finding;
mod foreign;
pub mod generate;
mod hostile;
mod oracle;
mod report;
mod shrink;
mod subject;
mod table;
mod value;

pub use certify::{Plan, Progress, Unusable, certify};
pub use check::Check;
pub use finding::{Finding, Seen};
pub use report::{Counts, Report};
pub use shrink::Shrinking;
