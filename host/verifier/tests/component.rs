//! The same bundle, re-executed by the released component in WebAssembly.

use std::io::Cursor;

use crate::world::{Export, World};
use countersign_engine::{Engine, Profiles, Settings, embedded};
use countersign_verifier::{Claim, Components, Level, Status, Verdict, verify};

#[test]
fn the_released_component_says_of_every_attempt_what_the_entries_say() {
    let engine = Engine::new(&Settings::default()).unwrap();
    let profiles = Profiles::embedded(&engine).unwrap();
    let world = World::full_of(embedded::default().unwrap().bytes());
    let mut inputs = world.inputs();
    inputs.components = Components::of(&profiles);
    let report = verify(Cursor::new(world.export()), &inputs).unwrap();
    let all: Level = "all".parse().unwrap();
    assert_eq!(
        report.verdict(&all),
        Verdict::Verified,
        "{}",
        report.to_text(&all)
    );
    // The same name with other bytes is another component.
    let mut swapped = Export::of(&world);
    swapped.component.push(0);
    let report = verify(Cursor::new(swapped.bundle()), &inputs).unwrap();
    assert_eq!(report.status(Claim::Admission), Status::Contradicted);
    // A component that nobody approved establishes nothing, whatever it says.
    let report = verify(Cursor::new(World::full_of(b"theirs").export()), &inputs).unwrap();
    assert_eq!(report.status(Claim::Admission), Status::NotEstablished);
    assert_eq!(report.status(Claim::Classification), Status::NotEstablished);
}
