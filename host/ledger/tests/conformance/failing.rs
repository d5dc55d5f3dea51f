//! The store fails around a commit: nothing is lost, and nothing is done twice.

use countersign_canon::{Classification, Outcome};
use countersign_evidence::Kind;
use countersign_ledger::{Fault, LedgerError, Point, State};

use crate::support::faults::{failing, let_time_pass, state};
use crate::support::{Kept, call, count, refused, reserve, succeeded, verify};

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
