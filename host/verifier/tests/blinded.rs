//! An honest gateway that blinds: what its bundles show with their salts, and
//! what is left open without them.

use std::io::Cursor;

use crate::world::{Asked, Export, World};
use countersign_canon::{Classification, Outcome};
use countersign_evidence::bundle::{Bundle, Filter, FilterBy, narrow};
use countersign_evidence::interchange::ActionBinding;
use countersign_evidence::{Blinding, Kind, Receipt};
use countersign_verifier::{Claim, Finding, Inputs, Level, Report, Status, Verdict, verify};

fn check(bundle: &[u8], inputs: &Inputs) -> Report {
    verify(Cursor::new(bundle), inputs).unwrap()
}

fn all() -> Level {
    "all".parse().unwrap()
}

/// Which claims do not hold.
fn open(report: &Report) -> Vec<(Claim, Status)> {
    let claims = report.claims.iter();
    claims
        .map(|claim| (claim.claim, claim.status))
        .filter(|(_, status)| *status != Status::Verified)
        .collect()
}

#[test]
fn a_blinded_log_with_its_salts_is_verified_in_every_claim() {
    let world = World::blinded();
    for entry in &world.entries {
        let blinded = entry.said().blind == Blinding::Salted;
        assert_eq!(blinded, entry.said().has_values());
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    for opening in world.openings() {
        let binding = opening.binding.to_string();
        for entry in &world.entries {
            assert!(!text(entry.bytes()).contains(&binding));
        }
    }
    let mut inputs = world.inputs();
    inputs.receipts = world.receipts();
    let report = check(&Export::of(&world).bundle(), &inputs);
    assert_eq!(
        report.verdict(&all()),
        Verdict::Verified,
        "{}",
        report.to_text(&all())
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("blinded entries: "))
    );
}

#[test]
fn without_salts_what_they_would_open_is_not_established_and_nothing_is_contradicted() {
    let world = World::blinded();
    let mut export = Export::of(&world);
    export.openings.clear();
    let report = check(&export.bundle(), &world.inputs());
    let not = Status::NotEstablished;
    assert_eq!(
        open(&report),
        [
            (Claim::Admission, not),
            (Claim::Classification, not),
            (Claim::Decision, not)
        ],
        "{}",
        report.to_text(&all())
    );
}

#[test]
fn an_attempt_that_met_no_row_leaves_open_what_it_was() {
    let mut world = World::new();
    world.blind = true;
    let mut world = world.filled(true);
    // Of a round its entry keeps the state that was presented, and no continuation.
    world.deny(Asked {
        tool: "wipe",
        class: "destructive",
        state: Some("s-1"),
        ..Asked::transfer("e-8", "1")
    });
    let denied = world.entries.last().unwrap().said();
    assert!(denied.request_state_presented.is_some() && denied.continuation.is_none());
    let report = check(&Export::of(&world).bundle(), &world.inputs());
    assert_eq!(report.verdict(&all()), Verdict::NotEstablished);
    assert_eq!(report.status(Claim::Classification), Status::NotEstablished);
    assert_eq!(report.status(Claim::Ordering), Status::Verified);
    let left_out = |found: &Finding| {
        let said = "an entry that may be about it: it met no row, and what it brought is left out";
        found.reason.ends_with(said)
    };
    let admission = report.claims.iter().find(|c| c.claim == Claim::Admission);
    assert_eq!(
        admission
            .unwrap()
            .gaps
            .iter()
            .filter(|gap| left_out(gap))
            .count(),
        2
    );
}

#[test]
fn a_report_notes_how_many_entries_are_blinded_and_how() {
    type Write = fn(&mut World);
    let row: Write = |world| {
        world.admit(Asked::transfer("e-1", "1"), Classification::Fresh);
        world.settle("e-1", Outcome::Succeeded);
    };
    let none: Write = |world| {
        world.deny(Asked {
            tool: "wipe",
            class: "destructive",
            ..Asked::transfer("e-2", "1")
        });
    };
    for (writes, salts, said) in [
        (&[][..], true, None),
        (&[row][..], true, Some((2, 0, 0))),
        (&[row][..], false, Some((0, 2, 0))),
        (&[none][..], true, Some((0, 0, 1))),
        (&[row, none][..], true, Some((2, 0, 1))),
        (&[row, none][..], false, Some((0, 2, 1))),
    ] {
        let mut world = World::new();
        world.blind = true;
        writes.iter().for_each(|write| write(&mut world));
        let mut export = Export::of(&world);
        if !salts {
            export.openings.clear();
        }
        let notes = check(&export.bundle(), &world.inputs()).notes;
        let expected = said.map(|(with, without, nothing)| {
            format!("blinded entries: {with} with their salt, {without} without, {nothing} that hold nothing to open")
        });
        assert_eq!(notes, Vec::from_iter(expected));
    }
}

#[test]
fn the_salt_of_a_receipt_lets_its_owner_show_what_was_admitted() {
    let world = World::blinded();
    let mut export = Export::of(&world);
    export.openings.clear();
    let admission = world
        .entries
        .iter()
        .find(|e| e.said().kind == Kind::Admission);
    let mut receipt = Receipt::of(admission.unwrap()).unwrap();
    let mut inputs = world.inputs();
    inputs.requests.truncate(1);
    inputs.receipts = vec![receipt.clone()];
    let report = check(&export.bundle(), &inputs);
    assert_eq!(report.status(Claim::Admission), Status::NotEstablished);
    receipt.salt = Some(world.salt("e-1"));
    inputs.receipts = vec![receipt];
    let report = check(&export.bundle(), &inputs);
    assert_eq!(report.status(Claim::Admission), Status::Verified);
    // Another request is not what it opens.
    let message = String::from_utf8(inputs.requests[0].message.clone()).unwrap();
    let changed = message.replacen(r#""amount":5"#, r#""amount":6"#, 1);
    inputs.requests[0].message = changed.into_bytes();
    let report = check(&export.bundle(), &inputs);
    assert_eq!(report.status(Claim::Admission), Status::Contradicted);
}

#[test]
fn a_log_goes_on_where_blinding_is_switched_on_and_off() {
    let mut world = World::new();
    world.admit(Asked::transfer("plain", "1"), Classification::Fresh);
    world.blind = true;
    world.settle("plain", Outcome::Succeeded);
    world.admit(Asked::transfer("blinded", "2"), Classification::Fresh);
    world.blind = false;
    world.settle("blinded", Outcome::Succeeded);
    let retry = Classification::Replay(Outcome::Succeeded);
    world.refuse(Asked::transfer("blinded", "2"), retry);
    world.admit(Asked::transfer("again", "3"), Classification::Fresh);
    world.settle("again", Outcome::Succeeded);
    let blinded = |entry: &&countersign_evidence::Entry| entry.said().blind == Blinding::Salted;
    assert_eq!(world.entries.iter().filter(blinded).count(), 3);
    let report = check(&Export::of(&world).bundle(), &world.inputs());
    assert_eq!(
        report.verdict(&all()),
        Verdict::Verified,
        "{}",
        report.to_text(&all())
    );
}

#[test]
fn a_part_carries_the_salts_of_what_it_discloses_alone() {
    let world = World::blinded();
    let whole = Export::of(&world).bundle();
    let filter = Filter {
        by: FilterBy::Execution,
        value: "e-1".into(),
    };
    let mut bundle = Bundle::open(Cursor::new(whole)).unwrap();
    let keep = |entry: &countersign_evidence::Entry| {
        entry
            .said()
            .execution_id
            .as_ref()
            .is_some_and(|id| id.as_str() == "e-1")
    };
    let part = narrow(&mut bundle, filter, keep, &[], Vec::new()).unwrap();
    let mut opened = Bundle::open(Cursor::new(&part)).unwrap();
    let mut lines = opened.openings();
    let line = String::from_utf8(lines.next().unwrap().unwrap().to_vec()).unwrap();
    assert!(line.contains("\"e-1\"") && line.contains(&world.salt("e-1").to_string()));
    assert!(lines.next().unwrap().is_none());
    let mut inputs = world.inputs();
    inputs.requests.truncate(2);
    let report = check(&part, &inputs);
    assert_ne!(
        report.verdict(&all()),
        Verdict::Contradicted,
        "{}",
        report.to_text(&all())
    );
    assert_eq!(report.status(Claim::Admission), Status::Verified);
    assert_eq!(report.status(Claim::Classification), Status::Verified);
}

#[test]
fn an_action_binding_is_made_of_what_a_salt_opens_and_of_nothing_else() {
    let world = World::blinded();
    let mut bundle = Bundle::open(Cursor::new(Export::of(&world).bundle())).unwrap();
    let mut openings = countersign_evidence::bundle::Openings::read(&mut bundle).unwrap();
    let mut made = 0;
    for entry in &world.entries {
        assert_eq!(ActionBinding::of(entry, None), None);
        let opened = openings.of(entry.said());
        if let Some(binding) = ActionBinding::of(entry, opened.as_ref()) {
            let line = String::from_utf8(binding.line(entry)).unwrap();
            assert!(line.contains(binding.scope.as_str()));
            assert!(entry.said().binding != Some(binding.scope));
            made += 1;
        }
    }
    assert_eq!(made, world.openings().len());
}
