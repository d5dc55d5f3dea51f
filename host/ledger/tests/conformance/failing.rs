//! The store fails around a commit: nothing is lost, and nothing is done twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_canon::{Classification, Outcome};
use countersign_evidence::Kind;
use countersign_ledger::{Fault, Ledger, LedgerError, Point, Settlement, State};

use crate::support::faults::{Failing, Hold, Panicking, failing, let_time_pass, state};
use crate::support::{
    Fixture, Kept, answer, call, count, digest, found, kept, refused, reserve, succeeded, verify,
};

pub fn a_group_that_fails_at_or_before_its_commit_leaves_nothing_and_settles_later(kept: Kept) {
    for point in [Point::Decided, Point::Written, Point::Committing] {
        let (fixture, failing, ledger) = failing(kept);
        let open = reserve(&ledger, &call("c0", Some("open")));
        failing.next(&[(point, Fault::Error)]);
        let said = ledger.reserve(call("c1", Some("pay")).attempt()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
        assert_eq!(state(&ledger, "pay"), None, "nothing of it is there");
        drop(reserve(&ledger, &call("c2", Some("pay"))));
        // What the dropped token leaves is settled before the next fault is made.
        ledger.checkpoint().wait().unwrap();

        failing.next(&[(point, Fault::Error)]);
        let said = ledger.settle(open, succeeded()).wait();
        assert_eq!(
            said.unwrap_err(),
            LedgerError::Settlement,
            "never as if it were safe"
        );
        let_time_pass(&fixture, &ledger);
        assert_eq!(
            state(&ledger, "open"),
            Some(State::Settled(Outcome::Succeeded))
        );
        assert!(failing.all_met());
        verify(&ledger);
    }
}

pub fn an_acknowledgement_that_was_lost_is_read_back(kept: Kept) {
    let (_fixture, failing, ledger) = failing(kept);
    failing.next(&[(Point::Committed, Fault::Error)]);
    let token = reserve(&ledger, &call("c1", Some("pay")));
    failing.next(&[(Point::Committed, Fault::Error)]);
    let settled = ledger.settle(token, succeeded()).wait().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Succeeded));
    assert!(failing.all_met());
    let log = verify(&ledger);
    assert_eq!(
        (count(&log, &Kind::Admission), count(&log, &Kind::Terminal)),
        (1, 1)
    );
}

pub fn a_reservation_that_cannot_be_read_back_is_given_up_and_settled_as_never_sent(kept: Kept) {
    let (fixture, failing, ledger) = failing(kept);
    let open = reserve(&ledger, &call("c0", Some("open")));
    let lost = [
        (Point::Committed, Fault::Error),
        (Point::Reopened, Fault::Error),
        (Point::Reopened, Fault::Error),
    ];
    failing.next(&lost);
    let said = ledger.reserve(call("c1", Some("pay")).attempt()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
    // The store is away still: this one is turned away too, and nothing is lost.
    let said = ledger.settle(open, succeeded()).wait();
    assert_eq!(said.unwrap_err(), LedgerError::Settlement);
    assert!(failing.all_met());
    let_time_pass(&fixture, &ledger);
    assert_eq!(
        state(&ledger, "pay"),
        Some(State::Settled(Outcome::NotAttempted))
    );
    assert_eq!(
        state(&ledger, "open"),
        Some(State::Settled(Outcome::Succeeded))
    );
    let said = refused(
        ledger
            .reserve(call("c2", Some("pay")).attempt())
            .wait()
            .unwrap(),
    );
    assert_eq!(
        said.classification,
        Some(Classification::Replay(Outcome::NotAttempted))
    );
    assert!(said.safe_with_new_id);
    verify(&ledger);
}

pub fn a_settlement_in_doubt_is_made_once(kept: Kept) {
    for durable in [true, false] {
        let (fixture, failing, ledger) = failing(kept);
        let token = reserve(&ledger, &call("c1", Some("pay")));
        let at = if durable {
            Point::Committed
        } else {
            Point::Committing
        };
        failing.next(&[(at, Fault::Error), (Point::Reopened, Fault::Error)]);
        let said = ledger.settle(token, succeeded()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Settlement);
        let_time_pass(&fixture, &ledger);
        let_time_pass(&fixture, &ledger);
        assert_eq!(
            state(&ledger, "pay"),
            Some(State::Settled(Outcome::Succeeded))
        );
        assert_eq!(count(&verify(&ledger), &Kind::Terminal), 1);
    }
}

/// Makes the store fail where a statement does what `when` says, of rows of
/// `table`; not as one that only refuses a member of a group.
fn forbid(fixture: &Fixture, store: Kept, table: &str, doing: &str, when: &str) {
    let sql = match store {
        Kept::Sqlite => format!(
            "CREATE TRIGGER forbidden BEFORE {doing} ON {table} WHEN {when} \
             BEGIN SELECT RAISE(ABORT, 'no room'); END"
        ),
        Kept::Postgres => format!(
            "CREATE FUNCTION countersign.forbid() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$; \
             CREATE TRIGGER forbidden BEFORE {doing} ON countersign.{table} FOR EACH ROW \
             WHEN ({when}) EXECUTE FUNCTION countersign.forbid()"
        ),
    };
    fixture.tamper(&sql);
}

fn held(store: Kept) -> (Fixture, Arc<Hold>, Ledger) {
    let mut fixture = Fixture::on(store);
    let hold = Arc::<Hold>::default();
    fixture.options.probe = Some(Arc::<Hold>::clone(&hold));
    let ledger = fixture.open();
    (fixture, hold, ledger)
}

pub fn an_outcome_that_cannot_be_written_keeps_no_other_from_it(store: Kept) {
    for (size, poisoned) in [(2, vec![0]), (9, vec![4]), (100, vec![0, 63, 99])] {
        let (fixture, hold, ledger) = held(store);
        let names: Vec<String> = (0..size).map(|number| format!("c{number}")).collect();
        let tokens: Vec<_> = names
            .iter()
            .map(|name| reserve(&ledger, &call(name.clone(), Some(name))))
            .collect();
        let bad: Vec<String> = poisoned.iter().map(|at| format!("'c{at}'")).collect();
        let when = format!("new.call_id IN ({})", bad.join(", "));
        forbid(&fixture, store, "executions", "UPDATE", &when);
        // All of them are one group.
        hold.set(true);
        let first = ledger.checkpoint();
        hold.until_it_stands();
        let said: Vec<_> = tokens
            .into_iter()
            .map(|token| ledger.settle(token, succeeded()))
            .collect();
        hold.set(false);
        first.wait().unwrap();
        for said in said {
            drop(said.wait());
        }
        let_time_pass(&fixture, &ledger);
        for (at, name) in names.iter().enumerate() {
            let stands = state(&ledger, name).unwrap();
            let settled = stands == State::Settled(Outcome::Succeeded);
            assert_eq!(
                settled,
                !poisoned.contains(&at),
                "`{name}` of {size}: {stands:?}"
            );
        }
        verify(&ledger);
    }
}

pub fn an_answer_that_cannot_be_kept_is_let_go_before_its_outcome_is(store: Kept) {
    let (fixture, hold, ledger) = held(store);
    let long = "x".repeat(4_000);
    let asked = |text: &str| Settlement::Asked {
        issued: Some(digest("s")),
        answer: answer(text),
        retained: text.as_bytes().to_vec(),
    };
    let tokens = ["long", "short", "asks-long", "asks"].map(|name| {
        let token = reserve(&ledger, &call(name, Some(name)));
        (name, token)
    });
    for table in ["answers", "retained"] {
        forbid(&fixture, store, table, "INSERT", "length(new.bytes) > 1000");
        fixture.tamper(match (store, table) {
            (Kept::Sqlite, "answers") => {
                "DROP TRIGGER forbidden; CREATE TRIGGER other BEFORE INSERT ON answers \
                 WHEN length(new.bytes) > 1000 BEGIN SELECT RAISE(ABORT, 'no room'); END"
            }
            (Kept::Postgres, "answers") => {
                "ALTER FUNCTION countersign.forbid() RENAME TO forbid_answers"
            }
            _ => "SELECT 1",
        });
    }
    hold.set(true);
    let first = ledger.checkpoint();
    hold.until_it_stands();
    let said = tokens.map(|(name, token)| match name {
        "long" => ledger.settle_keeping(token, succeeded(), Some(kept(&fixture, &long, 600))),
        "short" => ledger.settle_keeping(token, succeeded(), Some(kept(&fixture, "short", 600))),
        "asks" => ledger.settle(token, asked("?")),
        _ => ledger.settle(token, asked(&long)),
    });
    hold.set(false);
    first.wait().unwrap();
    for said in said {
        drop(said.wait());
    }
    // An answer is worth some patience, and not all of it.
    for _ in 0..4 {
        let_time_pass(&fixture, &ledger);
    }
    for name in ["long", "short"] {
        let settled = Some(State::Settled(Outcome::Succeeded));
        assert_eq!(state(&ledger, name), settled, "{name}");
    }
    for name in ["asks-long", "asks"] {
        assert_eq!(state(&ledger, name), Some(State::AwaitingInput), "{name}");
    }
    assert_eq!(found(&fixture, &ledger, "long"), None);
    assert_eq!(found(&fixture, &ledger, "short").as_deref(), Some("short"));
    let again = |name: &'static str| {
        let attempt = call(format!("again-{name}"), Some(name)).attempt();
        refused(ledger.reserve(attempt).wait().unwrap()).retained
    };
    assert_eq!(again("asks-long"), None);
    assert_eq!(again("asks").as_deref(), Some(b"?".as_slice()));
    verify(&ledger);
}

pub fn a_writer_that_panics_lets_nobody_wait_and_says_that_it_is_over(store: Kept) {
    for at in Point::ALL {
        let mut fixture = Fixture::on(store);
        let panicking = Arc::new(Panicking {
            faults: Failing::default(),
            at,
            armed: AtomicBool::new(false),
        });
        fixture.options.probe = Some(Arc::<Panicking>::clone(&panicking));
        let ledger = fixture.open();
        let token = reserve(&ledger, &call("c0", Some("open")));
        let dropped = reserve(&ledger, &call("c1", Some("dropped")));
        ledger.checkpoint().wait().unwrap();
        if at == Point::Reopened {
            panicking.faults.next(&[(Point::Committed, Fault::Error)]);
        }
        panicking.armed.store(true, Ordering::SeqCst);
        let reserving: Vec<_> = (0..20)
            .map(|number| ledger.reserve(call(format!("x{number}"), None).attempt()))
            .collect();
        let settling = ledger.settle(token, succeeded());
        let checkpoint = ledger.checkpoint();
        drop(dropped);
        for said in reserving {
            // The one at `answered` has its permit already.
            assert!(at == Point::Answered || said.wait().is_err(), "{at:?}");
        }
        drop((settling.wait(), checkpoint.wait()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let over = runtime.block_on(async {
            tokio::time::timeout(std::time::Duration::from_secs(60), ledger.fatal()).await
        });
        assert!(over.is_ok(), "{at:?}");
        assert!(!ledger.admits(), "{at:?}");
        let said = ledger.reserve(call("late", None).attempt()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Unavailable, "{at:?}");
        assert!(ledger.stop().is_err());
    }
}
