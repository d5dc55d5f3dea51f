//! Clients that reserve and settle as fast as they are answered.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_ledger::Ledger;
use countersign_tests::measure::Samples;
use tokio::runtime::Runtime;

use super::stage::{self, Kept};

/// What one run of clients came to.
pub(super) struct Run {
    /// Pairs of reservation and settlement in a second.
    pub(super) rate: f64,
    /// How long a pair took.
    pub(super) took: Samples,
    /// The longest that the WAL was, in bytes.
    pub(super) wal_bytes: u64,
}

pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// A ledger of its own, and so many clients for so long.
pub(super) fn run(kept: Kept, clients: usize, lasting: Duration) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let ledger = stage::open(folder.path(), kept);
    let run = on(&ledger, folder.path(), "e", clients, lasting);
    ledger.stop().unwrap();
    run
}

/// So many clients for so long on a ledger that is there.
pub(super) fn on(
    ledger: &Ledger,
    folder: &Path,
    name: &str,
    clients: usize,
    lasting: Duration,
) -> Run {
    let wal = folder.join("ledger.db-wal");
    let began = Instant::now();
    let ends = began + lasting;
    let (took, wal_bytes) = runtime().block_on(async {
        let running: Vec<_> = (0..clients)
            .map(|client| {
                let (ledger, name) = (ledger.clone(), format!("{name}-{client}"));
                tokio::spawn(async move { client_of(&ledger, &name, ends).await })
            })
            .collect();
        let mut wal_bytes = 0;
        while Instant::now() < ends {
            tokio::time::sleep(Duration::from_millis(20)).await;
            wal_bytes = wal_bytes.max(std::fs::metadata(&wal).map_or(0, |file| file.len()));
        }
        let mut took = Samples::default();
        for client in running {
            for sample in client.await.unwrap() {
                took.add(sample);
            }
        }
        (took, wal_bytes)
    });
    Run {
        rate: took.count() as f64 / began.elapsed().as_secs_f64(),
        took,
        wal_bytes,
    }
}

async fn client_of(ledger: &Ledger, name: &str, ends: Instant) -> Vec<Duration> {
    let mut took = Vec::new();
    while Instant::now() < ends {
        let began = Instant::now();
        stage::pair(ledger, &format!("{name}-{}", took.len())).await;
        took.push(began.elapsed());
    }
    took
}

/// Fills a ledger up to so many executions.
pub(super) fn fill(ledger: &Ledger, from: u64, to: u64) {
    const CLIENTS: u64 = 256;
    let next = Arc::new(std::sync::atomic::AtomicU64::new(from));
    runtime().block_on(async {
        let running: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (ledger, next) = (ledger.clone(), Arc::clone(&next));
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if number >= to {
                            return;
                        }
                        stage::pair(&ledger, &format!("f-{number}")).await;
                    }
                })
            })
            .collect();
        for client in running {
            client.await.unwrap();
        }
    });
}
