//! What groups of requests cost, printed side by side; run with
//! `cargo test --release -p countersign-ledger --test speed -- --ignored --nocapture`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_ledger::{Fault, Point, Probe};
use support::{Fixture, call, reserve, succeeded, verify};

/// Makes each commit take longer, as a slower disk would.
struct Slow(Duration);

impl Probe for Slow {
    fn at(&self, point: Point) -> Result<(), Fault> {
        if point == Point::Written {
            std::thread::sleep(self.0);
        }
        Ok(())
    }
}

#[allow(clippy::disallowed_methods, reason = "this test measures")]
fn now() -> Instant {
    Instant::now()
}

/// Pairs of reservation and settlement in a second, and the 50th and 99th of
/// 100 pairs in microseconds.
fn pairs(group: usize, threads: usize, each: usize, slow_ms: u64) -> (f64, u128, u128) {
    let mut fixture = Fixture::new();
    fixture.options.group = group;
    if slow_ms > 0 {
        fixture.options.probe = Some(Arc::new(Slow(Duration::from_millis(slow_ms))));
    }
    let ledger = fixture.open();
    let began = now();
    let mut took: Vec<u128> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let ledger = &ledger;
                scope.spawn(move || {
                    let pair = |number| {
                        let began = now();
                        let id = format!("{thread}-{number}");
                        let token = reserve(ledger, &call(format!("c{id}"), Some(&id)));
                        ledger.settle(token, succeeded()).wait().unwrap();
                        began.elapsed().as_micros()
                    };
                    (0..each).map(pair).collect::<Vec<_>>()
                })
            })
            .collect();
        running
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    took.sort_unstable();
    let rate = took.len() as f64 / seconds;
    verify(&ledger);
    (rate, took[took.len() / 2], took[took.len() * 99 / 100])
}

#[test]
#[ignore = "prints measurements"]
fn what_grouping_gains() {
    for (slow_ms, each) in [(0, 60), (4, 6)] {
        let (alone, ..) = pairs(1, 64, each, slow_ms);
        let (grouped, ..) = pairs(256, 64, each * 8, slow_ms);
        println!(
            "sync +{slow_ms} ms, 64 threads: {alone:.0} pairs/s alone, {grouped:.0} grouped: {:.1} times",
            grouped / alone
        );
    }
    for threads in [1, 16] {
        let (rate, p50, p99) = pairs(256, threads, 400, 0);
        println!(
            "{threads} threads: {rate:.0} pairs/s, p50 {p50} us, p99 {p99} us: {:.1} times",
            p99 as f64 / p50 as f64
        );
    }
}
