//! Several replicas on one database.

use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::Kind;
use countersign_ledger::{
    Act, Answered, LedgerError, Point, Selection, Settlement, State, Verdict,
};

use crate::support::faults::Pause;
use crate::support::{
    Call, Fixture, Kept, answer, call, code, count, digest, entries_of, operator, pay, refused,
    reserve, reserved, succeeded, verify,
};

#[test]
fn of_many_that_race_on_three_replicas_one_is_fresh_and_every_refusal_is_in_a_log() {
    let fixture = Fixture::on(Kept::Postgres);
    let replicas: Vec<_> = (1..=3).map(|number| fixture.replica(number).0).collect();
    let start = Barrier::new(48);
    let permits = Mutex::new(Vec::new());
    let codes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..48 {
            let (ledger, start) = (&replicas[number % 3], &start);
            let (permits, codes) = (&permits, &codes);
            scope.spawn(move || {
                let attempt = call(format!("c{number}"), Some("pay")).attempt();
                start.wait();
                match ledger.reserve(attempt).wait().unwrap() {
                    Verdict::Reserved(reserved) => permits.lock().unwrap().push((number, reserved)),
                    Verdict::Refused(refused) => codes.lock().unwrap().push(refused.code),
                    // It decided on an identifier that was fresh, and is no more.
                    Verdict::DecideAgain(again) => panic!("{again:?}"),
                }
            });
        }
    });
    let mut permits = permits.into_inner().unwrap();
    assert_eq!(permits.len(), 1);
    assert_eq!(codes.into_inner().unwrap(), vec![code("in-flight"); 47]);
    let (number, permit) = permits.pop().unwrap();
    replicas[number % 3]
        .settle(permit.token, succeeded())
        .wait()
        .unwrap();
    let log = verify(&replicas[0]);
    assert_eq!(count(&log, &Kind::Admission), 1);
    assert_eq!(count(&log, &Kind::Refusal), 47);
    assert_eq!(count(&log, &Kind::Start), 3);
}

#[test]
fn replicas_that_take_overlapping_identifiers_in_groups_never_wait_in_a_circle() {
    let fixture = Fixture::on(Kept::Postgres);
    let replicas: Vec<_> = (1..=3).map(|number| fixture.replica(number).0).collect();
    let permits = Mutex::new(vec![0; 40]);
    std::thread::scope(|scope| {
        for thread in 0..12_usize {
            let (ledger, permits) = (&replicas[thread % 3], &permits);
            scope.spawn(move || {
                for step in 0..40 {
                    // Half of them go up, half of them down.
                    let number = if thread % 2 == 0 { step } else { 39 - step };
                    let id = format!("e{number}");
                    let attempt = call(format!("c{thread}-{step}"), Some(&id)).attempt();
                    if let Verdict::Reserved(reserved) = ledger.reserve(attempt).wait().unwrap() {
                        permits.lock().unwrap()[number] += 1;
                        ledger.settle(reserved.token, succeeded()).wait().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(permits.into_inner().unwrap(), vec![1; 40]);
    let log = verify(&replicas[1]);
    assert_eq!(count(&log, &Kind::Terminal), 40);
    let server = fixture.database().cluster().log();
    assert!(!server.contains("deadlock detected"), "{server}");
}

#[test]
fn an_execution_goes_on_across_logs_and_its_chain_is_one() {
    let fixture = Fixture::on(Kept::Postgres);
    let (one, _) = fixture.replica(1);
    let (two, _) = fixture.replica(2);
    let token = reserve(&one, &call("c1", Some("pay")));
    let asked = Settlement::Asked {
        issued: Some(digest("s1")),
        answer: answer("?"),
        retained: b"?".to_vec(),
    };
    one.settle(token, asked).wait().unwrap();
    // The question is given again by the other, and answered there.
    let said = refused(
        two.reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.retained.as_deref(), Some(b"?".as_slice()));
    assert_eq!(said.known.unwrap().last.log_id, *one.log_id());
    let claim = Call {
        round: Some(("yes", Some("s1"))),
        earlier: Some(Classification::Continuation),
        ..call("c3", Some("pay"))
    };
    let token = reserve(&two, &claim);
    let settled = two.settle(token, succeeded()).wait().unwrap();
    assert_eq!(settled.receipt.log_id, *two.log_id());
    let said = refused(
        one.reserve(call("c4", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(
        said.classification,
        Some(Classification::Replay(Outcome::Succeeded))
    );
    let resolved = one.act(pay(), Act::Resolve(Outcome::Succeeded), operator());
    let resolved = resolved.wait().unwrap();
    assert_eq!(resolved.terminal.unwrap().log_id, *two.log_id());
    verify(&one);
    let chain = Selection::Call("c1".parse().unwrap());
    let (there, here) = (
        entries_of(&one, one.log_id(), &chain).len(),
        entries_of(&one, two.log_id(), &chain).len(),
    );
    assert_eq!((there, here), (4, 3));
}

#[test]
fn a_replica_that_is_paused_in_a_transaction_stalls_the_others_for_a_moment_only() {
    let fixture = Fixture::with_lease(Kept::Postgres, Duration::from_secs(6));
    let pause = Arc::<Pause>::default();
    let mut options = fixture.options.clone();
    options.probe = Some(Arc::<Pause>::clone(&pause));
    let (one, _) = fixture.replica_with(1, fixture.postgres(), options);
    let (two, _) = fixture.replica(2);
    pause.at(Point::Written);
    let waiting = one.reserve(call("c1", Some("pay")).attempt());
    pause.wait_until_it_holds();
    // It has written the row and commits never; its session is ended for it.
    let token = reserved(
        two.reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    )
    .token;
    pause.wake();
    assert_eq!(waiting.wait().unwrap_err(), LedgerError::Unavailable);
    two.settle(token, succeeded()).wait().unwrap();
    let said = refused(
        one.reserve(call("c3", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.code, code("replay"));
    assert_eq!(count(&verify(&two), &Kind::Admission), 1);
}

#[test]
fn a_member_that_the_database_refuses_does_not_take_its_group_with_it() {
    let fixture = Fixture::on(Kept::Postgres);
    fixture.replica(1).0.stop().unwrap();
    fixture.tamper("ALTER TABLE executions ADD CHECK (call_id <> 'poison')");
    let mut options = fixture.options.clone();
    let pause = Arc::<Pause>::default();
    options.probe = Some(Arc::<Pause>::clone(&pause));
    let (ledger, _) = fixture.replica_with(1, fixture.postgres(), options);
    // What waits meanwhile is one group.
    pause.at(Point::Taken);
    let first = ledger.reserve(call("c0", None).attempt());
    pause.wait_until_it_holds();
    let group: Vec<_> = ["c1", "poison", "c2", "c3"]
        .map(|name| ledger.reserve(call(name, Some(name)).attempt()))
        .into();
    pause.wake();
    drop(reserved(first.wait().unwrap()));
    let said: Vec<bool> = group
        .into_iter()
        .map(|pending| pending.wait().is_ok())
        .collect();
    assert_eq!(said, [true, false, true, true]);
    verify(&ledger);
}

#[test]
fn whatever_an_upstream_or_a_caller_writes_is_kept_byte_by_byte() {
    let fixture = Fixture::on(Kept::Postgres);
    let (ledger, _) = fixture.replica(1);
    let tool = "nul \0, Ä and A\u{308}";
    let odd = Call {
        tool,
        agent: "ä\0",
        ..call("c1", Some("pay"))
    };
    let token = reserve(&ledger, &odd);
    let opened = Settlement::TaskOpened {
        task: "t\0".parse().unwrap(),
        status: "working".into(),
        answer: answer("task"),
    };
    let settled = ledger.settle(token, opened).wait().unwrap();
    assert_eq!(settled.state, State::TaskOpen);
    let found = ledger
        .lookup_call(&"c1".parse().unwrap())
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(found.admitted.target.tool, tool);
    assert_eq!(found.agent.subject, "ä\0");
    assert_eq!(found.record.task.unwrap().as_str(), "t\0");
    verify(&ledger);
}

#[test]
fn a_late_answer_of_one_replica_stands_on_the_chain_that_another_closed() {
    let fixture = Fixture::on(Kept::Postgres);
    let (one, _) = fixture.replica(1);
    let (two, _) = fixture.replica(2);
    let token = reserve(&one, &call("c1", Some("pay")));
    token.gate().pass().unwrap();
    fixture.tamper("UPDATE incarnations SET ended = true WHERE number = 1");
    // The other blocks it, and an operator resolves it there.
    for _ in 0..200 {
        let found = two.lookup_call(&"c1".parse().unwrap()).wait().unwrap();
        if found.unwrap().record.state == State::Blocked {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let failed = Act::Resolve(Outcome::ToolError);
    two.act(pay(), failed, operator()).wait().unwrap();
    let late = Settlement::Answered {
        with: Answered::Succeeded,
        answer: answer("done"),
    };
    let said = one.settle(token, late).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Fenced);
    let log = verify(&two);
    assert_eq!(count(&log, &Kind::LateAnswer), 1);
    assert_eq!(count(&log, &Kind::Blocked), 1);
}
