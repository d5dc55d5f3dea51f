//! What every shipped profile's component has in common: the bindings, the
//! conversion between them and [`countersign_canon`], and the memory.
//!
//! A profile says only its name, its rules for numbers and its known answers,
//! and exports [`Component`] of itself:
//!
//! ```ignore
//! struct Mine;
//! impl countersign_component::Profile for Mine { /* … */ }
//! type Shipped = countersign_component::Component<Mine>;
//! countersign_component::export!(Shipped);
//! ```

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

/// Generated from `wit/admission.wit` by wit-bindgen 0.61.1 and checked in, so
/// that building a component compiles no generator.
#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::panic,
    clippy::unwrap_used,
    reason = "generated"
)]
#[rustfmt::skip]
pub mod bindings;
#[cfg(any(test, target_family = "wasm"))]
mod arena;
mod convert;
mod description;
#[cfg(target_family = "wasm")]
mod memory;
mod reading;

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

pub use bindings::export;
use bindings::exports::countersign::admission::profile as wit;
use countersign_canon::{Numbers, ProfileId, Refusal};
pub use description::{Answer, Vector, check};
pub use reading::{NotCarried, Spelling, admit, interpret};

/// What distinguishes one profile from another.
pub trait Profile: 'static {
    /// `NAME@MAJOR.MINOR.PATCH`
    const ID: &'static str;
    /// Which numbers an action may hold.
    const NUMBERS: Numbers;
    /// How those are written in an action; as they were written, unless said.
    const SPELLING: Option<Spelling> = None;
    /// Known answers: 2 to 64, at least one call and one refusal.
    const VECTORS: &'static [Vector];
}

/// The component of a profile.
pub struct Component<P>(PhantomData<P>);

impl<P: Profile> wit::Guest for Component<P> {
    fn describe() -> wit::Description {
        description::describe::<P>()
    }

    fn admit(message: Vec<u8>) -> Result<wit::Admitted, wit::Refusal> {
        let admitted = if P::SPELLING.is_some() {
            reading::admit::<P>(&message)
        } else {
            countersign_canon::admit(P::NUMBERS, &message)
        };
        admitted.map(convert::admitted).map_err(convert::refusal)
    }

    fn interpret(action: Vec<u8>) -> Result<wit::Interpretation, wit::Refusal> {
        let interpreted = if P::SPELLING.is_some() {
            reading::interpret::<P>(&action)
        } else {
            id::<P>()
                .ok_or_else(malformed_id)
                .and_then(|id| countersign_canon::interpret(&id, P::NUMBERS, &action))
        };
        interpreted
            .map(convert::interpretation)
            .map_err(convert::refusal)
    }

    fn classify(presented: wit::Presented, recorded: Option<wit::Recorded>) -> wit::Classification {
        convert::classify(&presented, recorded.as_ref())
    }
}

/// INVARIANT: each profile's test parses its identifier.
fn id<P: Profile>() -> Option<ProfileId> {
    P::ID.parse().ok()
}

fn malformed_id() -> Refusal {
    Refusal {
        code: countersign_canon::Code::Value,
        pointer: String::new(),
        offset: 0,
    }
}
