//! What a new start finds, what an operator may do about it, and what the
//! anchor keeps.

use std::fs;
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{Draft, EffectBoundary, Kind, Time};
use countersign_ledger::{
    Act, InForce, Ledger, LedgerError, Selection, Standing, State, Token, Which, explain,
};

use crate::support::{
    Fixture, Kept, agent, call, code, count, digest, entries, execution_id, operator, orphan, pay,
    refused, reserve, succeeded, verify,
};

pub fn what_an_earlier_incarnation_left_in_flight_is_blocked_and_never_fresh(kept: Kept) {
    let fixture = Fixture::on(kept);
    orphan(&fixture, Some("pay"));
    let ledger = fixture.open();
    let execution = ledger
        .lookup(&agent("alice"), &execution_id("pay"))
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(execution.record.state, State::Blocked);
    assert_eq!(
        execution.record.boundary,
        EffectBoundary::TransportMayHaveStarted
    );
    assert_eq!(
        ledger.list(Standing::Blocked, 0, 10).wait().unwrap().len(),
        1
    );
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

pub fn an_attempt_without_identifier_gets_its_terminal_entry_at_recovery(kept: Kept) {
    let fixture = Fixture::on(kept);
    orphan(&fixture, None);
    let ledger = fixture.open();
    let execution = ledger
        .lookup_call(&"c1".parse().unwrap())
        .wait()
        .unwrap()
        .unwrap();
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

pub fn an_operator_moves_a_blocked_execution_to_an_outcome_and_it_stays_used(kept: Kept) {
    let fixture = Fixture::on(kept);
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

pub fn nobody_but_a_dead_owner_can_be_said_to_have_sent_nothing(kept: Kept) {
    let fixture = Fixture::with_lease(kept, Duration::from_secs(2));
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
    fixture.wait_until_the_gone_are_proved_dead();
    let resolved = ledger
        .act(pay(), Act::Resolve(Outcome::NotAttempted), operator())
        .wait();
    assert_eq!(
        resolved.unwrap().record.state,
        State::Settled(Outcome::NotAttempted)
    );
    verify(&ledger);
}

pub fn an_owner_that_was_fenced_settles_nothing_and_its_answer_is_kept(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    token.gate().pass().unwrap();
    // As a sweeper of another replica would: the row is blocked, the fence up.
    fixture.tamper("UPDATE executions SET state = 'blocked', fence = fence + 1");
    let said = ledger.settle(token, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Fenced);
    let execution = ledger
        .lookup(&agent("alice"), &execution_id("pay"))
        .wait()
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

pub fn checkpoints_are_cut_while_entries_arrive_and_before_an_export(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    drop(reserve(&ledger, &call("c1", None)));
    let size = ledger.checkpoint().wait().unwrap();
    assert_eq!(size, ledger.head().wait().unwrap().size);
    assert_eq!(
        ledger.newest_checkpoint().wait().unwrap().unwrap().size,
        size
    );
    fixture.clock.advance(Duration::from_secs(5));
    drop(reserve(&ledger, &call("c2", None)));
    ledger.checkpoint().wait().unwrap();
    assert!(ledger.checkpoints(0, 100).wait().unwrap().len() >= 2);
    verify(&ledger);
}

fn run_one(fixture: &Fixture, name: &str) {
    let ledger = fixture.open();
    let token = reserve(&ledger, &call(name, Some(name)));
    ledger.settle(token, succeeded()).wait().unwrap();
    ledger.stop().unwrap();
}

pub fn a_database_that_was_restored_from_a_backup_admits_nothing(kept: Kept) {
    let fixture = Fixture::on(kept);
    run_one(&fixture, "first");
    let old = fixture.backup();
    run_one(&fixture, "second");
    fixture.restore(&old);
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
    assert_eq!(count(&entries(&ledger, &Selection::All), &Kind::Start), 1);
    // Nothing was written: the real database, put back, goes on.
    verify(&ledger);
}

pub fn a_restored_database_admits_again_once_an_operator_has_accepted_it_with_an_entry(kept: Kept) {
    let fixture = Fixture::on(kept);
    run_one(&fixture, "first");
    let old = fixture.backup();
    run_one(&fixture, "second");
    fixture.restore(&old);
    let ledger = fixture.open();
    let accept = || ledger.accept_rollback(operator(), Vec::new()).wait();
    let (place, _) = accept().unwrap();
    assert!(!ledger.rolled_back());
    let log = verify(&ledger);
    let entry = log
        .iter()
        .find(|entry| entry.said().kind == Kind::Rollback)
        .unwrap();
    assert_eq!(
        (entry.sequence(), entry.hash()),
        (place.sequence, place.hash)
    );
    let stated = entry.said().resolution.clone().unwrap();
    assert_eq!(stated.operator, "olga");
    assert!(
        stated
            .reason
            .starts_with("asked the bank [the anchor named")
    );
    // It goes on as after any other start, and cannot be accepted twice.
    assert_eq!(accept().unwrap_err(), LedgerError::NotRolledBack);
    drop(reserve(&ledger, &call("third", Some("third"))));
    ledger.stop().unwrap();
    drop(ledger);
    let ledger = fixture.open();
    assert!(!ledger.rolled_back(), "the anchor has moved");
    verify(&ledger);
}

pub fn a_restored_database_that_grew_again_is_still_found_out(kept: Kept) {
    let fixture = Fixture::on(kept);
    run_one(&fixture, "first");
    let (old, old_anchor) = (
        fixture.backup(),
        fs::read(fixture.folder.path().join("anchor")).unwrap(),
    );
    run_one(&fixture, "second");
    let anchor = fs::read(fixture.folder.path().join("anchor")).unwrap();
    // Someone ran it with the backup's own anchor, past the size of the other.
    fixture.restore(&old);
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

/// What may be asked of a ledger.
const ASKED: [&str; 5] = ["reserve", "settle", "append", "resolve", "checkpoint"];

/// Asks one of them; how it was refused.
fn ask(ledger: &Ledger, what: &str, token: Token) -> Option<LedgerError> {
    match what {
        // Used before, and lost: it looks new.
        "reserve" => ledger
            .reserve(call("c9", Some("used")).attempt())
            .wait()
            .err(),
        "settle" => ledger.settle(token, succeeded()).wait().err(),
        "append" => {
            let draft = Draft::new(Kind::Start, Time::from_micros(0));
            ledger.append(draft, InForce::Unchanged).wait().err()
        }
        "resolve" => ledger
            .act(pay(), Act::Resolve(Outcome::Succeeded), operator())
            .wait()
            .err(),
        _ => ledger.checkpoint().wait().err(),
    }
}

pub fn a_store_that_goes_back_behind_a_connection_that_holds_writes_nothing_more(kept: Kept) {
    for what in ASKED {
        let fixture = Fixture::on(kept);
        orphan(&fixture, Some("pay"));
        let ledger = fixture.open();
        let open = reserve(&ledger, &call("c2", Some("open")));
        open.gate().pass().unwrap();
        ledger.checkpoint().wait().unwrap();
        fixture.copy_in_place();
        let size = ledger.head().wait().unwrap().size;
        let used = reserve(&ledger, &call("c3", Some("used")));
        ledger.settle(used, succeeded()).wait().unwrap();
        fixture.put_back_in_place();
        let said = ask(&ledger, what, open);
        assert!(said.is_some(), "`{what}` is carried out on the older store");
        assert!(ledger.rolled_back(), "`{what}`: {said:?}");
        assert!(!ledger.admits());
        for other in ASKED.iter().filter(|other| **other != "settle") {
            let idle = ledger.reserve(call("c8", None).attempt()).wait();
            assert_eq!(idle.unwrap_err(), LedgerError::RolledBack);
            let said = ledger
                .refuse(call("c7", Some("used")).attempt(), None)
                .wait();
            assert_eq!(said.unwrap_err(), LedgerError::RolledBack, "{other}");
        }
        assert_eq!(
            ledger.head().wait().unwrap().size,
            size,
            "`{what}` has grown it"
        );
        // Another start takes the older store for no whole one either.
        drop(ledger.stop());
        drop(ledger);
        let ledger = fixture.open();
        assert!(ledger.rolled_back(), "`{what}`, started again");
        // It goes on once an operator has accepted it.
        let accepted = ledger.accept_rollback(operator(), Vec::new()).wait();
        accepted.unwrap();
        drop(reserve(&ledger, &call("c4", Some("used"))));
        let log = verify(&ledger);
        assert_eq!(count(&log, &Kind::Rollback), 1);
        ledger.stop().unwrap();
        drop(ledger);
        let ledger = fixture.open();
        assert!(!ledger.rolled_back(), "`{what}`");
        verify(&ledger);
    }
}

pub fn what_was_lost_settles_nothing_that_was_admitted_after_it_was_accepted(kept: Kept) {
    // The same identifier, and another one, take the numbers that were lost.
    for again in ["used", "other"] {
        let fixture = Fixture::on(kept);
        run_one(&fixture, "first");
        let ledger = fixture.open();
        ledger.checkpoint().wait().unwrap();
        ledger.stop().unwrap();
        drop(ledger);
        let ledger = fixture.open();
        fixture.copy_in_place();
        let lost = reserve(&ledger, &call("c1", Some("used")));
        lost.gate().pass().unwrap();
        let unsent = reserve(&ledger, &call("c9", Some("unsent")));
        fixture.put_back_in_place();
        drop(ledger.refuse(call("c2", Some("x")).attempt(), None).wait());
        assert!(ledger.rolled_back());
        let accepted = ledger.accept_rollback(operator(), Vec::new()).wait();
        accepted.unwrap();
        assert!(unsent.gate().pass().is_err(), "a permit of what is lost");
        // As if every number were given again.
        let new = reserve(&ledger, &call("c3", Some(again)));
        let taken = "UPDATE executions SET owner = owner - 1 WHERE call_id = 'c3'";
        if kept == Kept::Sqlite {
            fixture.tamper(taken);
        }
        let said = ledger.settle(lost, succeeded()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::NotFound);
        let execution = ledger.lookup_call(&"c3".parse().unwrap()).wait().unwrap();
        assert_eq!(execution.unwrap().record.state, State::InFlight);
        drop(new);
    }
}

pub fn an_anchor_that_cannot_be_written_stops_admission_until_it_can(kept: Kept) {
    let fixture = Fixture::on(kept);
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
    assert!(!ledger.admits());
    // What is open already still settles.
    ledger.settle(open, succeeded()).wait().unwrap();
    fs::remove_dir_all(&anchor).unwrap();
    assert!(!beside.is_dir());
    ledger.checkpoint().wait().unwrap();
    drop(reserve(&ledger, &call("c3", Some("b"))));
    assert!(ledger.admits());
    verify(&ledger);
}

pub fn an_explanation_never_says_more_than_the_record_holds(kept: Kept) {
    let fixture = Fixture::on(kept);
    orphan(&fixture, Some("pay"));
    let ledger = fixture.open();
    let of = || {
        let execution = ledger
            .lookup(&agent("alice"), &execution_id("pay"))
            .wait()
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
