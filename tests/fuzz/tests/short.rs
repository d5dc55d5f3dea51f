//! Every kept input of every target, and mutations of them from a fixed seed.

#![allow(clippy::panic, reason = "a test says what fails by failing")]

use std::panic::catch_unwind;

use countersign_fuzz::{Mutator, TARGETS, find, kept};

const SEED: u64 = 20_261_130;

/// What is kept holds, and so does what is near to it.
fn short(name: &str) {
    let target = find(name).unwrap_or_else(|| panic!("there is no target `{name}`"));
    let kept = kept(target);
    assert!(!kept.is_empty(), "nothing is kept for `{name}`");
    for input in &kept {
        if catch_unwind(|| (target.run)(&input.bytes)).is_err() {
            panic!("tests/fuzz/{} fails", input.name);
        }
    }
    let known = kept.iter().map(|input| &input.bytes[..]).collect();
    let mut mutator = Mutator::new(known, SEED, target.most_bytes);
    for number in 0..target.mutations {
        let input = mutator.next_input();
        if catch_unwind(|| (target.run)(&input)).is_err() {
            let bytes: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
            panic!("mutation {number} for `{name}` fails; its bytes in hexadecimal: {bytes}");
        }
    }
}

#[test]
fn the_reader_takes_what_another_one_takes_and_refuses_where_a_fault_is_certain() {
    short("reader");
}

#[test]
fn the_writer_writes_one_form_that_reads_back_whatever_the_spelling() {
    short("writer");
}

#[test]
fn a_message_is_admitted_as_what_the_specification_says_it_is() {
    short("envelope");
}

#[test]
fn a_stream_gives_the_same_events_however_it_is_cut() {
    short("sse");
}

#[test]
fn headers_say_what_was_sent_and_stand_once() {
    short("headers");
}

#[test]
fn a_bundle_that_opens_is_read_alike_by_two_readers() {
    short("bundle");
}

#[test]
fn nothing_that_was_changed_is_verified() {
    short("verifier");
}

#[test]
fn a_configuration_that_is_taken_is_one_that_its_schema_describes() {
    short("config");
}

#[test]
fn what_is_kept_is_small_and_belongs_to_a_target() {
    let mut all = 0;
    for target in TARGETS {
        for input in kept(&target) {
            all += input.bytes.len();
        }
    }
    assert!(all < 600_000, "{all} bytes are kept");
}
