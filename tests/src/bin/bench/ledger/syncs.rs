//! How often a pair syncs, counted by strace and not taken from a document.

use std::process::Command;

/// Enough that what a start and an end sync does not count.
const PAIRS: usize = 400;

pub(super) fn count() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let own = std::env::current_exe().unwrap();
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-y", "-qq", "-e", "trace=fdatasync,fsync", "-o"])
        .arg(&trace)
        .arg(own)
        .args(["ledger-pairs".as_ref(), folder.path().as_os_str()])
        .arg(PAIRS.to_string());
    if !strace.status().is_ok_and(|status| status.success()) {
        println!("  syncs of a pair: not counted; this needs strace (apt-get install strace)");
        return;
    }
    let text = std::fs::read_to_string(trace).unwrap();
    let of = |name: &str| text.lines().filter(|line| line.contains(name)).count();
    let (wal, database, anchor) = (of("ledger.db-wal>"), of("ledger.db>"), of("anchor"));
    println!(
        "  syncs of a pair, 1 client: {:.2} of the WAL (at most 3), {:.2} of the database, {:.2} of the anchor, in {PAIRS} pairs",
        each(wal),
        each(database),
        each(anchor)
    );
}

fn each(syncs: usize) -> f64 {
    syncs as f64 / PAIRS as f64
}
