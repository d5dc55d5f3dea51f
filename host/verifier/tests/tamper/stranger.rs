//! Whoever has the file and not the key.

use countersign_evidence::checkpoint::Checkpoint;
use countersign_verifier::{Claim, Level, Status, Verdict};
use serde_json::{Value, json};

use super::lies::{bytes, changes, seal, sorts, values};
use super::table::{Table, caught};
use crate::world::{Export, World, key};

/// A quarter of all changes of a field, each as it stands and with the entry's
/// hash made to fit.
fn fields(part: usize, name: &'static str) {
    let world = World::every_kind();
    let mut export = Export::of(&world);
    export.notes = vec![Checkpoint::of(&world.head).sign(&key(2))];
    let mut inputs = world.inputs();
    inputs.requests.clear();
    let mut table = Table::sampled(name, 1);
    let honest = table.check("nothing", &export, &inputs);
    assert_ne!(honest.verdict(&Level::default()), Verdict::Contradicted);
    let all = values(&export.lines);
    for index in sorts(&all).into_iter().skip(part).step_by(4) {
        let entry = &all[index];
        let line = export.lines[index].clone();
        for (name, value) in changes(entry) {
            for sealed in [false, true] {
                let mut lie = entry.clone();
                lie[&name] = value.clone();
                if sealed {
                    seal(&mut lie);
                }
                // A hash that was only changed and then sealed is as it was.
                if lie == *entry {
                    continue;
                }
                export.lines[index] = bytes(&lie);
                let hash = if sealed { "and its hash" } else { "alone" };
                let row = format!("{}: {name}, {hash}", entry["kind"].as_str().unwrap());
                let report = table.check(&row, &export, &inputs);
                let integrity = report.status(Claim::Integrity) == Status::Contradicted;
                // Moved elsewhere, it is missed where it was.
                let missed = report.status(Claim::Completeness) == Status::Contradicted;
                let moved = ["log_id", "sequence"].contains(&name.as_str());
                assert!(integrity || (moved && missed), "{index} {name} {value}");
            }
        }
        export.lines[index] = line;
    }
}

#[test]
fn whoever_has_not_the_key_changes_no_field_of_any_entry_first_quarter() {
    fields(0, "fields-1");
}

#[test]
fn whoever_has_not_the_key_changes_no_field_of_any_entry_second_quarter() {
    fields(1, "fields-2");
}

#[test]
fn whoever_has_not_the_key_changes_no_field_of_any_entry_third_quarter() {
    fields(2, "fields-3");
}

#[test]
fn whoever_has_not_the_key_changes_no_field_of_any_entry_last_quarter() {
    fields(3, "fields-4");
}

#[test]
fn whoever_has_not_the_key_takes_adds_moves_and_cuts_nothing() {
    let world = World::full();
    let whole = Export::of(&world);
    let inputs = world.inputs();
    let count = whole.lines.len();
    let mut cases: Vec<(&str, Export)> = Vec::new();
    for index in 0..count {
        let mut without = whole.clone();
        without.lines.remove(index);
        cases.push(("drop an entry", without));
        let mut twice = whole.clone();
        twice.lines.insert(index, whole.lines[index].clone());
        cases.push(("repeat an entry", twice));
        let mut cut = whole.clone();
        cut.lines.truncate(index);
        cases.push(("cut the tail", cut.clone()));
        cut.size = index as u64;
        cases.push(("cut the tail, and the manifest", cut));
        if index > 0 {
            let mut swapped = whole.clone();
            swapped.lines.swap(index - 1, index);
            cases.push(("swap two entries", swapped));
        }
    }
    let mut reversed = whole.clone();
    reversed.lines.reverse();
    cases.push(("reverse the log", reversed));
    let mut other = World::new();
    other.head = countersign_evidence::Head::new(world.head.log_id().clone());
    let mut spliced = whole.clone();
    spliced.lines[2] = bytes(&{
        let mut value: Value = serde_json::from_slice(other.entries[2].bytes()).unwrap();
        value["time"] = json!("2027-01-02T03:04:05.000006Z");
        seal(&mut value);
        value
    });
    cases.push(("splice another log's entry in", spliced));
    let mut table = Table::new("places");
    for (what, export) in cases {
        let report = table.check(what, &export, &inputs);
        assert_eq!(
            report.verdict(&Level::default()),
            Verdict::Contradicted,
            "{what}: {}",
            report.to_text(&Level::default())
        );
        assert!(!caught(&report).is_empty());
    }
}
