//! What happens to SQLite alone: a sync that failed, a full disk, a WAL that
//! would grow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;

use countersign_canon::Outcome;
use countersign_ledger::{Fault, LedgerError, Point, State};
use support::faults::{failing, let_time_pass, state};
use support::{Fixture, Kept, call, reserve, reserved, succeeded, verify};

#[test]
fn after_a_sync_that_failed_nothing_is_ever_admitted_again() {
    let (fixture, failing, ledger) = failing(Kept::Sqlite);
    let open = reserve(&ledger, &call("c0", Some("open")));
    let gate = open.gate();
    failing.next(&[(Point::Committed, Fault::Sync)]);
    let said = ledger.reserve(call("c1", Some("pay")).attempt()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
    assert!(ledger.failed());
    assert!(
        gate.pass().is_err(),
        "what was not sent yet is not sent any more"
    );
    let said = ledger.settle(open, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Settlement);
    for name in ["c2", "c3"] {
        let said = ledger.reserve(call(name, Some("pay")).attempt()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
    }
    assert!(ledger.stop().is_err());
    drop(ledger);
    // The next start finds what is really there, and blocks it.
    let ledger = fixture.open();
    assert_eq!(state(&ledger, "open"), Some(State::Blocked));
    verify(&ledger);
}

#[test]
fn a_full_disk_refuses_what_is_new_and_settles_what_is_open_once_there_is_room() {
    let mut fixture = Fixture::new();
    drop(fixture.open());
    let ballast = "CREATE TABLE ballast (bytes BLOB); \
                   INSERT INTO ballast VALUES (zeroblob(400000));";
    fixture.sql().execute_batch(ballast).unwrap();
    let pages: u32 = fixture
        .sql()
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    fixture.options.max_pages = Some(pages + 12);
    let ledger = fixture.open();
    let mut open = Vec::new();
    let full = loop {
        let id = format!("e{}", open.len());
        match ledger
            .reserve(call(format!("c{}", open.len()), Some(&id)).attempt())
            .wait()
        {
            Ok(verdict) => open.push((id, reserved(verdict).token)),
            Err(error) => break error,
        }
        assert!(open.len() < 1_000, "the disk was never full");
    };
    assert_eq!(full, LedgerError::Unavailable);
    assert!(open.len() > 3);
    let mut unsettled = 0;
    let ids: Vec<String> = open.iter().map(|(id, _)| id.clone()).collect();
    for (_, token) in open {
        match ledger.settle(token, succeeded()).wait() {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error, LedgerError::Settlement);
                unsettled += 1;
            }
        }
    }
    assert!(unsettled > 0, "no settlement met the full disk");
    // While it is full nothing admitted is lost, and the log is whole.
    verify(&ledger);
    fixture.sql().execute_batch("DROP TABLE ballast").unwrap();
    let_time_pass(&fixture, &ledger);
    for id in ids {
        assert_eq!(
            state(&ledger, &id),
            Some(State::Settled(Outcome::Succeeded)),
            "{id}"
        );
    }
    drop(reserve(&ledger, &call("new", Some("new"))));
    verify(&ledger);
}

#[test]
fn the_wal_is_started_again_at_its_bound_even_while_others_read() {
    let mut fixture = Fixture::new();
    fixture.options.wal_bytes = 256 << 10;
    let ledger = fixture.open();
    let mut wal = fixture.path().into_os_string();
    wal.push("-wal");
    let mut longest = 0;
    for number in 0..200 {
        let id = format!("e{number}");
        let token = reserve(&ledger, &call(format!("c{number}"), Some(&id)));
        ledger.settle(token, succeeded()).wait().unwrap();
        assert!(state(&ledger, &id).is_some());
        longest = longest.max(fs::metadata(&wal).unwrap().len());
    }
    assert!(longest > 128 << 10, "{longest} bytes");
    assert!(longest < 1 << 20, "the WAL grew to {longest} bytes");
    verify(&ledger);
}
