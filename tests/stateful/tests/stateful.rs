//! The whole gateway, held against a model: each mutation once, with the same
//! seeds each time. `cargo xtask crash --stateful` plays thousands.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use countersign_stateful::plan::Plan;
use countersign_stateful::{Campaign, On, campaign, kept, mutated, replay, rows};

#[test]
fn every_row_changes_something_in_the_same_way_each_time_and_says_what_may_come_of_it() {
    let mut names = BTreeSet::new();
    for row in rows() {
        let name = &row.name;
        assert!(names.insert(name), "{name}");
        assert!(!row.findings.is_empty(), "{name}");
        for seed in 0..8 {
            let plan = mutated(row, seed);
            assert_eq!(plan, mutated(row, seed), "{name}");
            assert!(plan.at < plan.steps.len(), "{name}");
            let text = serde_json::to_string(&plan).unwrap_or_default();
            assert_eq!(
                serde_json::from_str::<Plan>(&text).ok(),
                Some(plan),
                "{name}"
            );
        }
    }
}

#[test]
fn whatever_one_changes_in_a_sequence_what_comes_of_it_is_what_the_model_says() {
    let of = Campaign {
        seed: 1,
        first: 0,
        sequences: rows().len() as u64,
        jobs: 3,
        binary: 40,
        go_on: false,
    };
    let matrix = campaign(of, |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{}", matrix.table());
    assert!(matrix.empty().is_empty(), "{:?}", matrix.empty());
    assert!(matrix.unexpected().is_empty(), "{:?}", matrix.unexpected());
    assert!(matrix.on_the_binary > 0, "none was played on the binary");
}

#[test]
fn what_failed_once_holds_now() {
    let mut binary = 0;
    for plan in kept() {
        for on in On::all_of(&plan) {
            binary += u32::from(on == On::Binary);
            if let Err(failure) = replay(&plan, on) {
                panic!("{failure}");
            }
        }
    }
    assert!(binary > 0, "none was played on the binary");
}
