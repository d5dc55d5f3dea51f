//! What groups gain over transactions of one row, printed side by side; run with
//! `cargo nextest run --workspace -E 'binary(postgres) and test(gains)' --run-ignored all --no-capture`.

use std::time::Instant;

use crate::support::{Fixture, Kept, call, reserve, succeeded, verify};

#[allow(clippy::disallowed_methods, reason = "this test measures")]
fn now() -> Instant {
    Instant::now()
}

/// Pairs of reservation and settlement in a second, by 64 callers.
fn pairs(group: usize, each: usize) -> f64 {
    let mut fixture = Fixture::on(Kept::Postgres);
    fixture.options.group = group;
    let ledger = fixture.open();
    let began = now();
    std::thread::scope(|scope| {
        for thread in 0..64 {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in 0..each {
                    let id = format!("{thread}-{number}");
                    let token = reserve(ledger, &call(format!("c{id}"), Some(&id)));
                    ledger.settle(token, succeeded()).wait().unwrap();
                }
            });
        }
    });
    let rate = (64 * each) as f64 / began.elapsed().as_secs_f64();
    verify(&ledger);
    rate
}

#[test]
#[ignore = "prints measurements"]
fn what_grouping_gains() {
    for _ in 0..2 {
        let (alone, grouped) = (pairs(1, 5), pairs(256, 40));
        println!(
            "64 callers: {alone:.0} pairs/s alone, {grouped:.0} grouped: {:.1} times",
            grouped / alone
        );
    }
}
