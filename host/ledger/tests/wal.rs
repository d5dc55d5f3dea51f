//! The WAL is started again by the writer itself, and not only where the thread
//! that writes it back happens to have caught up.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;

use support::{Fixture, call, reserve, succeeded, verify};

const BOUND: u64 = 256 << 10;

#[test]
fn a_wal_that_a_reader_held_past_its_bound_is_started_again_once_the_reader_is_gone() {
    // A writer that finds the other thread at work leaves it to a later group; it
    // does not find it so each time.
    let mut tries = (0..5).map(|_| held_after_one_more_pair());
    let started_again = tries.any(|held| held < BOUND);
    assert!(started_again, "the WAL was never started again");
}

/// Bytes in the WAL when one pair has followed a reader that held it.
fn held_after_one_more_pair() -> u64 {
    let mut fixture = Fixture::new();
    fixture.options.wal_bytes = BOUND;
    let ledger = fixture.open();
    let mut number = 0;
    let mut pair = || {
        number += 1;
        let id = format!("e{number}");
        let token = reserve(&ledger, &call(format!("c{number}"), Some(&id)));
        ledger.settle(token, succeeded()).wait().unwrap();
        // The chores of the last group are done before the next is answered.
        ledger.checkpoint().wait().unwrap();
    };
    let mut wal = fixture.path().into_os_string();
    wal.push("-wal");
    let bytes = || fs::metadata(&wal).unwrap().len();

    // Whoever reads keeps the pages that it may still read.
    let reader = fixture.sql();
    reader.execute_batch("BEGIN").unwrap();
    let entries = "SELECT count(*) FROM entries";
    let _: i64 = reader.query_row(entries, [], |row| row.get(0)).unwrap();
    while bytes() < BOUND + BOUND / 4 {
        pair();
    }
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    // Too little for the other thread to be woken by.
    pair();

    // There is no answer while the other thread is at work.
    let asking = fixture.sql();
    let ask = || -> i64 {
        let asked = "PRAGMA wal_checkpoint(PASSIVE)";
        asking.query_row(asked, [], |row| row.get(1)).unwrap()
    };
    let frames = std::iter::repeat_with(ask).find_map(|frames| u64::try_from(frames).ok());
    verify(&ledger);
    frames.unwrap() * 4_096
}
