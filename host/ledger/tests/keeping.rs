//! What SQLite does with answers that are kept beyond what every store does: it
//! makes room in the transaction that needs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::time::Duration;

use countersign_ledger::{AnswerBounds, Ledger};
use support::{Fixture, found, run, verify};

#[test]
fn the_first_to_expire_makes_room_in_number_and_in_bytes_and_no_outcome_is_in_the_way() {
    let mut fixture = Fixture::new();
    fixture.options.answers = AnswerBounds {
        count: 3,
        bytes: 100,
    };
    let ledger = fixture.open();
    for name in ["a", "b", "c", "d"] {
        run(&fixture, &ledger, name, "1234567890", 60);
    }
    let held = |ledger: &Ledger| {
        let names = ["a", "b", "c", "d", "e", "f"];
        let held = names
            .into_iter()
            .filter(|name| found(&fixture, ledger, name).is_some());
        held.collect::<String>()
    };
    assert_eq!(held(&ledger), "bcd");
    run(&fixture, &ledger, "e", &"x".repeat(85), 60);
    assert_eq!(held(&ledger), "de", "95 bytes of 100");
    run(&fixture, &ledger, "f", &"x".repeat(101), 60);
    assert_eq!(held(&ledger), "de", "one that never fits drops nobody");
    let (count, bytes): (i64, i64) = fixture
        .sql()
        .query_row("SELECT count, bytes FROM answers_kept", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!((count, bytes), (2, 95), "the total is that of the rows");
    verify(&ledger);
}

#[test]
fn expired_answers_leave_the_database_with_later_groups() {
    let fixture = Fixture::new();
    let ledger = fixture.open();
    for number in 0..200 {
        run(&fixture, &ledger, &format!("old-{number}"), "answer", 1);
    }
    fixture.clock.advance(Duration::from_secs(2));
    for number in 0..4 {
        run(&fixture, &ledger, &format!("new-{number}"), "answer", 60);
    }
    ledger.stop().unwrap();
    let rows: i64 = fixture
        .sql()
        .query_row("SELECT count(*) FROM answers", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 4, "each group takes more away than it brings");
}
