//! The whole check of a database, and backups of one that is written: what
//! fits is called sound, and each kind of damage is found and placed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use countersign_canon::Outcome;
use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::key::SigningKey;
use countersign_evidence::{Draft, Kind, Resolution, Time};
use countersign_ledger::{Act, Checked, InForce, Ledger, LedgerError, Which, check_sqlite};
use support::{Fixture, agent, call, execution_id, key, reserve, succeeded, verify};

/// A ledger with settled, blocked and open executions.
fn some() -> Fixture {
    let fixture = Fixture::new();
    let ledger = fixture.open();
    for name in ["a", "b", "c"] {
        let token = reserve(&ledger, &call(name, Some(name)));
        ledger.settle(token, succeeded()).wait().unwrap();
    }
    let lost = reserve(&ledger, &call("lost", Some("lost")));
    std::mem::forget(lost);
    ledger.stop().unwrap();
    drop(ledger);
    let ledger = fixture.open();
    verify(&ledger);
    ledger.stop().unwrap();
    fixture
}

fn checked(fixture: &Fixture) -> Checked {
    let key = key().verifying_key();
    let anchor = fixture.options.anchor.clone();
    check_sqlite(&fixture.path(), Some(&key), Some(&anchor), &mut |_| {}).unwrap()
}

#[test]
fn a_whole_database_is_sound_and_every_part_of_it_was_looked_at() {
    let fixture = some();
    let mut steps = Vec::new();
    let checked = check_sqlite(&fixture.path(), None, None, &mut |at| {
        assert!(at.done <= at.of, "{at:?}");
        if steps.last() != Some(&at.step.as_str()) {
            steps.push(at.step.as_str());
        }
    })
    .unwrap();
    assert!(checked.is_sound(), "{checked:?}");
    assert_eq!(steps, ["pages", "entries", "executions"]);
    assert_eq!(checked.executions, 4);
    assert!(
        checked.entries >= 10 && checked.checkpoints >= 2,
        "{checked:?}"
    );
    assert!(self::checked(&fixture).is_sound());
}

#[test]
fn each_kind_of_damage_is_found_where_it_is() {
    // An entry in the middle of the log that belongs to an execution.
    let entry = "(SELECT max(sequence) FROM entries WHERE execution = (SELECT number FROM executions WHERE call_id = 'b'))";
    let cases = [
        (
            "an entry's bytes",
            format!("UPDATE entries SET bytes = CAST(replace(CAST(bytes AS TEXT), 'succeeded', 'succeedee') AS BLOB) WHERE sequence = {entry}"),
            "entry ",
        ),
        (
            "an entry's hash",
            format!("UPDATE entries SET hash = zeroblob(32) WHERE sequence = {entry}"),
            "entry ",
        ),
        (
            "an entry that is gone",
            format!("DELETE FROM entries WHERE sequence = {entry}"),
            "entry ",
        ),
        (
            "the newest entry that is gone",
            "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)".to_owned(),
            "ledger",
        ),
        (
            "an entry on another chain",
            format!("UPDATE entries SET execution = 1 WHERE sequence = {entry}"),
            "execution of call `a`",
        ),
        (
            "a row's tip",
            "UPDATE executions SET last_hash = zeroblob(32) WHERE call_id = 'c'".to_owned(),
            "execution of call `c`",
        ),
        (
            "a row's length",
            "UPDATE executions SET chain_length = 9 WHERE call_id = 'c'".to_owned(),
            "execution of call `c`",
        ),
        (
            "a row's owner",
            "INSERT INTO agents (method, issuer, subject) VALUES ('token', '', 'mallory'); \
             UPDATE executions SET agent = last_insert_rowid() WHERE call_id = 'c'"
                .to_owned(),
            "execution of call `c`",
        ),
        (
            "a settled row made open",
            "UPDATE executions SET state = 'blocked', outcome = NULL WHERE call_id = 'c'".to_owned(),
            "execution of call `c`",
        ),
        (
            "a row that is gone",
            "PRAGMA foreign_keys = OFF; DELETE FROM executions WHERE call_id = 'b'".to_owned(),
            "sqlite",
        ),
        (
            "what an agent holds",
            "UPDATE agents SET held = 0".to_owned(),
            "agent `alice`",
        ),
        (
            "a checkpoint",
            "UPDATE checkpoints SET text = replace(text, char(10), char(13)) WHERE size = (SELECT max(size) FROM checkpoints)".to_owned(),
            "checkpoint ",
        ),
        (
            "a checkpoint of more",
            "UPDATE checkpoints SET size = 1000 WHERE size = (SELECT max(size) FROM checkpoints)"
                .to_owned(),
            "checkpoints",
        ),
        (
            "the head",
            "UPDATE ledger SET head = zeroblob(length(head))".to_owned(),
            "ledger",
        ),
    ];
    for (name, sql, place) in cases {
        let fixture = some();
        fixture.sql().execute_batch(&sql).unwrap();
        let checked = checked(&fixture);
        assert!(!checked.is_sound(), "{name}");
        assert!(
            checked
                .findings
                .iter()
                .any(|finding| finding.place.starts_with(place)),
            "{name}: {:?}",
            checked.findings
        );
    }
}

#[test]
fn a_database_behind_its_anchor_or_signed_by_another_is_found_out() {
    let fixture = some();
    let backup = fixture.folder.path().join("backup.db");
    let ledger = fixture.open();
    ledger.backup(&backup).unwrap();
    let token = reserve(&ledger, &call("later", Some("later")));
    ledger.settle(token, succeeded()).wait().unwrap();
    ledger.stop().unwrap();
    let anchor = fixture.options.anchor.clone();
    let found = check_sqlite(&backup, None, Some(&anchor), &mut |_| {}).unwrap();
    assert_eq!(found.found, 1, "{found:?}");
    assert_eq!(found.findings[0].place, "anchor");
    let stranger = SigningKey::from_seed(support::log_id(), &[8; 32]);
    let stranger = stranger.verifying_key();
    let found = check_sqlite(&fixture.path(), Some(&stranger), None, &mut |_| {}).unwrap();
    assert!(found.found > 0);
    assert!(
        found
            .findings
            .iter()
            .all(|finding| finding.what.contains("not signed"))
    );
    let nowhere = fixture.folder.path().join("nowhere.db");
    assert!(check_sqlite(&nowhere, None, None, &mut |_| {}).is_err());
    assert!(!nowhere.exists(), "a check makes no file");
}

/// A key of the same log.
fn nth(seed: u8) -> SigningKey {
    SigningKey::from_seed(support::log_id(), &[seed; 32])
}

/// A log that went on under two more keys, with a checkpoint of each and calls
/// between.
fn rotated() -> (Fixture, [SigningKey; 3]) {
    let fixture = some();
    let keys = || [key(), nth(8), nth(9)];
    for (number, signs) in keys().into_iter().enumerate() {
        let options = fixture.options.clone();
        let old = keys().into_iter().nth(number).unwrap();
        let ledger = Ledger::open_sqlite(options, fixture.clock.clone(), signs).unwrap();
        let name = format!("under-{number}");
        let token = reserve(&ledger, &call(name.clone(), Some(&name)));
        ledger.settle(token, succeeded()).wait().unwrap();
        ledger.checkpoint().wait().unwrap();
        if let Some(next) = keys().get(number + 1) {
            let mut draft = Draft::new(Kind::KeyRotated, Time::from_micros(0));
            draft.key = Some(old.rotate(&next.verifying_key()));
            ledger.append(draft, InForce::Unchanged).wait().unwrap();
        }
        ledger.stop().unwrap();
    }
    (fixture, keys())
}

#[test]
fn a_log_that_changed_its_key_is_sound_by_its_last_key_alone() {
    let (fixture, keys) = rotated();
    let by = |key: &SigningKey| {
        check_sqlite(
            &fixture.path(),
            Some(&key.verifying_key()),
            None,
            &mut |_| {},
        )
        .unwrap()
    };
    let [first, second, last] = &keys;
    let sound = by(last);
    assert!(sound.is_sound(), "{sound:?}");
    assert!(sound.checkpoints >= 5, "{sound:?}");
    for not_now in [first, second, &nth(10)] {
        let found = by(not_now);
        let place = &found.findings[0].place;
        let what = &found.findings[0].what;
        assert!(place.starts_with("entry "), "{found:?}");
        assert!(what.contains("hand over"), "{found:?}");
    }
}

#[test]
fn a_checkpoint_signed_by_a_key_that_was_not_in_force_is_found() {
    // The newest checkpoint before a rotation, and the first one behind the last.
    let of_size = [
        ("a key before its time", "ORDER BY size LIMIT 1", 2),
        ("a key that was given up", "ORDER BY size DESC LIMIT 1", 0),
        ("the one before", "ORDER BY size DESC LIMIT 1", 1),
    ];
    for (name, which, by) in of_size {
        let (fixture, keys) = rotated();
        let select = format!("SELECT size, text FROM checkpoints {which}");
        let (size, text): (i64, String) = fixture
            .sql()
            .query_row(&select, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        let said = SignedCheckpoint::parse(&text).unwrap().unverified().clone();
        let other = said.sign(&keys[by]);
        fixture
            .sql()
            .execute(
                "UPDATE checkpoints SET text = ?1 WHERE size = ?2",
                (other, size),
            )
            .unwrap();
        let last = keys[2].verifying_key();
        let found = check_sqlite(&fixture.path(), Some(&last), None, &mut |_| {}).unwrap();
        assert_eq!(found.found, 1, "{name}: {found:?}");
        assert_eq!(found.findings[0].place, format!("checkpoint {size}"));
    }
}

#[test]
fn a_backup_of_a_ledger_that_is_written_meanwhile_is_of_one_moment_and_whole() {
    let fixture = Fixture::new();
    let ledger = fixture.open();
    // Long enough that the copy takes many steps.
    for number in 0..1_500 {
        let name = format!("before-{number}");
        let token = reserve(&ledger, &call(name.clone(), Some(&name)));
        drop(ledger.settle(token, succeeded()));
    }
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writing = {
        let (ledger, stop) = (ledger.clone(), stop.clone());
        std::thread::spawn(move || {
            let mut number = 0;
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                let name = format!("during-{number}");
                let token = reserve(&ledger, &call(name.clone(), Some(&name)));
                ledger.settle(token, succeeded()).wait().unwrap();
                number += 1;
            }
            number
        })
    };
    let backup = fixture.folder.path().join("backup.db");
    let mut made = 0;
    for _ in 0..3 {
        drop(std::fs::remove_file(&backup));
        assert!(ledger.backup(&backup).unwrap() > 1 << 20);
        let checked = check_sqlite(&backup, Some(&key().verifying_key()), None, &mut |_| {});
        let checked = checked.unwrap();
        assert!(checked.is_sound(), "{checked:?}");
        assert!(checked.executions >= 1_500 && checked.executions > made);
        made = checked.executions;
    }
    stop.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(writing.join().unwrap() > 0, "it went on meanwhile");
    assert!(ledger.backup(&backup).is_err(), "no file is overwritten");
    let nowhere = fixture.folder.path().join("no/such/folder/backup.db");
    assert!(ledger.backup(&nowhere).is_err());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&backup).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    verify(&ledger);
}

fn accepting() -> Draft {
    let mut draft = Draft::new(Kind::Rollback, Time::from_micros(0));
    draft.resolution = Some(Resolution {
        operator: "uid:7".into(),
        reason: "the disk is lost".into(),
        evidence: None,
    });
    draft
}

#[test]
fn a_restored_backup_admits_nothing_until_an_operator_accepts_the_rollback_with_an_entry() {
    let fixture = some();
    let backup = fixture.folder.path().join("backup.db");
    let ledger = fixture.open();
    ledger.backup(&backup).unwrap();
    let token = reserve(&ledger, &call("later", Some("later")));
    ledger.settle(token, succeeded()).wait().unwrap();
    let lost = ledger.head().wait().unwrap();
    ledger.stop().unwrap();
    drop(ledger);
    for ending in ["-wal", "-shm"] {
        let mut name = fixture.path().into_os_string();
        name.push(ending);
        drop(std::fs::remove_file(name));
    }
    std::fs::copy(&backup, fixture.path()).unwrap();

    let ledger = fixture.open();
    assert!(ledger.rolled_back());
    let refused = ledger.reserve(call("x", Some("later")).attempt()).wait();
    assert_eq!(refused.unwrap_err(), LedgerError::RolledBack);
    let lost_row = Which::Execution(agent("alice"), execution_id("lost"));
    let acted = ledger
        .act(
            lost_row.clone(),
            Act::Resolve(Outcome::Succeeded),
            accepting(),
        )
        .wait();
    assert_eq!(acted.unwrap_err(), LedgerError::RolledBack);

    let (place, _) = ledger
        .accept_rollback(accepting(), Vec::new())
        .wait()
        .unwrap();
    assert!(!ledger.rolled_back());
    let entries = verify(&ledger);
    let entry = entries
        .iter()
        .find(|entry| entry.said().kind == Kind::Rollback)
        .unwrap();
    assert_eq!(
        (entry.sequence(), entry.hash()),
        (place.sequence, place.hash)
    );
    let stated = entry.said().resolution.clone().unwrap();
    assert_eq!(stated.operator, "uid:7");
    assert!(stated.reason.starts_with("the disk is lost"));
    let named = format!("{} entries", lost.size);
    assert!(stated.reason.contains(&named), "{}", stated.reason);

    // It goes on as any other start does, and cannot be accepted twice.
    let token = reserve(&ledger, &call("y", Some("new")));
    ledger.settle(token, succeeded()).wait().unwrap();
    let again = ledger.accept_rollback(accepting(), Vec::new()).wait();
    assert_eq!(again.unwrap_err(), LedgerError::NotRolledBack);
    ledger
        .act(lost_row, Act::Resolve(Outcome::Succeeded), accepting())
        .wait()
        .unwrap();
    ledger.stop().unwrap();
    drop(ledger);
    let ledger = fixture.open();
    assert!(!ledger.rolled_back(), "the anchor has moved");
    verify(&ledger);
    assert!(checked(&fixture).is_sound());
}
