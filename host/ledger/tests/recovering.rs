//! What SQLite alone keeps: its lock, its files, its one log.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;

use countersign_evidence::Kind;
use countersign_evidence::key::SigningKey;
use countersign_ledger::{InForce, Ledger, LedgerError, OpenError};
use support::{Fixture, TestClock, call, reserve, succeeded, verify};

fn clock() -> Arc<TestClock> {
    Arc::default()
}

#[test]
#[ignore = "runs in a process of its own, which the test below starts"]
fn child_opens() {
    let options = support::options_in(std::path::Path::new("."));
    let said = match Ledger::open_sqlite(options, clock(), support::key()) {
        Ok(_) => "opened",
        Err(error) => error.code(),
    };
    fs::write("said", said).unwrap();
}

#[test]
fn a_second_process_is_kept_out_until_the_first_is_gone() {
    let fixture = Fixture::new();
    let ask = || {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["child_opens", "--exact", "--ignored"])
            .current_dir(fixture.folder.path())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        fs::read_to_string(fixture.folder.path().join("said")).unwrap()
    };
    let ledger = fixture.open();
    assert_eq!(ask(), "ledger-in-use");
    assert!(matches!(fixture.try_open(), Err(OpenError::InUse { .. })));
    drop(ledger);
    assert_eq!(ask(), "opened");
    verify(&fixture.open());
}

#[test]
fn the_log_goes_on_over_restarts_under_the_same_key_only() {
    let fixture = Fixture::new();
    for start in 1..=4_u64 {
        let ledger = fixture.open();
        assert_eq!(ledger.incarnation().get(), i64::try_from(start).unwrap());
        let token = reserve(&ledger, &call(format!("c{start}"), None));
        ledger.settle(token, succeeded()).wait().unwrap();
        ledger.stop().unwrap();
        let newest = ledger.newest_checkpoint().wait().unwrap().unwrap();
        assert_eq!(
            newest.size,
            start * 3,
            "the last checkpoint covers everything"
        );
        verify(&ledger);
    }
    let other = SigningKey::from_seed(
        countersign_evidence::LogId::new("ledger.test/2").unwrap(),
        &[8; 32],
    );
    let said = Ledger::open_sqlite(fixture.options.clone(), clock(), other).unwrap_err();
    assert_eq!(said.code(), "ledger-other-log");
}

#[test]
fn a_log_that_comes_back_from_before_a_change_of_its_key_goes_on_under_the_key_of_then() {
    let fixture = Fixture::new();
    run_one(&fixture, "first");
    let backup = fixture.backup();
    let now = || SigningKey::from_seed(support::log_id(), &[9; 32]);
    let open = |key| Ledger::open_sqlite(fixture.options.clone(), clock(), key);
    let ledger = fixture.open();
    let mut draft = support::operator();
    draft.kind = Kind::KeyRotated;
    draft.key = Some(support::key().rotate(&now().verifying_key()));
    ledger.append(draft, InForce::Unchanged).wait().unwrap();
    ledger.stop().unwrap();
    drop(ledger);
    let size = || -> i64 {
        let sql = "SELECT count(*) FROM entries";
        fixture.sql().query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let before = size();
    assert_eq!(open(support::key()).unwrap_err().code(), "ledger-other-log");
    assert_eq!(size(), before, "a key that was given up writes nothing");
    open(now()).unwrap().stop().unwrap();

    fixture.restore(&backup);
    assert_eq!(open(now()).unwrap_err().code(), "ledger-other-log");
    let ledger = open(support::key()).unwrap();
    assert!(ledger.rolled_back());
    let accepted = ledger.accept_rollback(support::operator(), Vec::new());
    accepted.wait().unwrap();
    run_on(&ledger, "again");
    ledger.stop().unwrap();
    verify(&ledger);
}

#[test]
fn a_log_that_goes_back_under_way_to_before_a_change_of_its_key_is_not_accepted_under_the_new_one()
{
    let fixture = Fixture::new();
    run_one(&fixture, "first");
    fixture.copy_in_place();
    let now = || SigningKey::from_seed(support::log_id(), &[9; 32]);
    let open = |key| Ledger::open_sqlite(fixture.options.clone(), clock(), key).unwrap();
    let ledger = fixture.open();
    let mut draft = support::operator();
    draft.kind = Kind::KeyRotated;
    draft.key = Some(support::key().rotate(&now().verifying_key()));
    ledger.append(draft, InForce::Unchanged).wait().unwrap();
    ledger.stop().unwrap();
    drop(ledger);
    let ledger = open(now());
    run_on(&ledger, "second");
    fixture.put_back_in_place();
    let said = ledger.reserve(call("third", None).attempt()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::RolledBack);
    let accepted = ledger.accept_rollback(support::operator(), Vec::new());
    assert_eq!(accepted.wait().unwrap_err(), LedgerError::OtherKey);
    assert!(ledger.rolled_back());
    drop(ledger.stop());
    drop(ledger);
    let ledger = open(support::key());
    assert!(ledger.rolled_back());
    let accepted = ledger.accept_rollback(support::operator(), Vec::new());
    accepted.wait().unwrap();
    run_on(&ledger, "again");
    ledger.stop().unwrap();
    verify(&ledger);
}

fn run_on(ledger: &Ledger, name: &str) {
    let token = reserve(ledger, &call(name, Some(name)));
    ledger.settle(token, succeeded()).wait().unwrap();
}

fn run_one(fixture: &Fixture, name: &str) {
    let ledger = fixture.open();
    run_on(&ledger, name);
    ledger.stop().unwrap();
}

#[test]
fn a_database_that_is_gone_or_an_anchor_that_is_gone_admits_nothing() {
    for lost in ["ledger.db", "anchor"] {
        let fixture = Fixture::new();
        run_one(&fixture, "first");
        fs::remove_file(fixture.folder.path().join(lost)).unwrap();
        let ledger = fixture.open();
        assert!(ledger.rolled_back(), "`{lost}` is gone");
        let said = ledger.reserve(call("c", Some("first")).attempt()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::RolledBack);
    }
    let fixture = Fixture::new();
    run_one(&fixture, "first");
    fs::write(fixture.folder.path().join("anchor"), "garbage").unwrap();
    assert_eq!(fixture.try_open().unwrap_err().code(), "ledger-unavailable");
}

#[test]
#[cfg(unix)]
fn the_files_of_a_ledger_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let ledger = fixture.open();
    drop(reserve(&ledger, &call("c1", Some("pay"))));
    for name in ["ledger.db", "ledger.db-wal", "ledger.db.lock"] {
        let mode = fs::metadata(fixture.folder.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "`{name}` has mode {mode:o}");
    }
}

#[test]
fn a_head_that_does_not_fit_the_last_entry_is_damage() {
    let fixture = Fixture::new();
    run_one(&fixture, "first");
    fixture
        .sql()
        .execute("DELETE FROM entries WHERE sequence = 2", [])
        .unwrap();
    assert_eq!(fixture.try_open().unwrap_err().code(), "ledger-damaged");
}

#[test]
fn a_database_of_a_newer_program_is_left_alone() {
    let fixture = Fixture::new();
    run_one(&fixture, "first");
    fixture
        .sql()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    assert_eq!(fixture.try_open().unwrap_err().code(), "ledger-too-new");
}
