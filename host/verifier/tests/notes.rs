//! What is reported beside the claims.

use std::io::Cursor;

use countersign_canon::Digest;
use countersign_evidence::Kind;
use countersign_verifier::{Claim, Inputs, Level, Status, Verdict, verify};

use crate::tamper::{lies::values, table::rewrite};
use crate::world::{Export, PROFILE, World};

/// How many notes a report has at most.
const MOST: usize = 32;

fn notes(export: &Export, inputs: &Inputs) -> Vec<String> {
    verify(Cursor::new(export.bundle()), inputs).unwrap().notes
}

#[test]
fn what_is_not_known_is_noted_once_under_each_name_and_some_names_of_many() {
    let world = World::new();
    let export = Export::of(&world);
    let mut start = values(&export.lines);
    let wanted = |names: usize| {
        let mut all = start.clone();
        for number in 0..2 * names {
            let mut entry = all[0].clone();
            entry["sequence"] = all.len().into();
            entry[format!("member-{}", number % names)] = number.into();
            all.push(entry);
        }
        notes(&rewrite(&export, all), &world.inputs())
    };
    let said = "is not known; only that it was hashed was checked";
    for (names, told) in [(1, 1), (5, 5), (MOST, MOST), (MOST + 5, MOST)] {
        let notes = wanted(names);
        assert_eq!(notes.len(), told, "{notes:?}");
        for (number, note) in notes.iter().enumerate() {
            assert!(note.ends_with(&format!("the member `member-{number}` {said}")));
        }
    }
    for number in 0..80 {
        let mut entry = start[0].clone();
        entry["sequence"] = start.len().into();
        entry["kind"] = format!("kind-{}", number % 40).into();
        if number > 40 {
            // For this there is no room any more.
            entry["member"] = number.into();
        }
        start.push(entry);
    }
    let notes = notes(&rewrite(&export, start), &world.inputs());
    assert_eq!(notes.len(), MOST);
    for (number, note) in notes.iter().enumerate() {
        assert!(note.contains(&format!("the kind `kind-{number}` is not known")));
    }
}

#[test]
fn a_carried_component_that_no_entry_names_is_noted_and_speaks_against_nothing() {
    let world = World::new();
    let mut all = values(&Export::of(&world).lines);
    all.retain(|entry| entry["profile"].is_null());
    for (at, entry) in all.iter_mut().enumerate() {
        entry["sequence"] = at.into();
    }
    let export = rewrite(&Export::of(&world), all);
    let report = verify(Cursor::new(export.bundle()), &world.inputs()).unwrap();
    assert_eq!(report.verdict(&Level::default()), Verdict::Verified);
    let note = format!("no entry names the component `{PROFILE}`");
    assert_eq!(report.notes, [note]);
}

#[test]
fn a_carried_component_is_found_among_however_many_the_entries_name() {
    let mut world = World::new();
    for number in 0_u32..200 {
        let mut loaded = world.draft(Kind::ProfileLoaded);
        let other = format!("{PROFILE}+{number}");
        loaded.profile = Some(if number < 100 { PROFILE.into() } else { other });
        loaded.component = Some(Digest::of(&[&number.to_be_bytes()]));
        world.append(loaded, None);
    }
    // The one that is carried stands last.
    let mut all = values(&Export::of(&world).lines);
    let own = all.remove(1);
    assert_eq!(own["kind"], Kind::ProfileLoaded.as_str());
    all.push(own);
    for (at, entry) in all.iter_mut().enumerate() {
        entry["sequence"] = at.into();
    }
    let export = rewrite(&Export::of(&world), all);
    let report = verify(Cursor::new(export.bundle()), &world.inputs()).unwrap();
    assert_ne!(report.status(Claim::Admission), Status::Contradicted);
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn a_key_that_only_the_bundle_names_is_noted_for_each_log_of_which_none_is_trusted() {
    let world = World::fleet();
    let export = Export::of(&world);
    let mut inputs = world.inputs();
    while let Some(trusted) = inputs.trusted.pop() {
        let notes = notes(&export, &inputs);
        assert_eq!(notes.len(), 3 - inputs.trusted.len());
        let calls = format!(
            "the bundle calls `{trusted}` the key of `{}`",
            trusted.name()
        );
        assert!(notes.iter().any(|note| note.starts_with(&calls)));
    }
}
