//! Blinding: what entries hold where it is switched on, and what rows keep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use countersign_canon::{Classification, Difference, Outcome};
use countersign_evidence::{Blinding, Entry, Kind, Receipt};
use countersign_ledger::{LedgerError, Salts, Selection, Settlement};

use crate::support::{
    Call, Fixture, Kept, agent, answer, call, code, count, digest, entries, execution_id, refused,
    reserve, reserved, succeeded, verify,
};

/// Salts that a test can foresee.
fn salts() -> Salts {
    let next = AtomicU8::new(0);
    Arc::new(move || Some([next.fetch_add(1, Ordering::SeqCst); 32]))
}

fn blindings(entries: &[Entry], id: &str) -> Vec<Blinding> {
    let of = entries.iter().filter(|entry| {
        let said = entry.said();
        said.execution_id == Some(execution_id(id)) && entry.link().is_some()
    });
    of.map(|entry| entry.said().blind).collect()
}

pub fn entries_hold_what_the_rows_salt_opens_and_the_row_keeps_what_was_admitted(kept: Kept) {
    let mut fixture = Fixture::on(kept);
    fixture.options.blind = Some(salts());
    let ledger = fixture.open();
    let first = reserved(
        ledger
            .reserve(call("c1", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    let asked = Settlement::Asked {
        issued: Some(digest("s1")),
        answer: answer("how much?"),
        retained: b"how much?".to_vec(),
    };
    first.token.gate().pass().unwrap();
    ledger.settle(first.token, asked).wait().unwrap();
    let claims = Call {
        round: Some(("answer 5", Some("s1"))),
        earlier: Some(Classification::Continuation),
        ..call("c2", Some("pay"))
    };
    let token = reserve(&ledger, &claims);
    token.gate().pass().unwrap();
    let settled = ledger.settle(token, succeeded()).wait().unwrap();

    // What an attempt is, is computed from what was admitted.
    let replay = ledger.reserve(call("c3", Some("pay")).attempt()).wait();
    let replay = refused(replay.unwrap());
    let succeeded = Classification::Replay(Outcome::Succeeded);
    assert_eq!(replay.classification, Some(succeeded));
    let other = Call {
        action: "transfer 6",
        ..call("c4", Some("pay"))
    };
    let collision = refused(ledger.reserve(other.attempt()).wait().unwrap());
    let difference = Difference {
        binding: true,
        target: false,
    };
    let collides = Classification::Collision(difference);
    assert_eq!(collision.classification, Some(collides));
    let denied = call("c5", Some("denied")).attempt();
    let denied = ledger.refuse(denied, Some(code("policy-denied"))).wait();
    assert!(refused(denied.unwrap()).receipt.unwrap().salt.is_none());

    let execution = ledger.lookup(&agent("alice"), &execution_id("pay"));
    let execution = execution.wait().unwrap().unwrap();
    let salt = execution.salt.unwrap();
    assert_eq!(execution.admitted.binding, digest("transfer 5"));
    assert_eq!(execution.record.claimed, [digest("answer 5")]);
    let all = verify(&ledger);
    for entry in all.iter().filter(|entry| entry.link().is_some()) {
        let said = entry.said();
        assert_eq!(said.blind, Blinding::Salted);
        let action = match said.call_id.as_ref().unwrap().as_str() {
            "c4" => "transfer 6",
            _ => "transfer 5",
        };
        assert_eq!(said.binding, Some(salt.blind(&digest(action))));
        let claim = digest("answer 5");
        assert!(
            said.continuation
                .is_none_or(|found| found == salt.blind(&claim))
        );
        let answers = ["how much?", "done"].map(|text| salt.blind(&answer(text).digest));
        assert!(
            said.answer_digest
                .is_none_or(|found| answers.contains(&found))
        );
    }
    let terminal = all.iter().find(|entry| entry.said().kind == Kind::Terminal);
    let terminal = terminal.unwrap();
    assert!(terminal.said().answer_digest.is_some());
    let withheld = all
        .iter()
        .find(|entry| entry.said().blind == Blinding::Withheld);
    let withheld = withheld.unwrap().said();
    assert_eq!(withheld.execution_id, Some(execution_id("denied")));
    assert_eq!((withheld.binding, withheld.continuation), (None, None));

    // Owners are given the salt with their receipts.
    let of = Receipt::of(terminal).unwrap();
    assert!(of.agrees(&settled.receipt));
    assert_eq!(settled.receipt.salt, Some(salt));
    let again = execution.receipt();
    assert_eq!((again.binding, again.salt), (of.binding, Some(salt)));
    assert_eq!(collision.receipt.unwrap().salt, Some(salt));
    // Exports are given what opens an entry, with it.
    let page = ledger.entries(&Selection::All, 0, 100).wait().unwrap();
    for stored in page.entries {
        let linked = Entry::parse(&stored.bytes).unwrap().link().is_some();
        let opening = linked.then_some((salt, digest("transfer 5")));
        assert_eq!(stored.opening, opening);
    }
}

pub fn an_execution_is_blinded_for_good_or_never_whatever_is_configured_later(kept: Kept) {
    let mut fixture = Fixture::on(kept);
    let ledger = fixture.open();
    for (name, id) in [("c1", "plain"), ("c2", "open")] {
        drop(reserve(&ledger, &call(name, Some(id))));
    }
    ledger.stop().unwrap();
    fixture.options.blind = Some(salts());
    let ledger = fixture.open();
    drop(ledger.reserve(call("c3", Some("plain")).attempt()).wait());
    drop(reserve(&ledger, &call("c4", Some("blinded"))));
    ledger.stop().unwrap();
    fixture.options.blind = None;
    let ledger = fixture.open();
    drop(ledger.reserve(call("c5", Some("blinded")).attempt()).wait());
    drop(reserve(&ledger, &call("c6", Some("again"))));
    let all = verify(&ledger);
    assert_eq!(blindings(&all, "plain"), [Blinding::Plain; 3]);
    assert_eq!(blindings(&all, "blinded"), [Blinding::Salted; 3]);
    assert_eq!(blindings(&all, "again"), [Blinding::Plain; 2]);
}

pub fn without_randomness_nothing_is_reserved_under_blinding(kept: Kept) {
    let mut fixture = Fixture::on(kept);
    fixture.options.blind = Some(Arc::new(|| None));
    let ledger = fixture.open();
    let said = ledger.reserve(call("c1", Some("pay")).attempt()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
    let all = entries(&ledger, &Selection::All);
    assert_eq!(count(&all, &Kind::Admission), 0);
}
