//! Faults of the real gateway: every cell of the matrix, sequences that failed
//! once, and some new ones. `cargo xtask crash` runs it longer.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use countersign_tests::crash::{Campaign, Store, campaign, kept, matrix, replay};

#[tokio::test(flavor = "multi_thread")]
async fn whatever_fails_at_whatever_boundary_on_sqlite_no_call_is_invoked_twice() {
    let matrix = matrix(Store::Sqlite, "", 4, |_, _| {}).await;
    let table = matrix.table(Store::Sqlite);
    println!("{table}");
    assert!(matrix.failed.is_empty(), "{table}");
    let empty = matrix.empty(Store::Sqlite);
    assert!(empty.is_empty(), "not covered: {empty:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_once_holds_now() {
    for sequence in kept(Store::Sqlite) {
        if let Err(failure) = replay(Store::Sqlite, sequence).await {
            panic!("{failure}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_in_sequence_on_sqlite_no_call_is_invoked_twice() {
    // The same ones each time: new ones are what `cargo xtask crash` is for.
    let plan = Campaign {
        store: Store::Sqlite,
        seed: 1,
        sequences: 12,
        jobs: 2,
    };
    match campaign(plan, |_| {}).await {
        Ok(tally) => println!("{tally:?}"),
        Err(failure) => panic!("{failure}"),
    }
}
