//! The contract that vendors build against is frozen at 1.0.0.

use countersign_canon::Digest;

/// A change here is a new version of the package, and generated bindings
/// (`guest/component/src/bindings.rs`) that go with it.
const GOLDEN: &str = "sha256:fd69ae2f60eb9283874077c6543e4909708c32a6a71d7b7b4d93d2f0aec494ab";

#[test]
fn the_contract_is_the_one_that_was_frozen() {
    let contract = include_bytes!("../../../wit/admission.wit");
    assert_eq!(Digest::of(&[contract]).as_str(), GOLDEN);
}
