//! Leases: who may still send, and who is given up.

use std::sync::Arc;
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{Draft, Kind, Time};
use countersign_ledger::{Act, Fault, InForce, Ledger, LedgerError, Point, State, Which};

use crate::support::faults::{Failing, Pause, state};
use crate::support::{
    Fixture, Kept, TestClock, agent, call, code, count, execution_id, not_sent, refused, reserve,
    succeeded, verify,
};

/// Long enough for a busy machine, short enough to wait for.
const LEASE: Duration = Duration::from_secs(3);

fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    for _ in 0..800 {
        if seen() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} never came about");
}

/// Wakes a paused writer when the test ends, however it ends: a ledger waits for
/// its writer.
struct Paused(Arc<Pause>);

impl std::ops::Deref for Paused {
    type Target = Pause;

    fn deref(&self) -> &Pause {
        &self.0
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// A replica whose writer can be paused, as if its process were.
fn pausable(fixture: &Fixture, number: u8) -> (Ledger, Arc<TestClock>, Paused) {
    let pause = Arc::<Pause>::default();
    let mut options = fixture.options.clone();
    options.probe = Some(Arc::<Pause>::clone(&pause));
    let (ledger, clock) = fixture.replica_with(number, fixture.postgres(), options);
    (ledger, clock, Paused(pause))
}

fn stop_renewing(ledger: &Ledger, pause: &Pause) {
    pause.at(Point::Taken);
    let draft = Draft::new(Kind::Suppressed, Time::from_micros(0));
    drop(ledger.append(draft, InForce::Unchanged));
    pause.wait_until_it_holds();
}

#[test]
fn a_replica_that_is_gone_is_blocked_after_its_lease_and_never_taken_over() {
    let fixture = Fixture::with_lease(Kept::Postgres, LEASE);
    let (one, _, pause) = pausable(&fixture, 1);
    let (two, _) = fixture.replica(2);
    let (named, nameless) = (
        reserve(&one, &call("c1", Some("pay"))),
        reserve(&one, &call("c2", None)),
    );
    let before = one.incarnation();
    named.gate().pass().unwrap();
    stop_renewing(&one, &pause);
    let said = refused(
        two.reserve(call("c3", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.code, code("in-flight"), "its lease has not run out");
    wait_for("the block", || state(&two, "pay") == Some(State::Blocked));
    let found = two.lookup_call(&"c2".parse().unwrap()).wait().unwrap();
    assert_eq!(
        found.unwrap().record.state,
        State::Settled(Outcome::OutcomeUnknown),
        "nobody can meet it"
    );
    // What it had not sent is not sent any more, though its own writer sleeps.
    assert!(nameless.gate().pass().is_err());
    // It wakes: what it brings is kept and settles nothing, and it begins again.
    pause.wake();
    let said = one.settle(named, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Fenced);
    assert_eq!(
        one.settle(nameless, not_sent()).wait().unwrap_err(),
        LedgerError::Fenced
    );
    wait_for("another incarnation", || one.incarnation() != before);
    let token = reserve(&one, &call("c4", Some("new")));
    token.gate().pass().unwrap();
    one.settle(token, succeeded()).wait().unwrap();
    assert_eq!(state(&two, "pay"), Some(State::Blocked));
    let log = verify(&two);
    assert_eq!(count(&log, &Kind::LateAnswer), 1);
    assert_eq!(count(&log, &Kind::Blocked), 1);
    assert_eq!(count(&log, &Kind::Start), 3);
    let blocked = log.iter().find(|entry| entry.said().kind == Kind::Blocked);
    let blocked = blocked.unwrap();
    assert_eq!(blocked.log_id(), two.log_id(), "by the one who blocked it");
    assert_eq!(blocked.said().refusal, Some(code("owner-lost")));
}

/// Only what is dead may be called not attempted: an owner that was ended can
/// still have bytes on their way.
#[test]
fn an_owner_that_was_ended_is_called_dead_when_two_more_leases_have_gone_by() {
    let fixture = Fixture::with_lease(Kept::Postgres, LEASE);
    let (one, _, pause) = pausable(&fixture, 1);
    let (two, _) = fixture.replica(2);
    let token = reserve(&one, &call("c1", Some("pay")));
    token.gate().pass().unwrap();
    stop_renewing(&one, &pause);
    wait_for("the block", || state(&two, "pay") == Some(State::Blocked));
    let number = one.incarnation().get();
    let run_out = |when: &str| {
        fixture.database().query(&format!(
            "UPDATE countersign.incarnations SET lease_until = clock_timestamp() {when} \
             WHERE number = {number}"
        ));
    };
    let resolve = || {
        let which = Which::Execution(agent("alice"), execution_id("pay"));
        let act = Act::Resolve(Outcome::NotAttempted);
        let draft = Draft::new(Kind::Resolution, Time::from_micros(0));
        two.act(which, act, draft).wait()
    };
    // Its lease has run out, and not for long enough.
    for when in ["+ interval '1 hour'", "- interval '1 microsecond'"] {
        run_out(when);
        assert!(resolve().is_err(), "{when}");
        assert_eq!(state(&two, "pay"), Some(State::Blocked));
    }
    run_out(&format!("- interval '{} seconds'", 2 * LEASE.as_secs() + 1));
    let resolved = resolve().unwrap();
    assert_eq!(resolved.record.state, State::Settled(Outcome::NotAttempted));
    pause.wake();
    let said = one.settle(token, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Fenced);
    verify(&two);
}

#[test]
fn nothing_is_sent_where_less_than_a_third_of_the_lease_is_left() {
    let fixture = Fixture::on(Kept::Postgres);
    let (ledger, clock) = fixture.replica(1);
    let token = reserve(&ledger, &call("c1", Some("pay")));
    let gate = token.gate();
    // The machine was suspended; no other clock would tell.
    clock.sleep(Duration::from_secs(11));
    assert!(gate.pass().is_err());
    assert!(!gate.passed());
    let settled = ledger.settle(token, not_sent()).wait().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::NotAttempted));
    let said = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert!(said.safe_with_new_id);
    // The lease was renewed with that.
    let token = reserve(&ledger, &call("c3", Some("new")));
    token.gate().pass().unwrap();
    verify(&ledger);
}

#[test]
fn a_lease_that_ran_out_unnoticed_is_renewed_and_its_rows_settle() {
    let fixture = Fixture::with_lease(Kept::Postgres, LEASE);
    let (one, _, pause) = pausable(&fixture, 1);
    let token = reserve(&one, &call("c1", Some("pay")));
    token.gate().pass().unwrap();
    stop_renewing(&one, &pause);
    std::thread::sleep(LEASE + Duration::from_millis(500));
    // Nobody else was there to see it.
    let before = one.incarnation();
    pause.wake();
    let settled = one.settle(token, succeeded()).wait().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Succeeded));
    assert_eq!(one.incarnation(), before);
    verify(&one);
}

#[test]
fn a_replica_whose_groups_all_fail_is_there_and_is_not_given_up() {
    let fixture = Fixture::with_lease(Kept::Postgres, LEASE);
    let failing = Arc::<Failing>::default();
    let mut options = fixture.options.clone();
    options.probe = Some(Arc::<Failing>::clone(&failing));
    let (one, _) = fixture.replica_with(1, fixture.postgres(), options);
    let (two, _) = fixture.replica(2);
    let token = reserve(&one, &call("c1", Some("pay")));
    token.gate().pass().unwrap();
    // They have watched each other for long enough.
    std::thread::sleep(LEASE * 2 + Duration::from_millis(500));
    failing.next(&[(Point::Decided, Fault::Error); 1_000]);
    let said = one.settle(token, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Settlement);
    std::thread::sleep(LEASE * 2);
    failing.none();
    let settled = Some(State::Settled(Outcome::Succeeded));
    wait_for("the settlement", || state(&one, "pay") == settled);
    let log = verify(&two);
    assert_eq!(count(&log, &Kind::Blocked), 0);
    assert_eq!(count(&log, &Kind::Start), 2);
}

#[test]
fn a_replica_that_stops_in_good_order_leaves_nothing_to_wait_for() {
    let fixture = Fixture::on(Kept::Postgres);
    let (one, _) = fixture.replica(1);
    let (two, _) = fixture.replica(2);
    let token = reserve(&one, &call("c1", Some("pay")));
    one.stop().unwrap();
    assert!(token.gate().pass().is_err());
    drop(token);
    wait_for("the block", || state(&two, "pay") == Some(State::Blocked));
    let said = refused(
        two.reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.classification, Some(Classification::Blocked));
    verify(&two);
}

#[test]
fn a_claim_after_a_round_is_its_claimers_and_not_the_first_owners() {
    use crate::support::{Call, answer, digest};
    let fixture = Fixture::on(Kept::Postgres);
    let (one, _) = fixture.replica(1);
    let (two, _) = fixture.replica(2);
    let token = reserve(&one, &call("c1", Some("pay")));
    let asked = countersign_ledger::Settlement::Asked {
        issued: Some(digest("s1")),
        answer: answer("?"),
        retained: b"?".to_vec(),
    };
    one.settle(token, asked).wait().unwrap();
    let claim = Call {
        round: Some(("yes", Some("s1"))),
        earlier: Some(Classification::Continuation),
        ..call("c2", Some("pay"))
    };
    let token = reserve(&two, &claim);
    // The first owner leaves; the round goes on all the same.
    one.stop().unwrap();
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(state(&two, "pay"), Some(State::InFlight));
    two.settle(token, succeeded()).wait().unwrap();
    verify(&two);
}
