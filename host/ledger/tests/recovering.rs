//! What a new start finds, and what the lock, the anchor and the migrations
//! keep.

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
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{Draft, EffectBoundary, Kind, Resolution, Time};
use countersign_ledger::{Act, Epochs, InForce, LedgerError, OpenError, Standing, State, Which};
use support::{
    Call, Fixture, agent, call, code, count, digest, entries, execution_id, refused, reserve,
    succeeded, verify,
};

fn pay() -> Which {
    Which::Execution(agent("alice"), execution_id("pay"))
}

fn operator() -> Draft {
    let mut draft = Draft::new(Kind::Resolution, Time::from_micros(0));
    draft.resolution = Some(Resolution {
        operator: "olga".into(),
        reason: "asked the bank".into(),
        evidence: Some(digest("statement.pdf")),
    });
    draft
}

/// Leaves one execution in flight behind a process that is gone.
fn orphan(fixture: &Fixture, id: Option<&str>) {
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", id));
    ledger.stop().unwrap();
    // The queue is closed: what is dropped now is never settled.
    drop(token);
}

#[test]
fn what_an_earlier_incarnation_left_in_flight_is_blocked_and_never_fresh() {
    let fixture = Fixture::new();
    orphan(&fixture, Some("pay"));
    let ledger = fixture.open();
    let execution = ledger
        .lookup(&agent("alice"), &execution_id("pay"))
        .unwrap()
        .unwrap();
    assert_eq!(execution.record.state, State::Blocked);
    assert_eq!(
        execution.record.boundary,
        EffectBoundary::TransportMayHaveStarted
    );
    assert_eq!(ledger.list(Standing::Blocked, 0, 10).unwrap().len(), 1);
    let said = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.classification, Some(Classification::Blocked));
    assert!(!said.safe_with_new_id);
    let log = verify(&ledger);
    let blocked = log
        .iter()
        .find(|entry| entry.said().kind == Kind::Blocked)
        .unwrap();
    assert_eq!(blocked.said().refusal, Some(code("owner-lost")));
    assert_eq!(blocked.said().binding, Some(digest("transfer 5")));
    assert_eq!(count(&log, &Kind::Start), 2);
    drop(ledger);
    // A third start finds nothing in flight, and blocks nothing twice.
    let log = verify(&fixture.open());
    assert_eq!(count(&log, &Kind::Blocked), 1);
}

#[test]
fn an_attempt_without_identifier_gets_its_terminal_entry_at_recovery() {
    let fixture = Fixture::new();
    orphan(&fixture, None);
    let ledger = fixture.open();
    let execution = ledger.lookup_call(&"c1".parse().unwrap()).unwrap().unwrap();
    assert_eq!(
        execution.record.state,
        State::Settled(Outcome::OutcomeUnknown)
    );
    let log = verify(&ledger);
    let terminal = log
        .iter()
        .find(|entry| entry.said().kind == Kind::Terminal)
        .unwrap();
    assert_eq!(terminal.said().refusal, Some(code("owner-lost")));
    assert_eq!(count(&log, &Kind::Blocked), 0);
}

#[test]
fn an_operator_moves_a_blocked_execution_to_an_outcome_and_it_stays_used() {
    let fixture = Fixture::new();
    orphan(&fixture, Some("pay"));
    let ledger = fixture.open();
    let act = |act| ledger.act(pay(), act, operator()).wait();
    let resolved = act(Act::Resolve(Outcome::Succeeded)).unwrap();
    assert_eq!(resolved.record.state, State::Settled(Outcome::Succeeded));
    let beside = act(Act::Resolve(Outcome::ToolError)).unwrap();
    assert_eq!(
        beside.record.state,
        State::Settled(Outcome::Succeeded),
        "the first one stays"
    );
    let said = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(
        said.classification,
        Some(Classification::Replay(Outcome::Succeeded))
    );
    let log = verify(&ledger);
    let resolution = log
        .iter()
        .find(|entry| entry.said().kind == Kind::Resolution)
        .unwrap();
    assert_eq!(
        resolution.said().resolution.as_ref().unwrap().operator,
        "olga"
    );
    assert_eq!(resolution.said().tool.as_deref(), Some("transfer"));
    let unknown = Which::Call("nobody".parse().unwrap());
    let said = ledger.act(unknown, Act::Abandon, operator()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::NotFound);
}

#[test]
fn nobody_but_a_dead_owner_can_be_said_to_have_sent_nothing() {
    let fixture = Fixture::new();
    orphan(&fixture, Some("pay"));
    let ledger = fixture.open();
    // The owner of this one lives, and is in flight: not an operator's to move.
    let token = reserve(&ledger, &call("c2", Some("live")));
    let live = Which::Execution(agent("alice"), execution_id("live"));
    for outcome in [Outcome::NotAttempted, Outcome::Succeeded] {
        let said = ledger
            .act(live.clone(), Act::Resolve(outcome), operator())
            .wait();
        assert!(matches!(said, Err(LedgerError::Illegal(_))));
    }
    drop(token);
    let resolved = ledger
        .act(pay(), Act::Resolve(Outcome::NotAttempted), operator())
        .wait();
    assert_eq!(
        resolved.unwrap().record.state,
        State::Settled(Outcome::NotAttempted)
    );
    verify(&ledger);
}

#[test]
fn an_owner_that_was_fenced_settles_nothing_and_its_answer_is_kept() {
    let fixture = Fixture::new();
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    token.gate().pass().unwrap();
    // As a sweeper of another replica would: the row is blocked, the fence up.
    fixture
        .sql()
        .execute(
            "UPDATE executions SET state = 'blocked', fence = fence + 1",
            [],
        )
        .unwrap();
    let said = ledger.settle(token, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Fenced);
    let execution = ledger
        .lookup(&agent("alice"), &execution_id("pay"))
        .unwrap()
        .unwrap();
    assert_eq!(execution.record.state, State::Blocked);
    let log = verify(&ledger);
    let late = log
        .iter()
        .find(|entry| entry.said().kind == Kind::LateAnswer)
        .unwrap();
    assert_eq!(late.said().outcome, Some(Outcome::Succeeded));
    assert_eq!(late.said().answer_digest, Some(digest("done")));
    let adopted = ledger
        .act(pay(), Act::Resolve(Outcome::Succeeded), operator())
        .wait();
    assert_eq!(
        adopted.unwrap().record.state,
        State::Settled(Outcome::Succeeded)
    );
    verify(&ledger);
}

#[test]
#[ignore = "runs in a process of its own, which the test below starts"]
fn child_opens() {
    let options = support::options_in(std::path::Path::new("."));
    let clock = std::sync::Arc::<support::TestClock>::default();
    let said = match countersign_ledger::Ledger::open_sqlite(options, clock, support::key()) {
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
        let newest = ledger.newest_checkpoint().unwrap().unwrap();
        assert_eq!(
            newest.size,
            start * 3,
            "the last checkpoint covers everything"
        );
        verify(&ledger);
    }
    let other = countersign_evidence::key::SigningKey::from_seed(
        countersign_evidence::LogId::new("ledger.test/2").unwrap(),
        &[8; 32],
    );
    let clock = std::sync::Arc::<support::TestClock>::default();
    let said =
        countersign_ledger::Ledger::open_sqlite(fixture.options.clone(), clock, other).unwrap_err();
    assert_eq!(said.code(), "ledger-other-log");
}

#[test]
fn checkpoints_are_cut_while_entries_arrive_and_before_an_export() {
    let fixture = Fixture::new();
    let ledger = fixture.open();
    drop(reserve(&ledger, &call("c1", None)));
    let size = ledger.checkpoint().wait().unwrap();
    assert_eq!(size, ledger.head().unwrap().size);
    assert_eq!(ledger.newest_checkpoint().unwrap().unwrap().size, size);
    fixture.clock.advance(Duration::from_secs(5));
    drop(reserve(&ledger, &call("c2", None)));
    ledger.checkpoint().wait().unwrap();
    assert!(ledger.checkpoints(0, 100).unwrap().len() >= 2);
    verify(&ledger);
}

/// Copies the database, as a backup would, while the ledger is closed.
fn backup(fixture: &Fixture) -> Vec<u8> {
    fs::read(fixture.path()).unwrap()
}

fn run_one(fixture: &Fixture, name: &str) {
    let ledger = fixture.open();
    let token = reserve(&ledger, &call(name, Some(name)));
    ledger.settle(token, succeeded()).wait().unwrap();
    ledger.stop().unwrap();
}

#[test]
fn a_database_that_was_restored_from_a_backup_admits_nothing() {
    let fixture = Fixture::new();
    run_one(&fixture, "first");
    let old = backup(&fixture);
    run_one(&fixture, "second");
    fs::write(fixture.path(), old).unwrap();
    let ledger = fixture.open();
    assert!(ledger.rolled_back());
    let attempt = call("c", Some("second")).attempt();
    assert_eq!(
        ledger.reserve(attempt.clone()).wait().unwrap_err(),
        LedgerError::RolledBack
    );
    assert_eq!(
        ledger.refuse(attempt, None).wait().unwrap_err(),
        LedgerError::RolledBack
    );
    let draft = Draft::new(Kind::Start, Time::from_micros(0));
    let said = ledger.append(draft, InForce::Unchanged).wait();
    assert_eq!(said.unwrap_err(), LedgerError::RolledBack);
    assert_eq!(
        count(
            &entries(&ledger, &countersign_ledger::Selection::All),
            &Kind::Start
        ),
        1
    );
    // Nothing was written: the real database, put back, goes on.
    verify(&ledger);
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
fn a_restored_database_that_grew_again_is_still_found_out() {
    let fixture = Fixture::new();
    run_one(&fixture, "first");
    let (old, old_anchor) = (
        backup(&fixture),
        fs::read(fixture.folder.path().join("anchor")).unwrap(),
    );
    run_one(&fixture, "second");
    let anchor = fs::read(fixture.folder.path().join("anchor")).unwrap();
    // Someone ran it with the backup's own anchor, past the size of the other.
    fs::write(fixture.path(), old).unwrap();
    fs::write(fixture.folder.path().join("anchor"), old_anchor).unwrap();
    for name in ["third", "fourth", "fifth"] {
        run_one(&fixture, name);
    }
    fs::write(fixture.folder.path().join("anchor"), anchor).unwrap();
    assert!(
        fixture.open().rolled_back(),
        "it is longer, and another log"
    );
}

#[test]
fn an_anchor_that_cannot_be_written_stops_admission_until_it_can() {
    let fixture = Fixture::new();
    let ledger = fixture.open();
    let open = reserve(&ledger, &call("c1", Some("a")));
    let anchor = fixture.folder.path().join("anchor");
    let beside = fixture.folder.path().join("anchor.new");
    fs::remove_file(&anchor).unwrap();
    fs::create_dir(&anchor).unwrap();
    fs::create_dir(anchor.join("in the way")).unwrap();
    assert_eq!(
        ledger.checkpoint().wait().unwrap_err(),
        LedgerError::Unavailable
    );
    let said = ledger.reserve(call("c2", Some("b")).attempt()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
    // What is open already still settles.
    ledger.settle(open, succeeded()).wait().unwrap();
    fs::remove_dir_all(&anchor).unwrap();
    assert!(!beside.is_dir());
    ledger.checkpoint().wait().unwrap();
    drop(reserve(&ledger, &call("c3", Some("b"))));
    verify(&ledger);
}

#[test]
fn an_explanation_never_says_more_than_the_record_holds() {
    use countersign_ledger::explain;
    let fixture = Fixture::new();
    orphan(&fixture, Some("pay"));
    let ledger = fixture.open();
    let of = || {
        let execution = ledger
            .lookup(&agent("alice"), &execution_id("pay"))
            .unwrap()
            .unwrap();
        explain(&execution, &[])
    };
    let blocked = of();
    assert!(
        blocked
            .unknown
            .iter()
            .any(|line| line.contains("any byte of the request left"))
    );
    assert!(
        blocked
            .next
            .iter()
            .any(|line| line.contains("`transfer` for call `c1`"))
    );
    assert!(
        !blocked
            .known
            .iter()
            .any(|line| line.contains("nothing was sent under"))
    );
    ledger
        .act(pay(), Act::Resolve(Outcome::Succeeded), operator())
        .wait()
        .unwrap();
    let settled = of();
    assert!(settled.known.contains(&"outcome: `succeeded`".to_owned()));
    assert_eq!(
        settled.unknown.len(),
        1,
        "that it happened is the upstream's word"
    );
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

#[test]
fn a_claim_survives_a_restart_and_its_state_stays_bound_to_its_agent() {
    let fixture = Fixture::new();
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    let asked = countersign_ledger::Settlement::Asked {
        issued: Some(digest("s1")),
        answer: support::answer("?"),
        retained: b"?".to_vec(),
    };
    ledger.settle(token, asked).wait().unwrap();
    drop(ledger);
    let ledger = fixture.open();
    let said = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.retained.as_deref(), Some(b"?".as_slice()));
    let claim = Call {
        round: Some(("yes", Some("s1"))),
        earlier: Some(Classification::Continuation),
        epochs: Epochs::default(),
        ..call("c3", Some("pay"))
    };
    let token = reserve(&ledger, &claim);
    ledger.settle(token, succeeded()).wait().unwrap();
    let abandoned = ledger.act(pay(), Act::Abandon, operator()).wait();
    assert!(abandoned.is_err(), "a settled execution is not abandoned");
    verify(&ledger);
}
