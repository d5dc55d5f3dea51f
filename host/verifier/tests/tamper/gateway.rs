//! The gateway itself lies, and signs what it wrote.

use std::collections::BTreeSet;

use countersign_verifier::{Claim, Level, RequestFile, Status};
use serde_json::Value;

use super::beyond::{APART, BEYOND};
use super::lies::{changes, sorts, values};
use super::table::{Table, caught, rewrite};
use crate::world::{Export, World};

/// What was found of the lies about some entries.
struct Found {
    /// Which rows of the list were needed.
    used: BTreeSet<usize>,
    /// What nothing caught.
    open: BTreeSet<String>,
}

/// Tells every lie about the entries at `indices`.
fn lie(world: &World, indices: &[usize], name: &'static str) -> Found {
    let export = Export::of(world);
    let mut inputs = world.inputs();
    let requests = std::mem::take(&mut inputs.requests);
    let mut table = Table::sampled(name, 1);
    let mut found = Found {
        used: BTreeSet::new(),
        open: BTreeSet::new(),
    };
    let all = values(&export.lines);
    for index in indices {
        let entry = &all[*index];
        // Only requests under the entry's own name can show anything about it.
        let id = entry["execution_id"].as_str();
        let about = |request: &&RequestFile| match id {
            Some(id) => String::from_utf8_lossy(&request.message).contains(&format!("\"{id}\"")),
            None => !String::from_utf8_lossy(&request.message).contains("execution_id"),
        };
        inputs.requests = requests.iter().filter(about).cloned().collect();
        for (field, value) in changes(entry) {
            // These the gateway writes anew below.
            if ["hash", "previous", "sequence", "log_id"].contains(&field.as_str()) {
                continue;
            }
            let kind = entry["kind"].as_str().unwrap();
            // A field that means nothing in an entry of this kind says nothing
            // false about anything.
            if entry[&field].is_null() && APART.contains(&kind) {
                continue;
            }
            let mut lies = all.clone();
            lies[*index][&field] = value.clone();
            let row = format!("signed: {kind}: {field}");
            let lied = rewrite(&export, lies);
            let honest = table.caught_without(&export, &inputs);
            let report = table.check(&row, &lied, &inputs);
            if caught(&report) != honest {
                continue;
            }
            match BEYOND.iter().position(|(listed, kinds, _)| {
                *listed == field && (kinds.contains(&"*") || kinds.contains(&kind))
            }) {
                Some(row) => drop(found.used.insert(row)),
                None => drop(found.open.insert(format!("{kind}: {field} → {value}"))),
            }
        }
    }
    found
}

#[test]
fn the_gateway_itself_is_caught_in_every_field_that_can_be_computed_from_another() {
    let world = World::full();
    let sorts = sorts(&values(&Export::of(&world).lines));
    let half = sorts.len() / 2;
    let (first, second) = sorts.split_at(half);
    let world = &world;
    let found = std::thread::scope(|scope| {
        let second = scope.spawn(move || lie(world, second, "gateway-fields-2"));
        [
            lie(world, first, "gateway-fields-1"),
            second.join().unwrap(),
        ]
    });
    let open: Vec<String> = found.iter().flat_map(|found| found.open.clone()).collect();
    assert!(open.is_empty(), "caught by no claim:\n{}", open.join("\n"));
    let unused: Vec<&str> = (0..BEYOND.len())
        .filter(|row| found.iter().all(|found| !found.used.contains(row)))
        .map(|row| BEYOND[row].0)
        .collect();
    assert!(
        unused.is_empty(),
        "these are always caught, so take them off the list: {unused:?}"
    );
}

#[test]
fn the_gateway_cannot_leave_out_or_move_what_an_execution_links() {
    let world = World::full();
    let export = Export::of(&world);
    let all = values(&export.lines);
    let renumber = |mut values: Vec<Value>| {
        for (index, value) in values.iter_mut().enumerate() {
            value["sequence"] = index.into();
        }
        rewrite(&export, values)
    };
    let mut table = Table::new("gateway-links");
    let inputs = world.inputs();
    for index in 0..all.len() {
        let kind = all[index]["kind"].as_str().unwrap();
        let linked = !all[index]["execution_seq"].is_null();
        let tip = all
            .iter()
            .all(|other| other["execution_previous"] != all[index]["hash"]);
        let mut without = all.clone();
        without.remove(index);
        let row = format!("signed: leave out a `{kind}`");
        let report = table.check(&row, &renumber(without), &inputs);
        // The last entry of an execution, and one on none, can be left out by
        // its author: only a receipt for it shows that.
        if linked && !tip {
            assert_eq!(
                report.status(Claim::Ordering),
                Status::Contradicted,
                "{index}"
            );
        }
        let mut twice = all.clone();
        twice.insert(index, all[index].clone());
        let row = format!("signed: write a `{kind}` twice");
        let report = table.check(&row, &renumber(twice), &inputs);
        if linked {
            assert_eq!(
                report.status(Claim::Ordering),
                Status::Contradicted,
                "{index}"
            );
        }
    }
}

#[test]
fn a_second_reservation_is_a_contradiction_however_it_is_written() {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export.lines);
    let mut again = all
        .iter()
        .find(|entry| entry["kind"] == "admission")
        .unwrap()
        .clone();
    again["sequence"] = all.len().into();
    again["call_id"] = "again".into();
    all.push(again);
    let mut table = Table::new("gateway-second");
    let row = "signed: reserve an identifier twice";
    let report = table.check(row, &rewrite(&export, all), &world.inputs());
    assert_eq!(
        report.status(Claim::Ordering),
        Status::Contradicted,
        "{}",
        report.to_text(&Level::default())
    );
}

#[test]
fn a_request_that_was_changed_after_the_fact_contradicts_admission() {
    let world = World::full();
    let export = Export::of(&world);
    let mut inputs = world.inputs();
    let mut table = Table::new("request");
    let message = String::from_utf8(inputs.requests[0].message.clone()).unwrap();
    for (from, to, status) in [
        (r#""amount":5"#, r#""amount":6"#, Status::Contradicted),
        (r#""amount":5"#, r#""amount":5e0"#, Status::Contradicted),
        ("w-1", "w-2", Status::Contradicted),
        (r#"{"name":"x"}"#, r#"{"name":"y"}"#, Status::Contradicted),
        ("e-1", "e-99", Status::NotEstablished),
        (r#""method""#, r#""methods""#, Status::NotEstablished),
        (r#""id":1"#, r#""id":2"#, Status::Verified),
        (r#","arguments""#, r#"  ,"arguments""#, Status::Verified),
    ] {
        let changed = message.replacen(from, to, 1);
        assert_ne!(changed, message);
        inputs.requests.truncate(1);
        inputs.requests[0].message = changed.into_bytes();
        assert_eq!(
            table
                .check("another request", &export, &inputs)
                .status(Claim::Admission),
            status,
            "{from} → {to}"
        );
    }
}

#[test]
fn an_entry_of_another_agents_execution_contradicts_ordering() {
    let world = World::full();
    let export = Export::of(&world);
    let mut table = Table::new("gateway-agents");
    let all = values(&export.lines);
    let admissions: Vec<usize> = (0..all.len())
        .filter(|index| {
            all[*index]["kind"] == "admission" && all[*index]["execution_id"].is_string()
        })
        .collect();
    // The outcome of one execution, written onto the one before it.
    for pair in admissions.windows(2) {
        let (first, second) = (&all[pair[0]], &all[pair[1]]);
        let mut lies = all.clone();
        let Some(next) = lies
            .iter_mut()
            .find(|e| e["execution_previous"] == second["hash"])
        else {
            continue;
        };
        next["execution_previous"] = first["hash"].clone();
        let row = "signed: feed another execution's entry";
        let report = table.check(row, &rewrite(&export, lies), &world.inputs());
        assert_eq!(report.status(Claim::Ordering), Status::Contradicted);
    }
    // The same entries under another agent, from the second one on.
    for index in 0..all.len() {
        if all[index]["execution_seq"]
            .as_u64()
            .is_none_or(|seq| seq == 0)
        {
            continue;
        }
        let mut lies = all.clone();
        lies[index]["agent"]["subject"] = "x".into();
        let row = "signed: feed another agent's execution";
        let report = table.check(row, &rewrite(&export, lies), &world.inputs());
        assert_eq!(
            report.status(Claim::Ordering),
            Status::Contradicted,
            "{index}"
        );
    }
}
