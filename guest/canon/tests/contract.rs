//! The contract that vendors build against is frozen at 1.0.0.

use countersign_canon::Digest;

/// A change here is a new version of the package.
const CONTRACT: &str = "sha256:fd69ae2f60eb9283874077c6543e4909708c32a6a71d7b7b4d93d2f0aec494ab";

/// What wit-bindgen-cli 0.61.1 makes of that contract:
///
/// ```sh
/// wit-bindgen rust wit/admission.wit --format --pub-export-macro \
///   --disable-run-ctors-once-workaround \
///   --default-bindings-module countersign_component::bindings
/// ```
const BINDINGS: &str = "sha256:a112131b8fc82361cd8dd79b147546d4fddade260a14c7dc2194721a3b06c352";

#[test]
fn the_contract_is_the_one_that_was_frozen() {
    let contract = include_bytes!("../../../wit/admission.wit");
    assert_eq!(Digest::of(&[contract]).as_str(), CONTRACT);
}

#[test]
fn the_bindings_are_those_that_were_generated_from_it() {
    let bindings = include_bytes!("../../component/src/bindings.rs");
    assert_eq!(Digest::of(&[bindings]).as_str(), BINDINGS);
}
