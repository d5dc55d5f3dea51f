//! What the report looks like, for a person and for a program.

use std::io::Cursor;

use crate::tamper::{lies::values, table::rewrite};
use crate::world::{Export, World, golden::compare};
use countersign_canon::{Document, Limits};
use countersign_verifier::{Inputs, Level, verify};

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
    let export = Export::of(&world);
    let steers = [
        '\u{7}', '\u{1b}', '\u{9b}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}',
        '\u{2066}', '\u{2069}',
    ];
    for char in steers {
        let mut all = values(&export.lines);
        let decided = all.iter_mut().find(|entry| entry["kind"] == "admission");
        decided.unwrap()["decision"]["reason"] = format!("a{char}b").into();
        let bundle = rewrite(&export, all).bundle();
        let report = verify(Cursor::new(bundle), &world.inputs()).unwrap();
        let text = report.to_text(&Level::default());
        let escaped = format!("it says `a{}b` by", char.escape_unicode());
        assert!(text.contains(&escaped), "{text}");
        assert!(!text.contains(char), "{text}");
    }
}

#[test]
fn the_first_of_many_reasons_are_told_and_the_others_are_counted() {
    let world = World::full();
    let mut export = Export::of(&world);
    for line in &mut export.lines[..20] {
        *line = b"no entry".to_vec();
    }
    let mut inputs = world.inputs();
    inputs.receipts = world.receipts();
    let report = verify(Cursor::new(export.bundle()), &inputs).unwrap();
    let text = report.to_text(&Level::default());
    let integrity = &report.claims[0];
    let told: u64 = integrity.contradictions.iter().map(|f| f.count).sum();
    let more = integrity.contradiction_count - told;
    assert!(more > 3 && integrity.contradictions.len() == 16);
    assert!(
        text.contains(&format!("    but: and {more} more\n")),
        "{text}"
    );
}

#[test]
fn receipts_that_name_their_entries_are_counted() {
    let world = World::full();
    let mut inputs = world.inputs();
    inputs.receipts = world.receipts();
    let report = verify(Cursor::new(world.export()), &inputs).unwrap();
    let count = inputs.receipts.len();
    let said = format!("{count} receipts name entries that stand where they say");
    assert!(report.claims[0].shown.contains(&said));
}
