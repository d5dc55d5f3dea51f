//! How often a pair syncs, counted by strace and not taken from a document.

use std::process::Command;

use super::row;
use crate::report::{self, Goal};

/// Enough that what a start and an end sync does not count.
const PAIRS: usize = 400;

pub(super) fn count() -> Vec<[String; 4]> {
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
        println!("syncs are not counted; this needs strace (apt-get install strace)");
        return Vec::new();
    }
    let text = std::fs::read_to_string(trace).unwrap();
    let of = |name: &str| text.lines().filter(|line| line.contains(name)).count();
    let (wal, database, anchor) = (of("ledger.db-wal>"), of("ledger.db>"), of("anchor"));
    let of = |what: &str, syncs: usize, goal: Option<Goal>| {
        let each = each(syncs);
        row(
            format!("syncs of the {what} in one pair, 1 client"),
            report::number(each),
            goal.map(|goal| (goal, each)),
        )
    };
    vec![
        of("WAL", wal, Some(Goal::AtMost(3.0))),
        of("database", database, None),
        of("anchor", anchor, None),
    ]
}

fn each(syncs: usize) -> f64 {
    syncs as f64 / PAIRS as f64
}
