//! The bundle of a whole fleet: three replicas, each with a log of its own.

use std::io::Cursor;

use countersign_canon::{Classification, Outcome};
use countersign_verifier::{Claim, Level, Status, Verdict, verify};

use super::lies::values;
use super::table::Table;
use crate::world::{Asked, Export, World};

/// Of which log a line is.
fn log(line: &Vec<u8>) -> String {
    values(std::slice::from_ref(line))[0]["log_id"].to_string()
}

#[test]
fn a_fleets_bundle_verifies_as_one_in_whatever_order_its_logs_stand() {
    let world = World::fleet();
    let merged = Export::of(&world);
    let mut apart = merged.clone();
    apart.lines.sort_by_key(log);
    let mut turned = merged.clone();
    turned
        .lines
        .sort_by_key(|line| std::cmp::Reverse(log(line)));
    let all: Level = "all".parse().unwrap();
    let mut table = Table::new("fleet-honest");
    for export in [merged, apart, turned] {
        let report = table.check("nothing", &export, &world.inputs());
        assert_eq!(
            report.verdict(&all),
            Verdict::Verified,
            "{}",
            report.to_text(&all)
        );
    }
}

#[test]
fn a_denial_at_one_replica_says_nothing_of_what_another_one_reserves() {
    let mut world = World::new();
    world.at("log.example/2");
    // Once more than is needed, so that it stands further back in its log.
    for _ in 0..2 {
        world.deny(Asked {
            tool: "wipe",
            class: "destructive",
            ..Asked::transfer("f-1", "1")
        });
    }
    world.at("log.example/1");
    world.admit(Asked::transfer("f-1", "1"), Classification::Fresh);
    world.settle("f-1", Outcome::Succeeded);
    let mut export = Export::of(&world);
    // The reservation comes first in the bundle, and came later.
    export.lines.sort_by_key(log);
    let mut table = Table::new("fleet-denial");
    let report = table.check("nothing", &export, &world.inputs());
    assert_eq!(report.status(Claim::Classification), Status::Verified);
}

#[test]
fn a_denial_of_what_its_own_replica_reserved_before_contradicts_classification_in_every_log() {
    let mut table = Table::new("fleet-forgets");
    for (log, id) in [("log.example/1", "f-1"), ("log.example/2", "f-2")] {
        let mut world = World::new();
        world.admit(Asked::transfer("f-1", "1"), Classification::Fresh);
        world.at("log.example/2");
        world.admit(Asked::transfer("f-2", "2"), Classification::Fresh);
        world.at(log);
        world.deny(Asked {
            tool: "wipe",
            class: "destructive",
            ..Asked::transfer(id, "1")
        });
        let row = "signed: call fresh what the same replica reserved";
        let report = table.check(row, &Export::of(&world), &world.inputs());
        assert_eq!(report.status(Claim::Classification), Status::Contradicted);
    }
}

#[test]
fn a_replica_that_is_left_out_is_missed_where_its_executions_go_on_elsewhere() {
    let world = World::fleet();
    let whole = Export::of(&world);
    let mut table = Table::new("fleet");
    for left_out in ["log.example/1", "log.example/2", "log.example/3"] {
        let of = |line: &Vec<u8>| values(std::slice::from_ref(line))[0]["log_id"] == left_out;
        // Its entries alone: the manifest still says that there is such a log.
        let mut export = whole.clone();
        export.lines.retain(|line| !of(line));
        let row = "leave out one replica's entries";
        let report = table.check(row, &export, &world.inputs());
        assert_eq!(report.status(Claim::Completeness), Status::Contradicted);
        // Everything that names it: what others hold of its executions is left.
        export.notes.retain(|note| !note.starts_with(left_out));
        if export.log_id.as_str() == left_out {
            let first = export.others.remove(0);
            (export.log_id, export.size) = (first.log_id, first.size);
        } else {
            export.others.retain(|log| log.log_id.as_str() != left_out);
        }
        let mut inputs = world.inputs();
        inputs.requests.clear();
        let row = "leave out one replica's log";
        let report = table.check(row, &export, &inputs);
        let status = |claim| report.status(claim);
        assert_eq!(status(Claim::Ordering), Status::Contradicted, "{left_out}");
        // The verifier trusts its key, and misses its log.
        assert_eq!(status(Claim::Completeness), Status::NotEstablished);
        // Who does not know that there is such a log sees the chains break.
        inputs.trusted.retain(|key| key.name().as_str() != left_out);
        let report = table.check("leave out one replica's log, unknown", &export, &inputs);
        assert_eq!(report.verdict(&Level::default()), Verdict::Contradicted);
    }
}

#[test]
fn a_log_of_a_fleet_takes_no_entry_of_another() {
    let world = World::fleet();
    let whole = Export::of(&world);
    let mut table = Table::new("fleet-splice");
    for index in 0..whole.lines.len() {
        let mut all = values(&whole.lines);
        let log = if all[index]["log_id"] == "log.example/1" {
            "log.example/2"
        } else {
            "log.example/1"
        };
        all[index]["log_id"] = log.into();
        super::lies::seal(&mut all[index]);
        let mut export = whole.clone();
        export.lines[index] = super::lies::bytes(&all[index]);
        let report = table.check("move an entry to another log", &export, &world.inputs());
        assert_eq!(
            report.verdict(&Level::default()),
            Verdict::Contradicted,
            "{index}"
        );
    }
}

#[test]
fn a_report_is_the_same_each_time_whatever_is_missing() {
    let world = World::fleet();
    let whole = Export::of(&world);
    let mut inputs = world.inputs();
    inputs.receipts = world.receipts();
    let mut cases = vec![whole.clone()];
    for left_out in 0..whole.lines.len() {
        let mut export = whole.clone();
        export.lines.remove(left_out);
        cases.push(export);
    }
    cases[0].lines.clear();
    for (case, export) in cases.iter().enumerate() {
        let bundle = export.bundle();
        let report = || verify(Cursor::new(&bundle), &inputs).unwrap();
        let first = report();
        for _ in 0..4 {
            assert_eq!(report(), first, "case {case}");
        }
    }
}
