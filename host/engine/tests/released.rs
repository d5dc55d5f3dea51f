//! The released components, as they are built in.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

use countersign_canon::Admitted;
use countersign_engine::{Engine, Profiles, Settings, embedded};

const MESSAGE: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":1.0}}}"#;

fn profiles() -> Profiles {
    Profiles::embedded(
        &Engine::new(&Settings {
            slots: 2,
            cache: None,
        })
        .unwrap(),
    )
    .unwrap()
}

#[test]
fn every_released_component_passes_every_check() {
    let profiles = profiles();
    assert_eq!(profiles.iter().count(), embedded::all().len());
    assert_eq!(profiles.default().id().as_str(), embedded::DEFAULT);
    for profile in profiles.iter() {
        assert!(profile.warnings().is_empty());
        assert!(profile.self_tests() >= 2);
    }
}

#[test]
fn versions_and_names_live_side_by_side() {
    let profiles = profiles();
    let exact = profiles.get(&"exact@1.0.0".parse().unwrap()).unwrap();
    let Ok(Admitted::Call(call)) = exact.admit(MESSAGE).unwrap() else {
        panic!()
    };
    assert_eq!(
        call.action,
        br#"{"arguments":{"n":1.0},"method":"tools/call","name":"t"}"#
    );
    let integer = profiles.get(&"jcs-integer@1.0.0".parse().unwrap()).unwrap();
    let refusal = integer.admit(MESSAGE).unwrap().unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "number at byte 90, `/params/arguments/n`"
    );
    assert!(profiles.get(&"exact@2.0.0".parse().unwrap()).is_none());
}
