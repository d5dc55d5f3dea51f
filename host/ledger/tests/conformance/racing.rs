//! Many callers at once: one is first, and the queue has an end.

use std::collections::HashSet;
use std::sync::{Arc, Barrier, Mutex};

use countersign_canon::Classification;
use countersign_evidence::Kind;
use countersign_ledger::{LedgerError, Verdict};

use crate::support::faults::Hold;
use crate::support::{
    Call, Fixture, Kept, answer, call, code, count, reserve, reserved, succeeded, verify,
};

pub fn of_64_that_race_for_one_identifier_one_is_fresh_and_every_refusal_is_in_the_log(kept: Kept) {
    for conflicting in [false, true] {
        let fixture = Fixture::on(kept);
        let ledger = fixture.open();
        let start = Barrier::new(64);
        let permits = Mutex::new(Vec::new());
        let codes = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in 0..64 {
                let (ledger, start, permits, codes) = (&ledger, &start, &permits, &codes);
                scope.spawn(move || {
                    let action = format!("transfer {}", if conflicting { number } else { 5 });
                    let call = Call {
                        action: &action,
                        ..call(format!("c{number}"), Some("pay"))
                    };
                    start.wait();
                    match ledger.reserve(call.attempt()).wait().unwrap() {
                        Verdict::Reserved(reserved) => permits.lock().unwrap().push(reserved),
                        Verdict::Refused(refused) => codes.lock().unwrap().push(refused.code),
                        other => panic!("{other:?}"),
                    }
                });
            }
        });
        let mut permits = permits.into_inner().unwrap();
        assert_eq!(permits.len(), 1);
        let permit = permits.pop().unwrap();
        assert_eq!(permit.classification, Some(Classification::Fresh));
        let expected = code(if conflicting {
            "collision"
        } else {
            "in-flight"
        });
        assert_eq!(codes.into_inner().unwrap(), vec![expected; 63]);
        ledger.settle(permit.token, succeeded()).wait().unwrap();
        let log = verify(&ledger);
        assert_eq!(count(&log, &Kind::Admission), 1);
        assert_eq!(count(&log, &Kind::Refusal), 63);
    }
}

pub fn one_round_that_many_answer_is_claimed_once(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c", Some("pay")));
    let asked = countersign_ledger::Settlement::Asked {
        issued: None,
        answer: answer("?"),
        retained: b"?".to_vec(),
    };
    ledger.settle(token, asked).wait().unwrap();
    let start = Barrier::new(32);
    let permits = Mutex::new(0);
    std::thread::scope(|scope| {
        for number in 0..32 {
            let (ledger, start, permits) = (&ledger, &start, &permits);
            scope.spawn(move || {
                let continuation = format!("answer {}", number % 4);
                let claim = Call {
                    round: Some((&continuation, None)),
                    earlier: Some(Classification::Continuation),
                    ..call(format!("c{number}"), Some("pay"))
                };
                start.wait();
                if let Verdict::Reserved(_) = ledger.reserve(claim.attempt()).wait().unwrap() {
                    *permits.lock().unwrap() += 1;
                }
            });
        }
    });
    assert_eq!(*permits.lock().unwrap(), 1);
    verify(&ledger);
}

pub fn requests_that_wait_together_share_a_commit(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    std::thread::scope(|scope| {
        for thread in 0..32 {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in 0..20 {
                    let id = format!("{thread}-{number}");
                    let token = reserve(ledger, &call(format!("c{id}"), Some(&id)));
                    ledger.settle(token, succeeded()).wait().unwrap();
                }
            });
        }
    });
    let log = verify(&ledger);
    // The test's clock moves at each look, and the writer looks once a group.
    let groups: HashSet<_> = log.iter().map(|entry| entry.said().time).collect();
    let requests = 32 * 20 * 2;
    assert_eq!(
        count(&log, &Kind::Admission) + count(&log, &Kind::Terminal),
        requests
    );
    assert!(
        groups.len() * 4 < requests,
        "{} groups for {requests} requests",
        groups.len()
    );
}

pub fn a_full_queue_turns_away_at_once_and_one_agent_cannot_fill_it(kept: Kept) {
    let hold = Arc::new(Hold::default());
    let mut fixture = Fixture::on(kept);
    fixture.options.queue = 24;
    fixture.options.agent_share = 8;
    fixture.options.group = 4;
    fixture.options.probe = Some(Arc::<Hold>::clone(&hold));
    let ledger = fixture.open();
    hold.set(true);
    let mut pending = Vec::new();
    for agent in ["a", "b", "c", "d"] {
        for number in 0..40 {
            let id = format!("{agent}{number}");
            pending.push(
                ledger.reserve(
                    Call {
                        agent,
                        ..call(id, None)
                    }
                    .attempt(),
                ),
            );
        }
    }
    hold.set(false);
    let (mut admitted, mut turned_away) = (0, 0);
    for pending in pending {
        match pending.wait() {
            Ok(verdict) => {
                drop(reserved(verdict));
                admitted += 1;
            }
            Err(LedgerError::Overloaded { retry_after_ms }) => {
                assert!(retry_after_ms > 0);
                turned_away += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    // 24 waited; some more were with the writer already.
    assert!(
        (24..=32).contains(&admitted),
        "{admitted} admitted, {turned_away} turned away"
    );
    drop(reserve(&ledger, &call("later", Some("pay"))));
    verify(&ledger);
}
