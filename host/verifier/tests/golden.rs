//! What the report looks like, for a person and for a program.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a test says what fails by failing"
)]

mod world;

use std::io::Cursor;

use countersign_canon::{Document, Limits};
use countersign_verifier::{Inputs, Level, verify};
use world::{Export, World, golden::compare};

#[test]
fn the_report_has_one_form() {
    let world = World::full();
    let honest = Export::of(&world);
    let mut tampered = honest.clone();
    tampered.lines[6] = String::from_utf8(tampered.lines[6].clone())
        .unwrap()
        .replacen("zoë", "zoé", 1)
        .into_bytes();
    let all: Level = "all".parse().unwrap();
    let trusting = world.inputs();
    let nothing = Inputs {
        // Their digest changes with the shipped policies.
        policies: world.inputs().policies,
        ..Inputs::default()
    };
    for (name, export, inputs, level) in [
        ("verified", &honest, &trusting, &all),
        ("contradicted", &tampered, &trusting, &all),
        ("not-established", &honest, &nothing, &Level::default()),
    ] {
        let report = verify(Cursor::new(export.bundle()), inputs).unwrap();
        compare(&format!("{name}.txt"), report.to_text(level).as_bytes());
        let json = report.to_json(level);
        compare(&format!("{name}.json"), &json);
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(value["verdict"], report.verdict(level).as_str());
        let document = Document::read(&json, Limits::STANDARD).unwrap();
        let canonical = document.root().canonical();
        assert_eq!(json.strip_suffix(b"\n"), Some(canonical.as_slice()));
    }
}

#[test]
fn text_from_a_bundle_cannot_steer_a_terminal() {
    let world = World::full();
    let mut export = Export::of(&world);
    let text = String::from_utf8(export.lines[0].clone()).unwrap();
    let text = text
        .replacen(r#""start""#, r#""\u001b[2Jst\u202eart""#, 1)
        .replacen("\\u202e", "\u{202e}", 1);
    export.lines[0] = text.into_bytes();
    let report = verify(Cursor::new(export.bundle()), &world.inputs()).unwrap();
    let text = report.to_text(&Level::default());
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
}
