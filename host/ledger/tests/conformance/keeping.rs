//! Settled answers are kept for a while: with the settlement, within bounds,
//! for their own execution.

use std::time::Duration;

use countersign_ledger::{AnswerBounds, Ledger, Settlement, Verdict};

use crate::support::{
    Fixture, Kept as Store, answer, call, found, kept, not_sent, refused, reserve, run, unanswered,
    verify,
};

pub fn an_answer_is_kept_with_its_settlement_until_its_time_is_up_and_through_a_restart(on: Store) {
    let fixture = Fixture::on(on);
    let ledger = fixture.open();
    run(&fixture, &ledger, "a", "answer", 60);
    assert_eq!(found(&fixture, &ledger, "a").as_deref(), Some("answer"));
    assert_eq!(found(&fixture, &ledger, "b"), None);
    let verdict = |name| {
        let mut again = call(name, Some("a"));
        again.earlier = None;
        ledger.refuse(again.attempt(), None).wait().unwrap()
    };
    let replay = match verdict("again") {
        Verdict::Refused(refused) => *refused,
        other => panic!("{other:?}"),
    };
    assert_eq!(replay.code.as_str(), "replay");
    assert!(replay.answer_until_us.is_some(), "a replay says so");
    ledger.stop().unwrap();
    drop(ledger);

    let ledger = fixture.open();
    assert_eq!(found(&fixture, &ledger, "a").as_deref(), Some("answer"));
    fixture.clock.advance(Duration::from_secs(61));
    assert_eq!(found(&fixture, &ledger, "a"), None);
    let mut again = call("late", Some("a"));
    again.earlier = None;
    let replay = refused(ledger.refuse(again.attempt(), None).wait().unwrap());
    assert_eq!(replay.answer_until_us, None);
    verify(&ledger);
}

pub fn what_did_not_settle_with_an_answer_keeps_none(on: Store) {
    let fixture = Fixture::on(on);
    let ledger = fixture.open();
    for (name, settlement) in [("a", not_sent()), ("b", unanswered())] {
        let token = reserve(&ledger, &call(name, Some(name)));
        let keep = Some(kept(&fixture, "answer", 60));
        ledger
            .settle_keeping(token, settlement, keep)
            .wait()
            .unwrap();
        assert_eq!(found(&fixture, &ledger, name), None, "{name}");
    }
    verify(&ledger);
}

pub fn what_is_beyond_the_bounds_goes_the_first_to_expire_first(on: Store) {
    let mut fixture = Fixture::on(on);
    fixture.options.answers = AnswerBounds {
        count: 3,
        bytes: 100,
    };
    let ledger = fixture.open();
    for (number, name) in (0..).zip(["a", "b", "c", "d"]) {
        run(&fixture, &ledger, name, "1234567890", 600 + number);
    }
    assert_eq!(once_tidied(&fixture, &ledger, 3), "bcd");
    run(&fixture, &ledger, "e", &"x".repeat(85), 700);
    assert_eq!(once_tidied(&fixture, &ledger, 2), "de", "95 bytes of 100");
    run(&fixture, &ledger, "f", &"x".repeat(101), 800);
    assert_eq!(found(&fixture, &ledger, "f"), None, "one that never fits");
    assert_eq!(once_tidied(&fixture, &ledger, 2), "de", "drops nobody");
    verify(&ledger);
}

/// What is kept once no more than `most` are: what is beyond the bounds may go
/// with the next groups, or with the next look at what is expired.
fn once_tidied(fixture: &Fixture, ledger: &Ledger, most: usize) -> String {
    let mut held = String::new();
    for _ in 0..600 {
        fixture.clock.advance(Duration::from_millis(500));
        drop(ledger.checkpoint().wait());
        let names = ["a", "b", "c", "d", "e", "f"].into_iter();
        held = names
            .filter(|name| found(fixture, ledger, name).is_some())
            .collect();
        if held.len() <= most {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    held
}

pub fn what_asked_for_rounds_beyond_the_bounds_goes_the_oldest_first(on: Store) {
    let mut fixture = Fixture::on(on);
    fixture.options.answers = AnswerBounds {
        count: 3,
        bytes: 100,
    };
    let ledger = fixture.open();
    let ask = |name: &str, text: &str| {
        let token = reserve(&ledger, &call(name, Some(name)));
        token.gate().pass().unwrap();
        let asked = Settlement::Asked {
            issued: None,
            answer: answer(text),
            retained: text.as_bytes().to_vec(),
        };
        ledger.settle(token, asked).wait().unwrap();
    };
    let once_tidied = |most: u64| {
        for _ in 0..600 {
            if fixture.count("retained") <= most {
                break;
            }
            fixture.clock.advance(Duration::from_millis(500));
            drop(ledger.checkpoint().wait());
            std::thread::sleep(Duration::from_millis(10));
        }
        fixture.count("retained")
    };
    for name in ["a", "b", "c", "d"] {
        ask(name, "1234567890");
    }
    assert_eq!(once_tidied(3), 3);
    ask("e", &"x".repeat(85));
    assert_eq!(once_tidied(2), 2, "95 bytes of 100");
    for (name, kept) in [("a", false), ("c", false), ("d", true), ("e", true)] {
        let repeat = call(format!("{name}-again"), Some(name)).attempt();
        let repeat = refused(ledger.reserve(repeat).wait().unwrap());
        assert_eq!(repeat.retained.is_some(), kept, "{name}");
    }
    verify(&ledger);
}
