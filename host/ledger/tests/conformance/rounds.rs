//! Rounds and tasks: what happens between a reservation and its outcome.

use std::collections::HashSet;
use std::sync::Arc;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{Entry, Kind, RoundSays};
use countersign_ledger::{Act, Epochs, Settlement, State, Verdict, Which};

use crate::support::faults::Hold;
use crate::support::{
    Call, Fixture, Kept, agent, answer, call, code, digest, execution_id, operator, pay, refused,
    reserve, reserved, succeeded, verify,
};

fn asked(state: Option<&str>, text: &str) -> Settlement {
    Settlement::Asked {
        issued: state.map(digest),
        answer: answer(text),
        retained: text.as_bytes().to_vec(),
    }
}

pub fn a_round_is_claimed_once_and_a_lost_question_is_given_again(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    token.gate().pass().unwrap();
    let settled = ledger
        .settle(token, asked(Some("s1"), "how much?"))
        .wait()
        .unwrap();
    assert_eq!(
        (settled.state, settled.outcome()),
        (State::AwaitingInput, None)
    );

    let repeat = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(repeat.classification, Some(Classification::RoundReplay));
    assert_eq!(repeat.retained.as_deref(), Some(b"how much?".as_slice()));

    let with = |name: &str, continuation, state, earlier| Call {
        round: Some((continuation, state)),
        earlier: Some(earlier),
        ..call(name.to_owned(), Some("pay"))
    };
    for (name, state) in [("c3", Some("s2")), ("c4", None)] {
        let wrong = with(name, "answer 5", state, Classification::Continuation);
        let said = refused(ledger.reserve(wrong.attempt()).wait().unwrap());
        assert_eq!(
            said.classification,
            Some(Classification::ContinuationMismatch)
        );
    }

    // Who has not decided on a continuation is sent back to do so.
    let undecided = with("c5", "answer 5", Some("s1"), Classification::InFlight);
    let said = ledger.reserve(undecided.attempt()).wait().unwrap();
    let Verdict::DecideAgain(again) = said else {
        panic!("{said:?}")
    };
    assert_eq!(again.classification, Some(Classification::Continuation));

    let claim = with("c5", "answer 5", Some("s1"), Classification::Continuation);
    let second = reserve(&ledger, &claim);
    let twice = with("c6", "answer 5", Some("s1"), Classification::Continuation);
    let said = refused(ledger.reserve(twice.attempt()).wait().unwrap());
    assert_eq!(said.classification, Some(Classification::RoundReplay));
    assert_eq!(said.retained, None, "its answer is not there yet");

    ledger.settle(second, asked(None, "sure?")).wait().unwrap();
    let said = refused(
        ledger
            .reserve(call("c7", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(
        said.retained, None,
        "the first request was answered by another question"
    );
    let twice = with("c8", "answer 5", Some("s1"), Classification::Continuation);
    let said = refused(ledger.reserve(twice.attempt()).wait().unwrap());
    assert_eq!(said.retained.as_deref(), Some(b"sure?".as_slice()));

    let third = with("c9", "yes", None, Classification::Continuation);
    let third = reserve(&ledger, &third);
    ledger.settle(third, succeeded()).wait().unwrap();
    let log = verify(&ledger);
    let rounds: Vec<_> = log.iter().filter_map(|entry| entry.said().round).collect();
    let rounds: Vec<_> = rounds
        .iter()
        .map(|round| (round.says, round.number))
        .collect();
    let expected = [
        (RoundSays::Asked, 1),
        (RoundSays::Claimed, 1),
        (RoundSays::Asked, 2),
        (RoundSays::Claimed, 2),
    ];
    assert_eq!(rounds, expected);
}

pub fn a_state_that_was_issued_to_another_agent_is_unknown(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", None));
    let settled = ledger
        .settle(token, asked(Some("s1"), "who?"))
        .wait()
        .unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Succeeded));
    let next = |name: &'static str, agent, state| Call {
        round: Some(("me", state)),
        agent,
        ..call(name, None)
    };
    let foreign = next("c2", "bob", Some("s1"));
    let said = refused(ledger.reserve(foreign.attempt()).wait().unwrap());
    assert_eq!(said.code, code("request-state-unknown"));
    for (name, state) in [("c3", Some("s1")), ("c4", None)] {
        drop(reserve(&ledger, &next(name, "alice", state)));
    }
    verify(&ledger);
}

pub fn a_state_that_is_issued_in_the_same_commit_is_known_to_its_agent_alone(kept: Kept) {
    let hold = Arc::new(Hold::default());
    let mut fixture = Fixture::on(kept);
    fixture.options.probe = Some(Arc::<Hold>::clone(&hold));
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", None));
    hold.set(true);
    // The writer takes this, and everything else waits together.
    let first = ledger.checkpoint();
    hold.until_it_stands();
    let settled = ledger.settle(token, asked(Some("s1"), "who?"));
    let pending = [
        ("c2", "bob", "s1"),
        ("c3", "alice", "s2"),
        ("c4", "alice", "s1"),
    ]
    .map(|(name, agent, state)| {
        let round = Some(("me", Some(state)));
        ledger.reserve(
            Call {
                round,
                agent,
                ..call(name, None)
            }
            .attempt(),
        )
    });
    hold.set(false);
    first.wait().unwrap();
    settled.wait().unwrap();
    let [bobs, unknown, own] = pending.map(|pending| pending.wait().unwrap());
    for verdict in [bobs, unknown] {
        assert_eq!(refused(verdict).code, code("request-state-unknown"));
    }
    drop(reserved(own));
    let log = verify(&ledger);
    // The test's clock moves at each look, and the writer looks once a group.
    let groups: HashSet<_> = log
        .iter()
        .map(Entry::said)
        .filter(|said| {
            let first = said.call_id == Some("c1".parse().unwrap());
            said.call_id.is_some() && first == (said.kind == Kind::Terminal)
        })
        .map(|said| said.time)
        .collect();
    assert_eq!(
        groups.len(),
        1,
        "the question and what met it share a commit"
    );
}

pub fn a_task_survives_its_owner_and_ends_in_an_outcome(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("job")));
    let opened = Settlement::TaskOpened {
        task: "task-1".parse().unwrap(),
        status: "working".into(),
        answer: answer("task"),
    };
    let settled = ledger.settle(token, opened).wait().unwrap();
    assert_eq!(settled.state, State::TaskOpen);
    ledger.stop().unwrap();
    drop(ledger);
    let ledger = fixture.open();
    let said = refused(
        ledger
            .reserve(call("c2", Some("job")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(said.classification, Some(Classification::InFlight));
    let which = Which::Execution(agent("alice"), execution_id("job"));
    let draft =
        countersign_evidence::Draft::new(Kind::Task, countersign_evidence::Time::from_micros(0));
    let act = |act| ledger.act(which.clone(), act, draft.clone()).wait();
    assert_eq!(
        act(Act::TaskObserved).unwrap().record.state,
        State::TaskOpen
    );
    assert!(act(Act::TaskEnded(Outcome::NotAttempted)).is_err());
    let ended = act(Act::TaskEnded(Outcome::ToolError)).unwrap();
    assert_eq!(ended.record.state, State::Settled(Outcome::ToolError));
    assert!(
        act(Act::TaskEnded(Outcome::Succeeded)).is_err(),
        "an outcome is never replaced"
    );
    verify(&ledger);
}

pub fn a_question_that_nobody_will_answer_is_not_kept(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    ledger.settle(token, asked(None, "?")).wait().unwrap();
    assert_eq!(fixture.count("retained"), 1);
    let abandoned = ledger.act(pay(), Act::Abandon, operator()).wait();
    assert!(abandoned.unwrap().terminal.is_some());
    assert_eq!(fixture.count("retained"), 0);
    verify(&ledger);
}

pub fn a_claim_survives_a_restart_and_its_state_stays_bound_to_its_agent(kept: Kept) {
    let fixture = Fixture::on(kept);
    let ledger = fixture.open();
    let token = reserve(&ledger, &call("c1", Some("pay")));
    let asked = Settlement::Asked {
        issued: Some(digest("s1")),
        answer: answer("?"),
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
