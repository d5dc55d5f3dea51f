//! Faults of the real gateway: every cell of the matrix on SQLite and each
//! boundary and fault on PostgreSQL, sequences that failed once, and some new
//! ones. `cargo xtask crash` runs everything.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use countersign_tests::crash::{
    Campaign, Extent, Store, boundaries, campaign, faults, kept, matrix, replay,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
async fn whatever_fails_at_whatever_boundary_on_sqlite_no_call_is_invoked_twice() {
    let matrix = matrix(Store::Sqlite, &Extent::Whole, 4, |_, _| {}).await;
    let table = matrix.table(Store::Sqlite);
    println!("{table}");
    assert!(matrix.failed.is_empty(), "{table}");
    let empty = matrix.empty(Store::Sqlite);
    assert!(empty.is_empty(), "not covered: {empty:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
async fn at_each_boundary_and_by_each_fault_on_postgres_no_call_is_invoked_twice() {
    let matrix = matrix(Store::Postgres, &Extent::Some, 4, |_, _| {}).await;
    let table = matrix.table(Store::Postgres);
    println!("{table}");
    assert!(matrix.failed.is_empty(), "{table}");
    let (mut met, mut happened) = (BTreeSet::new(), BTreeSet::new());
    for (boundary, _, fault) in matrix.covered.keys() {
        met.insert(*boundary);
        happened.insert(*fault);
    }
    let all = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(met, all(boundaries(Store::Postgres)));
    assert_eq!(happened, all(faults(Store::Postgres)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
async fn what_failed_once_holds_now() {
    for store in Store::ALL {
        for sequence in kept(store) {
            if let Err(failure) = replay(store, sequence).await {
                panic!("{failure}");
            }
        }
    }
}

/// The same ones each time: new ones are what `cargo xtask crash` is for.
async fn sequences(store: Store, sequences: u64) {
    let plan = Campaign {
        store,
        seed: 1,
        sequences,
        jobs: 2,
    };
    match campaign(plan, |_| {}).await {
        Ok(tally) => println!("{tally:?}"),
        Err(failure) => panic!("{failure}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
async fn whatever_happens_in_sequence_on_sqlite_no_call_is_invoked_twice() {
    sequences(Store::Sqlite, 12).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
async fn whatever_happens_in_sequence_on_postgres_no_call_is_invoked_twice() {
    sequences(Store::Postgres, 4).await;
}
