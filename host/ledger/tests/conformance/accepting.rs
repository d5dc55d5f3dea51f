//! What holds once an operator has accepted that a store went back.

use std::fs;
use std::time::Duration;

use countersign_canon::{Classification, Outcome};
use countersign_evidence::{Entry, Kind};
use countersign_ledger::{Act, Incarnation, Ledger, LedgerError, Settlement, State, Token};

use crate::support::{
    Call, Fixture, Kept, agent, answer, call, code, count, digest, execution_id, operator, pay,
    reserve, succeeded, verify,
};

fn run(ledger: &Ledger, name: &str) {
    let token = reserve(ledger, &call(name, Some(name)));
    ledger.settle(token, succeeded()).wait().unwrap();
}

/// Has a ledger find out that its store went back.
fn find_out(ledger: &Ledger) {
    let said = ledger.refuse(call("found", Some("found")).attempt(), None);
    assert_eq!(said.wait().unwrap_err(), LedgerError::RolledBack);
}

fn accept(ledger: &Ledger) {
    ledger
        .accept_rollback(operator(), Vec::new())
        .wait()
        .unwrap();
    assert!(!ledger.rolled_back());
}

/// The size that the anchor names of the ledger's own log.
fn anchored(fixture: &Fixture) -> u64 {
    let text = fs::read_to_string(fixture.folder.path().join("anchor")).unwrap();
    text.lines().nth(2).unwrap().parse().unwrap()
}

fn signed(ledger: &Ledger) -> u64 {
    let newest = ledger.newest_checkpoint().wait().unwrap();
    newest.map_or(0, |newest| newest.size)
}

/// How a checkpoint comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Asked,
    Due,
    AtTheEnd,
}

pub fn what_follows_an_accepted_rollback_is_signed_and_anchored(kept: Kept) {
    for found_by_a_start in [false, true] {
        for cut in [Cut::Asked, Cut::Due, Cut::AtTheEnd] {
            let case = format!("{cut:?}, found by a start: {found_by_a_start}");
            let fixture = Fixture::on(kept);
            let mut ledger = fixture.open();
            run(&ledger, "first");
            fixture.copy_in_place();
            // What is lost is longer than what follows.
            for number in 0..20 {
                run(&ledger, &format!("lost-{number}"));
            }
            let lost = ledger.checkpoint().wait().unwrap();
            fixture.put_back_in_place();
            find_out(&ledger);
            if found_by_a_start {
                drop(ledger.stop());
                drop(ledger);
                ledger = fixture.open();
            }
            accept(&ledger);
            let size = || ledger.head().wait().unwrap().size;
            match cut {
                Cut::Asked => {
                    let said = ledger.checkpoint().wait().unwrap();
                    assert_eq!(said, size(), "{case}");
                }
                Cut::Due => {
                    let denied = call("second", Some("second")).attempt();
                    drop(ledger.refuse(denied, Some(code("denied"))).wait());
                    let whole = || signed(&ledger) == size() && anchored(&fixture) == size();
                    for _ in 0..600 {
                        if whole() {
                            break;
                        }
                        // It looks when it wakes, by itself or because it is asked.
                        fixture.clock.advance(Duration::from_secs(5));
                        std::thread::sleep(Duration::from_millis(50));
                    }
                }
                Cut::AtTheEnd => ledger.stop().unwrap(),
            }
            assert!(size() < lost, "{case}");
            assert_eq!(signed(&ledger), size(), "{case}");
            assert_eq!(anchored(&fixture), size(), "{case}");
            // So what comes back from before that is found out too.
            if cut == Cut::Asked {
                fixture.put_back_in_place();
                find_out(&ledger);
                drop(ledger.stop());
                drop(ledger);
                assert!(fixture.open().rolled_back(), "{case}");
            }
        }
    }
}

/// What a permit was given for, and whether the older store holds that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// The execution was opened, before the copy was made.
    Opened,
    OpenedAndLost,
    /// A round was claimed, before the copy was made.
    Claimed,
    ClaimedAndLost,
    /// The question as well: the copy has the call in flight that was asked it.
    AskedAndLost,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Brings {
    Answer,
    Question,
    DroppedUnsent,
    DroppedSent,
}

fn question() -> Settlement {
    Settlement::Asked {
        issued: Some(digest("s1")),
        answer: answer("how much?"),
        retained: b"how much?".to_vec(),
    }
}

fn continuation(name: &str) -> Call<'static> {
    Call {
        round: Some(("answer 5", Some("s1"))),
        earlier: Some(Classification::Continuation),
        ..call(name.to_owned(), Some("pay"))
    }
}

/// A permit, and the ledger that gave it, whose store has gone back since; with the
/// highest incarnation that was there.
fn permit(fixture: &Fixture, given: Given) -> (Ledger, Token, Incarnation) {
    use Given::{AskedAndLost, Claimed, ClaimedAndLost, Opened, OpenedAndLost};
    let mut ledger = fixture.open();
    run(&ledger, "first");
    let ask = |ledger: &Ledger| {
        let token = reserve(ledger, &call("c0", Some("pay")));
        token.gate().pass().unwrap();
        if given == AskedAndLost {
            fixture.copy_in_place();
        }
        ledger.settle(token, question()).wait().unwrap();
    };
    if matches!(given, Claimed | ClaimedAndLost | AskedAndLost) {
        ask(&ledger);
    }
    if matches!(given, OpenedAndLost | ClaimedAndLost) {
        // From before this incarnation began: its number comes back as well.
        ledger.stop().unwrap();
        drop(ledger);
        fixture.copy_in_place();
        ledger = fixture.open();
    }
    let token = match given {
        Opened | OpenedAndLost => reserve(&ledger, &call("c1", Some("pay"))),
        _ => reserve(&ledger, &continuation("c1")),
    };
    if matches!(given, Opened | Claimed) {
        fixture.copy_in_place();
    }
    run(&ledger, "used");
    let incarnation = ledger.incarnation();
    (ledger, token, incarnation)
}

pub fn a_permit_counts_only_where_the_store_holds_what_it_was_given_for(kept: Kept) {
    use Brings::{Answer, DroppedSent, DroppedUnsent, Question};
    use Given::{AskedAndLost, Claimed, ClaimedAndLost, Opened, OpenedAndLost};
    std::thread::scope(|scope| {
        for given in [Opened, OpenedAndLost, Claimed, ClaimedAndLost, AskedAndLost] {
            scope.spawn(move || {
                for brings in [Answer, Question, DroppedUnsent, DroppedSent] {
                    brings_it(kept, given, brings);
                }
            });
        }
    });
}

fn brings_it(kept: Kept, given: Given, brings: Brings) {
    use Given::{Claimed, ClaimedAndLost, Opened, OpenedAndLost};
    let case = format!("{given:?}, {brings:?}");
    let fixture = Fixture::on(kept);
    let (ledger, token, incarnation) = permit(&fixture, given);
    if brings != Brings::DroppedUnsent {
        token.gate().pass().unwrap();
    }
    fixture.put_back_in_place();
    find_out(&ledger);
    if kept == Kept::Postgres {
        // As a sweeper does in two leases.
        fixture.tamper("UPDATE incarnations SET ended = true");
    }
    accept(&ledger);
    assert!(ledger.incarnation() > incarnation, "{case}: given twice");
    let again = match given {
        OpenedAndLost => Some(reserve(&ledger, &call("c2", Some("pay")))),
        ClaimedAndLost => Some(reserve(&ledger, &continuation("c2"))),
        _ => None,
    };
    let held = matches!(given, Opened | Claimed);
    let refused = if held {
        LedgerError::Fenced
    } else {
        LedgerError::NotFound
    };
    let settlement = match brings {
        Brings::Answer => Some(succeeded()),
        Brings::Question => Some(question()),
        Brings::DroppedUnsent | Brings::DroppedSent => None,
    };
    if let Some(settlement) = settlement {
        let said = ledger.settle(token, settlement).wait();
        assert_eq!(said.unwrap_err(), refused, "{case}");
    } else {
        drop(token);
    }
    let log = verify(&ledger);
    let late = usize::from(held && brings == Brings::Answer);
    assert_eq!(count(&log, &Kind::LateAnswer), late, "{case}");
    let found = ledger.lookup(&agent("alice"), &execution_id("pay"));
    let state = found.wait().unwrap().unwrap().record.state;
    let Some(again) = again else {
        assert_eq!(state, State::Blocked, "{case}");
        return;
    };
    assert_eq!(state, State::InFlight, "{case}");
    let settled = ledger.settle(again, succeeded()).wait().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Succeeded), "{case}");
    let terminal = |entry: &&Entry| {
        entry.said().kind == Kind::Terminal
            && entry.said().execution_id == Some(execution_id("pay"))
    };
    let log = verify(&ledger);
    let terminal = log.iter().find(terminal).unwrap();
    assert_eq!(terminal.said().call_id, "c2".parse().ok(), "{case}");
}

pub fn who_lives_is_not_said_to_have_sent_nothing_because_its_store_went_back(kept: Kept) {
    let fixture = Fixture::with_lease(kept, Duration::from_secs(2));
    let mut ledger = fixture.open();
    let sending = reserve(&ledger, &call("c1", Some("pay")));
    // What it writes is on its way from here on.
    sending.gate().pass().unwrap();
    fixture.copy_in_place();
    run(&ledger, "used");
    if kept == Kept::Postgres {
        // The backup is old, and its leases ran out.
        fixture
            .tamper("UPDATE copy.incarnations SET lease_until = lease_until - '1 day'::interval");
    }
    fixture.put_back_in_place();
    find_out(&ledger);
    let now = match kept {
        Kept::Sqlite => String::new(),
        Kept::Postgres => fixture.database().query("SELECT clock_timestamp()"),
    };
    accept(&ledger);
    let state = |ledger: &Ledger| {
        let found = ledger.lookup(&agent("alice"), &execution_id("pay"));
        found.wait().unwrap().unwrap().record.state
    };
    for _ in 0..1_200 {
        if state(&ledger) == State::Blocked {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(state(&ledger), State::Blocked);
    let unsent = |ledger: &Ledger| {
        let said = ledger.act(pay(), Act::Resolve(Outcome::NotAttempted), operator());
        said.wait()
    };
    if kept == Kept::Postgres {
        // It is dead two leases after that.
        let counts = format!(
            "SELECT bool_and(lease_until > '{now}') FROM countersign.incarnations WHERE ended"
        );
        assert_eq!(fixture.database().query(&counts), "t");
    } else {
        let said = unsent(&ledger);
        assert!(matches!(said, Err(LedgerError::Illegal(_))), "{said:?}");
        // Whoever starts after it knows that it is gone.
        ledger.stop().unwrap();
        drop((ledger, sending));
        ledger = fixture.open();
    }
    fixture.wait_until_the_gone_are_proved_dead();
    let resolved = unsent(&ledger).unwrap().record.state;
    assert_eq!(resolved, State::Settled(Outcome::NotAttempted));
    verify(&ledger);
}
