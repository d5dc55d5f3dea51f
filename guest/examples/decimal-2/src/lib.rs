//! The profile `decimal`, version 2, which `docs/vendors/decimal.md` explains.

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

mod spelling;
mod vectors;

use countersign_canon::Numbers;
use countersign_component::{Component, Profile, Spelling, Vector};

struct Decimal;

impl Profile for Decimal {
    const ID: &'static str = concat!("decimal@", env!("CARGO_PKG_VERSION"));
    const NUMBERS: Numbers = Numbers::AsWritten;
    const SPELLING: Option<Spelling> = Some(spelling::spelling);
    const VECTORS: &'static [Vector] = vectors::VECTORS;
}

type Shipped = Component<Decimal>;
countersign_component::export!(Shipped);

#[cfg(test)]
mod tests {
    #[test]
    fn every_known_answer_is_the_answer() {
        assert_eq!(countersign_component::check::<super::Decimal>(), Ok(()));
    }
}
