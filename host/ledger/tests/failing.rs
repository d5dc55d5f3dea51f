//! The store fails: a full disk, an error in the middle, an acknowledgement
//! that was lost, a sync that failed, a WAL that would grow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::Kind;
use countersign_ledger::{Fault, Ledger, LedgerError, Point, Probe, State};
use support::{
    Fixture, agent, call, count, execution_id, refused, reserve, reserved, succeeded, verify,
};

/// Makes the next passages of some points fail.
#[derive(Default)]
struct Failing(Mutex<Vec<(Point, Fault)>>);

impl Failing {
    fn next(&self, faults: &[(Point, Fault)]) {
        self.0.lock().unwrap().extend(faults);
    }

    fn all_met(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

impl Probe for Failing {
    fn at(&self, point: Point) -> Result<(), Fault> {
        let mut faults = self.0.lock().unwrap();
        match faults.iter().position(|(at, _)| *at == point) {
            Some(index) => Err(faults.remove(index).1),
            None => Ok(()),
        }
    }
}

fn failing() -> (Fixture, Arc<Failing>, Ledger) {
    let mut fixture = Fixture::new();
    let failing = Arc::<Failing>::default();
    fixture.options.probe = Some(Arc::<Failing>::clone(&failing));
    let ledger = fixture.open();
    (fixture, failing, ledger)
}

fn state(ledger: &Ledger, id: &str) -> Option<State> {
    let found = ledger.lookup(&agent("alice"), &execution_id(id)).unwrap();
    found.map(|execution| execution.record.state)
}

/// Lets the writer try again what it keeps.
fn let_time_pass(fixture: &Fixture, ledger: &Ledger) {
    fixture.clock.advance(Duration::from_secs(2));
    drop(ledger.checkpoint().wait());
    fixture.clock.advance(Duration::from_secs(2));
    ledger.checkpoint().wait().unwrap();
}

#[test]
fn a_group_that_fails_at_or_before_its_commit_leaves_nothing_and_settles_later() {
    for point in [Point::Decided, Point::Written, Point::Committing] {
        let (fixture, failing, ledger) = failing();
        let open = reserve(&ledger, &call("c0", Some("open")));
        failing.next(&[(point, Fault::Error)]);
        let said = ledger.reserve(call("c1", Some("pay")).attempt()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
        assert_eq!(state(&ledger, "pay"), None, "nothing of it is there");
        drop(reserve(&ledger, &call("c2", Some("pay"))));
        // What the dropped token leaves is settled before the next fault is made.
        ledger.checkpoint().wait().unwrap();

        failing.next(&[(point, Fault::Error)]);
        let said = ledger.settle(open, succeeded()).wait();
        assert_eq!(
            said.unwrap_err(),
            LedgerError::Settlement,
            "never as if it were safe"
        );
        let_time_pass(&fixture, &ledger);
        assert_eq!(
            state(&ledger, "open"),
            Some(State::Settled(Outcome::Succeeded))
        );
        assert!(failing.all_met());
        verify(&ledger);
    }
}

#[test]
fn an_acknowledgement_that_was_lost_is_read_back() {
    let (_fixture, failing, ledger) = failing();
    failing.next(&[(Point::Committed, Fault::Error)]);
    let token = reserve(&ledger, &call("c1", Some("pay")));
    failing.next(&[(Point::Committed, Fault::Error)]);
    let settled = ledger.settle(token, succeeded()).wait().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Succeeded));
    assert!(failing.all_met());
    let log = verify(&ledger);
    assert_eq!(
        (count(&log, &Kind::Admission), count(&log, &Kind::Terminal)),
        (1, 1)
    );
}

#[test]
fn a_reservation_that_cannot_be_read_back_is_given_up_and_settled_as_never_sent() {
    let (fixture, failing, ledger) = failing();
    let open = reserve(&ledger, &call("c0", Some("open")));
    let lost = [
        (Point::Committed, Fault::Error),
        (Point::Reopened, Fault::Error),
        (Point::Reopened, Fault::Error),
    ];
    failing.next(&lost);
    let said = ledger.reserve(call("c1", Some("pay")).attempt()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
    // The store is away still: this one is turned away too, and nothing is lost.
    let said = ledger.settle(open, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Settlement);
    assert!(failing.all_met());
    let_time_pass(&fixture, &ledger);
    assert_eq!(
        state(&ledger, "pay"),
        Some(State::Settled(Outcome::NotAttempted))
    );
    assert_eq!(
        state(&ledger, "open"),
        Some(State::Settled(Outcome::Succeeded))
    );
    let said = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(
        said.classification,
        Some(Classification::Replay(Outcome::NotAttempted))
    );
    assert!(said.safe_with_new_id);
    verify(&ledger);
}

#[test]
fn a_settlement_in_doubt_is_made_once() {
    for durable in [true, false] {
        let (fixture, failing, ledger) = failing();
        let token = reserve(&ledger, &call("c1", Some("pay")));
        let at = if durable {
            Point::Committed
        } else {
            Point::Committing
        };
        failing.next(&[(at, Fault::Error), (Point::Reopened, Fault::Error)]);
        let said = ledger.settle(token, succeeded()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Settlement);
        let_time_pass(&fixture, &ledger);
        let_time_pass(&fixture, &ledger);
        assert_eq!(
            state(&ledger, "pay"),
            Some(State::Settled(Outcome::Succeeded))
        );
        assert_eq!(count(&verify(&ledger), &Kind::Terminal), 1);
    }
}

#[test]
fn after_a_sync_that_failed_nothing_is_ever_admitted_again() {
    let (fixture, failing, ledger) = failing();
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
