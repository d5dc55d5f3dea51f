//! What an attempt is told, and what stands in the log then.

use countersign_canon::{Classification, Difference, Outcome};
use countersign_evidence::{Classified, EffectBoundary, Kind};
use countersign_ledger::{Attempt, Epochs, InForce, LedgerError, Settlement, State, Verdict};

use crate::support::{
    Call, Fixture, Kept, agent, answer, call, code, count, digest, entries, execution_id, not_sent,
    refused, reserve, reserved, succeeded, unanswered, verify,
};

pub fn a_call_is_reserved_settled_and_from_then_on_replayed(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let first = reserved(
        ledger
            .reserve(call("c1", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(first.classification, Some(Classification::Fresh));
    first.token.gate().pass().unwrap();

    let second = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(second.classification, Some(Classification::InFlight));
    assert_eq!(second.code, code("in-flight"));
    assert!(!second.safe_with_new_id);
    let known = second.known.unwrap();
    assert_eq!(
        (known.call_id.as_str(), known.state),
        ("c1", State::InFlight)
    );
    assert_eq!(known.last, first.entry);

    let settled = ledger.settle(first.token, succeeded()).wait().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Succeeded));
    assert_eq!(settled.receipt.call_id.as_str(), "c1");
    assert_eq!(settled.receipt.binding, Some(digest("transfer 5")));

    let third = refused(
        ledger
            .reserve(call("c3", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(
        third.classification,
        Some(Classification::Replay(Outcome::Succeeded))
    );
    assert_eq!(third.known.unwrap().outcome(), Some(Outcome::Succeeded));

    let log = verify(&ledger);
    let kinds: Vec<Kind> = log.iter().map(|entry| entry.said().kind.clone()).collect();
    let expected = [
        Kind::Start,
        Kind::Admission,
        Kind::Refusal,
        Kind::Terminal,
        Kind::Refusal,
    ];
    assert_eq!(kinds, expected);
    let terminal = log[3].said();
    assert_eq!(terminal.outcome, Some(Outcome::Succeeded));
    assert_eq!(
        terminal.effect_boundary,
        Some(EffectBoundary::ResponseReceived)
    );
    assert_eq!(terminal.answer_digest, Some(digest("done")));
    assert_eq!(log[3].hash(), settled.receipt.entry_hash);
}

pub fn what_was_changed_under_a_known_identifier_is_a_collision_and_names_the_difference(
    kept: Kept,
) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    let base = call("c2", Some("pay"));
    for (number, (changed, binding, target)) in [
        (
            Call {
                action: "transfer 6",
                ..base.clone()
            },
            true,
            false,
        ),
        (
            Call {
                tool: "refund",
                ..base.clone()
            },
            false,
            true,
        ),
        (
            Call {
                action: "refund 5",
                tool: "refund",
                ..base.clone()
            },
            true,
            true,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let changed = Call {
            call: format!("x{number}"),
            ..changed
        };
        let said = refused(ledger.reserve(changed.attempt()).wait().unwrap());
        let difference = Difference { binding, target };
        assert_eq!(
            said.classification,
            Some(Classification::Collision(difference))
        );
        assert_eq!(said.code, code("collision"));
    }
    let other = Call {
        profile: "jcs-integer@1.0.0",
        ..call("c9", Some("pay"))
    };
    let said = refused(ledger.reserve(other.attempt()).wait().unwrap());
    assert_eq!(said.classification, Some(Classification::Incomparable));
    let elsewhere = Call {
        agent: "bob",
        action: "other",
        ..call("c10", Some("pay"))
    };
    let theirs = reserve(&ledger, &elsewhere);
    ledger.settle(token, unanswered()).wait().unwrap();
    ledger.settle(theirs, not_sent()).wait().unwrap();
    verify(&ledger);
}

pub fn only_what_was_never_sent_may_be_tried_under_a_new_identifier(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    for (id, settlement, pass, outcome, safe) in [
        ("a", not_sent(), false, Outcome::NotAttempted, true),
        ("b", not_sent(), true, Outcome::OutcomeUnknown, false),
        ("c", unanswered(), true, Outcome::OutcomeUnknown, false),
        ("d", succeeded(), true, Outcome::Succeeded, false),
    ] {
        let token = reserve(&ledger, &call(format!("{id}1"), Some(id)));
        if pass {
            token.gate().pass().unwrap();
        }
        let settled = ledger.settle(token, settlement).wait().unwrap();
        assert_eq!(settled.outcome(), Some(outcome), "{id}");
        let again = call(format!("{id}2"), Some(id));
        let said = refused(ledger.reserve(again.attempt()).wait().unwrap());
        assert_eq!(said.classification, Some(Classification::Replay(outcome)));
        assert_eq!(said.safe_with_new_id, safe, "{id}");
    }
    verify(&ledger);
}

pub fn a_token_that_is_dropped_settles_by_what_its_gate_saw_and_lets_nothing_out_after(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    for (id, pass, outcome) in [
        ("a", false, Outcome::NotAttempted),
        ("b", true, Outcome::OutcomeUnknown),
    ] {
        let token = reserve(&ledger, &call(format!("{id}1"), Some(id)));
        let gate = token.gate();
        if pass {
            gate.pass().unwrap();
        }
        drop(token);
        assert!(
            gate.pass().is_err(),
            "a request still on its way must not leave"
        );
        assert_eq!(gate.passed(), pass);
        // The queue is in order: what is asked now sees it settled.
        let again = call(format!("{id}2"), Some(id));
        let said = refused(ledger.reserve(again.attempt()).wait().unwrap());
        assert_eq!(said.classification, Some(Classification::Replay(outcome)));
    }
    // A reservation that nobody waits for is dropped where it is answered.
    drop(ledger.reserve(call("c1", Some("c")).attempt()));
    ledger.checkpoint().wait().unwrap();
    ledger.checkpoint().wait().unwrap();
    let execution = ledger
        .lookup(&agent("alice"), &execution_id("c"))
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(
        execution.record.state,
        State::Settled(Outcome::NotAttempted)
    );
    verify(&ledger);
}

pub fn a_denial_reserves_nothing_and_is_in_the_log(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let denied = call("c1", Some("pay")).attempt();
    let said = refused(
        ledger
            .refuse(denied, Some(code("policy-denied")))
            .wait()
            .unwrap(),
    );
    assert_eq!(
        (said.code, said.safe_with_new_id),
        (code("policy-denied"), true)
    );
    assert_eq!(said.known, None);
    let token = reserve(&ledger, &call("c2", Some("pay")));
    // A replay is told as one, whatever policy says of it now.
    let denied = call("c3", Some("pay")).attempt();
    let said = refused(
        ledger
            .refuse(denied, Some(code("policy-denied")))
            .wait()
            .unwrap(),
    );
    assert_eq!(said.code, code("in-flight"));
    drop(token);
    let log = verify(&ledger);
    assert!(log[1].link().is_none(), "there was no row");
    assert_eq!(
        log[1].said().classification,
        Some(Classified::Verdict(Classification::Fresh))
    );
}

pub fn an_attempt_without_identifier_has_a_row_that_nobody_meets(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let one = reserve(&ledger, &call("c1", None));
    let two = reserve(&ledger, &call("c2", None));
    ledger.settle(one, succeeded()).wait().unwrap();
    ledger.settle(two, unanswered()).wait().unwrap();
    let reused = ledger.reserve(call("c1", None).attempt()).wait();
    assert!(
        matches!(reused, Err(LedgerError::Illegal(_))),
        "a call id opens one row"
    );
    let log = verify(&ledger);
    assert_eq!(log[1].said().classification, None);
    assert_eq!(log[1].link().unwrap().execution_seq, 0);
    assert_eq!(
        log[3].link().unwrap().execution_previous,
        Some(log[1].hash())
    );
}

pub fn a_decision_made_under_another_policy_or_catalog_is_made_again(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let draft = countersign_evidence::Draft::new(
        Kind::PolicyLoaded,
        countersign_evidence::Time::from_micros(0),
    );
    let (_, epochs) = ledger
        .append(draft.clone(), InForce::Policy)
        .wait()
        .unwrap();
    assert_eq!(
        epochs,
        Epochs {
            policy: 1,
            catalog: 0
        }
    );
    let stale = ledger
        .reserve(call("c1", Some("pay")).attempt())
        .wait()
        .unwrap();
    let Verdict::DecideAgain(again) = stale else {
        panic!("{stale:?}")
    };
    assert_eq!(again.epochs, epochs);
    let now = Call {
        epochs,
        ..call("c1", Some("pay"))
    };
    drop(reserve(&ledger, &now));
    let (_, epochs) = ledger.append(draft, InForce::Catalog).wait().unwrap();
    assert_eq!(
        (epochs, ledger.epochs().wait().unwrap()),
        (
            Epochs {
                policy: 1,
                catalog: 1
            },
            epochs
        )
    );
    let log = verify(&ledger);
    assert_eq!(count(&log, &Kind::Admission), 1);
}

pub fn an_agent_whose_quota_is_used_up_is_refused_and_others_are_not(kept: Kept) {
    let mut fixture = Fixture::on(kept);
    fixture.options.agent_rows = 2;
    let ledger = fixture.open();
    drop(reserve(&ledger, &call("c1", Some("a"))));
    drop(reserve(&ledger, &call("c2", None)));
    let said = refused(
        ledger
            .reserve(call("c3", Some("b")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(
        (said.code, said.safe_with_new_id),
        (code("execution-quota"), true)
    );
    let said = refused(
        ledger
            .reserve(call("c4", Some("a")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.code, code("replay"), "what is known is still told");
    drop(reserve(
        &ledger,
        &Call {
            agent: "bob",
            ..call("c5", Some("a"))
        },
    ));
    verify(&ledger);
}

pub fn an_entry_that_nobody_could_read_back_is_not_written(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let mut draft = call("c1", Some("pay")).draft();
    draft.represented_user = Some("y".repeat(300_000));
    let attempt = Attempt::new(draft, Some(Classification::Fresh), Epochs::default());
    let said = ledger.reserve(attempt.unwrap()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::EntryTooLong);
    assert_eq!(
        ledger
            .lookup(&agent("alice"), &execution_id("pay"))
            .wait()
            .unwrap(),
        None
    );
    verify(&ledger);
}

pub fn what_was_reserved_can_be_ended_however_long_its_entry_is(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let task = || Settlement::TaskOpened {
        task: "t".repeat(128).parse().unwrap(),
        status: "input_required".into(),
        answer: answer("task"),
    };
    let asked = || Settlement::Asked {
        issued: Some(digest("state")),
        answer: answer("asked"),
        retained: b"{}".to_vec(),
    };
    let endings: [&dyn Fn() -> Settlement; 5] = [&succeeded, &unanswered, &not_sent, &task, &asked];
    let (mut reserved_ones, mut too_long) = (0, 0);
    for (index, length) in (254_000..262_144).step_by(41).enumerate() {
        let (name, id) = (format!("c{index}"), format!("e{index}"));
        let mut draft = call(name.as_str(), Some(&id)).draft();
        draft.client = Some("x".repeat(length));
        let attempt = Attempt::new(draft, Some(Classification::Fresh), Epochs::default());
        match ledger.reserve(attempt.unwrap()).wait() {
            Ok(verdict) => {
                let ending = endings[index % endings.len()]();
                let said = format!("{length}: {ending:?}");
                let settled = ledger.settle(reserved(verdict).token, ending).wait();
                assert!(settled.is_ok(), "{said}: {settled:?}");
                reserved_ones += 1;
            }
            Err(error) => {
                assert_eq!(error, LedgerError::EntryTooLong, "{length}");
                too_long += 1;
            }
        }
    }
    assert!(
        reserved_ones > 50 && too_long > 50,
        "both sides of the bound"
    );
    verify(&ledger);
}

pub fn each_selection_of_entries_gives_what_it_names(kept: Kept) {
    use countersign_ledger::Selection;
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    for name in ["a", "b"] {
        let token = reserve(&ledger, &call(format!("{name}1"), Some(name)));
        ledger.settle(token, succeeded()).wait().unwrap();
        refused(
            ledger
                .reserve(call(format!("{name}2"), Some(name)).attempt())
                .wait()
                .unwrap(),
        );
    }
    let all = verify(&ledger);
    let of = |selection: &Selection| entries(&ledger, selection).len();
    assert_eq!(
        of(&Selection::Execution(agent("alice"), execution_id("a"))),
        3
    );
    assert_eq!(
        of(&Selection::Execution(agent("alice"), execution_id("c"))),
        0
    );
    assert_eq!(of(&Selection::Call("a1".parse().unwrap())), 3);
    assert_eq!(of(&Selection::Call("a2".parse().unwrap())), 1);
    assert_eq!(of(&Selection::Agent(agent("alice"))), 6);
    assert_eq!(of(&Selection::Agent(agent("bob"))), 0);
    let middle = all[3].said().time.micros();
    assert_eq!(of(&Selection::Time(i64::MIN, middle)), 3);
    assert_eq!(of(&Selection::Time(middle, i64::MAX)), all.len() - 3);
}
