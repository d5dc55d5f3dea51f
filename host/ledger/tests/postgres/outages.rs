//! The database goes away, and comes back, perhaps as another one.

use std::sync::Arc;
use std::time::Duration;

use countersign_canon::Outcome;
use countersign_evidence::Kind;
use countersign_ledger::{Fault, Ledger, LedgerError, Point, Postgres, Probe, State, Verdict};
use countersign_test_postgres::{Cluster, Database, Shutdown};

use crate::support::faults::state;
use crate::support::{Fixture, Kept, call, count, reserve, succeeded, verify};

/// Asks until the ledger is back.
fn reserve_at_last(ledger: &Ledger, id: &str) -> countersign_ledger::Token {
    for number in 0..600 {
        let name = format!("{id}-{number}");
        match ledger.reserve(call(name, Some(id)).attempt()).wait() {
            Ok(Verdict::Reserved(reserved)) => return reserved.token,
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert_eq!(error, LedgerError::Unavailable),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the ledger never came back");
}

fn settled_at_last(ledger: &Ledger, id: &str) {
    for _ in 0..600 {
        let found = ledger.lookup(
            &crate::support::agent("alice"),
            &crate::support::execution_id(id),
        );
        if let Ok(Some(found)) = found.wait()
            && found.record.state == State::Settled(Outcome::Succeeded)
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("`{id}` was never settled");
}

#[test]
fn a_lost_database_is_unavailable_and_comes_back_by_itself() {
    for how in [Shutdown::Fast, Shutdown::Immediate] {
        let cluster = Arc::new(Cluster::start(&[]));
        let mut fixture = Fixture::on(Kept::Postgres);
        fixture.use_database(cluster.database());
        let (ledger, _) = fixture.replica(1);
        assert!(ledger.admits());
        let open = reserve(&ledger, &call("c1", Some("open")));
        open.gate().pass().unwrap();
        cluster.stop(how);
        let said = ledger.reserve(call("c2", Some("pay")).attempt()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Unavailable);
        let read = ledger.lookup_call(&"c1".parse().unwrap()).wait();
        assert_eq!(read.unwrap_err(), LedgerError::Unavailable);
        let said = ledger.settle(open, succeeded()).wait();
        assert_eq!(
            said.unwrap_err(),
            LedgerError::Settlement,
            "never as if it were safe"
        );
        assert!(!ledger.admits());
        cluster.start_again();
        // Readers find it again before the writer does, and are not asked here.
        for _ in 0..600 {
            if ledger.admits() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let token = reserve(&ledger, &call("c3", Some("pay")));
        // What was kept is settled, with the same fence.
        settled_at_last(&ledger, "open");
        ledger.settle(token, succeeded()).wait().unwrap();
        let log = verify(&ledger);
        assert_eq!(count(&log, &Kind::Terminal), 2);
        assert_eq!(count(&log, &Kind::Start), 1);
    }
}

#[test]
fn a_connection_that_was_lost_while_nobody_asked_costs_nobody_an_answer() {
    let cluster = Arc::new(Cluster::start(&[]));
    // Nothing is due meanwhile by which the writer would find out.
    let mut fixture = Fixture::with_lease(Kept::Postgres, Duration::from_secs(600));
    fixture.options.checkpoint_every = Duration::from_secs(600);
    fixture.use_database(cluster.database());
    let (ledger, _) = fixture.replica(1);
    for (number, how) in [Shutdown::Fast, Shutdown::Immediate]
        .into_iter()
        .enumerate()
    {
        // Whole, so that nothing of it is on its way to the writer any more.
        let pair = |name: String| {
            let token = reserve(&ledger, &call(name.clone(), Some(&name)));
            ledger.settle(token, succeeded()).wait().unwrap();
        };
        pair(format!("before{number}"));
        cluster.stop(how);
        cluster.start_again();
        pair(format!("after{number}"));
    }
    verify(&ledger);
}

#[test]
fn an_outage_that_is_longer_than_a_lease_blocks_nobody() {
    let cluster = Arc::new(Cluster::start(&[]));
    let mut fixture = Fixture::with_lease(Kept::Postgres, Duration::from_secs(3));
    fixture.use_database(cluster.database());
    let (one, _) = fixture.replica(1);
    let (two, _) = fixture.replica(2);
    let tokens = [
        (&one, reserve(&one, &call("c1", Some("a")))),
        (&two, reserve(&two, &call("c2", Some("b")))),
    ];
    for (_, token) in &tokens {
        token.gate().pass().unwrap();
    }
    // Both have watched each other for longer than two leases.
    std::thread::sleep(Duration::from_secs(7));
    cluster.stop(Shutdown::Fast);
    std::thread::sleep(Duration::from_secs(5));
    cluster.start_again();
    drop(reserve_at_last(&one, "x"));
    drop(reserve_at_last(&two, "y"));
    std::thread::sleep(Duration::from_secs(2));
    for (ledger, token) in tokens {
        let settled = ledger.settle(token, succeeded()).wait().unwrap();
        assert_eq!(settled.outcome(), Some(Outcome::Succeeded));
    }
    let log = verify(&one);
    assert_eq!(count(&log, &Kind::Blocked), 0);
    assert_eq!(count(&log, &Kind::Start), 2);
}

/// Loses one acknowledgement, and meanwhile something happens to the database.
struct Meanwhile(std::sync::Mutex<Option<(Database, &'static str)>>);

impl Probe for Meanwhile {
    fn at(&self, point: Point) -> Result<(), Fault> {
        let mut next = self.0.lock().unwrap();
        match next.take_if(|_| point == Point::Committed) {
            None => Ok(()),
            Some((database, sql)) => {
                database.query(sql);
                Err(Fault::Error)
            }
        }
    }
}

#[test]
fn a_permit_that_was_taken_away_before_it_was_read_back_is_given_to_nobody() {
    for (what, sql) in [
        (
            "its row is blocked",
            "UPDATE countersign.executions SET state = 'blocked', fence = fence + 1 \
             WHERE call_id = 'c1'",
        ),
        (
            "its owner was ended",
            "UPDATE countersign.incarnations SET ended = true",
        ),
    ] {
        let mut fixture = Fixture::on(Kept::Postgres);
        let meanwhile = Arc::new(Meanwhile(std::sync::Mutex::default()));
        fixture.options.probe = Some(Arc::<Meanwhile>::clone(&meanwhile));
        let (ledger, _) = fixture.replica(1);
        drop(reserve(&ledger, &call("c0", Some("before"))));
        ledger.checkpoint().wait().unwrap();
        *meanwhile.0.lock().unwrap() = Some((fixture.database().clone(), sql));
        let said = ledger.reserve(call("c1", Some("pay")).attempt()).wait();
        assert_eq!(said.unwrap_err(), LedgerError::Unavailable, "{what}");
        assert!(meanwhile.0.lock().unwrap().is_none(), "{what}");
    }
}

#[test]
fn connections_that_are_cut_lose_nothing_that_was_acknowledged() {
    let fixture = Fixture::on(Kept::Postgres);
    let (ledger, _) = fixture.replica(1);
    let mut acknowledged = Vec::new();
    for number in 0..30 {
        let id = format!("e{number}");
        if number % 5 == 4 {
            fixture.database().cut_connections();
        }
        match ledger
            .reserve(call(format!("c{number}"), Some(&id)).attempt())
            .wait()
        {
            Ok(Verdict::Reserved(reserved)) => {
                ledger.settle(reserved.token, succeeded()).wait().unwrap();
                acknowledged.push(id);
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert_eq!(error, LedgerError::Unavailable),
        }
    }
    assert!(acknowledged.len() >= 20, "{acknowledged:?}");
    for id in &acknowledged {
        assert_eq!(
            state(&ledger, id),
            Some(State::Settled(Outcome::Succeeded)),
            "{id}"
        );
    }
    verify(&ledger);
}

#[test]
fn a_database_that_is_another_one_after_a_reconnect_admits_nothing() {
    let fixture = Fixture::on(Kept::Postgres);
    let (first, _) = fixture.replica(1);
    drop(reserve(&first, &call("c1", Some("a"))));
    first.stop().unwrap();
    drop(first);
    let old = fixture.database().backup();
    let (ledger, _) = fixture.replica(1);
    let token = reserve(&ledger, &call("c2", Some("b")));
    let gate = token.gate();
    ledger.checkpoint().wait().unwrap();
    // As a failover to a standby that lagged behind would.
    fixture.database().restore(&old);
    let mut said = LedgerError::Unavailable;
    for number in 0..200 {
        let attempt = call(format!("x{number}"), Some("b")).attempt();
        said = ledger.reserve(attempt).wait().unwrap_err();
        if said == LedgerError::RolledBack {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(said, LedgerError::RolledBack);
    assert!(ledger.rolled_back());
    assert!(gate.pass().is_err(), "nothing is sent on its strength");
}

#[test]
fn a_postgres_that_is_not_there_is_said_so_at_open() {
    let fixture = Fixture::on(Kept::Postgres);
    let nobody = fixture.database().url_through(1);
    let postgres = Postgres::new(nobody.parse().unwrap());
    let clock = Arc::new(crate::support::TestClock::that_runs());
    let said = Ledger::open_postgres(
        postgres,
        fixture.options.clone(),
        clock,
        crate::support::key(),
    );
    let said = said.unwrap_err();
    assert_eq!(said.code(), "ledger-unavailable");
    assert!(said.to_string().contains("127.0.0.1/test_"), "{said}");
}
