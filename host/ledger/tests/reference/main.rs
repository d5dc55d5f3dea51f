//! Seeded sequences of whatever can happen, against a reference that is not the
//! code under test (`docs/spec/executions.md` §7). A sequence that fails is made
//! short and printed with its seed; keep the seed in `seeds.txt`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod run;
mod sequence;
mod shrink;
#[path = "../support/mod.rs"]
mod support;
mod told;

use sequence::generate;
use shrink::{shrink, try_out};

/// Steps of one sequence.
const LENGTH: usize = 60;

fn kept() -> Vec<u64> {
    let lines = include_str!("seeds.txt").lines();
    let numbers = lines.filter(|line| !line.starts_with('#'));
    numbers
        .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
        .collect()
}

/// Carries out the sequence of each seed; says how many permits there were.
fn all(seeds: impl Iterator<Item = u64>) -> usize {
    seeds
        .map(|seed| {
            // Printed only where the test fails.
            println!("seed {seed}");
            let sequence = generate(seed, LENGTH);
            try_out(&sequence, false).unwrap_or_else(|found| {
                let short = shrink(&sequence, false);
                let steps: Vec<String> = short.iter().map(|step| format!("  {step:?}")).collect();
                panic!("seed {seed}: {found}\nis found by\n{}", steps.join("\n"));
            })
        })
        .sum()
}

#[test]
fn whatever_happens_callers_are_told_what_the_reference_says() {
    let permits = all(kept().into_iter().chain(0..40));
    assert!(
        permits > 200,
        "{permits} permits: the sequences try too little"
    );
}

#[test]
#[ignore = "takes minutes"]
fn whatever_happens_in_two_thousand_sequences_callers_are_told_what_the_reference_says() {
    let permits = all(1_000..3_000);
    println!("{permits} permits, one for each round");
}

#[test]
fn a_reference_that_lies_is_found_out_and_the_sequence_is_made_short() {
    let lie = |seed: &u64| try_out(&generate(*seed, LENGTH), true).is_err();
    let sequence = generate((0..100).find(lie).unwrap(), LENGTH);
    let short = shrink(&sequence, true);
    assert!(short.len() <= 3, "{short:?}");
}
