//! What the server is asked for, and how it may be reached.

use std::sync::Arc;

use countersign_evidence::Kind;
use countersign_ledger::{Ledger, OpenError, Postgres};
use countersign_test_postgres::{Cluster, Database};

use crate::support::{
    Fixture, Kept, TestClock, call, count, key_of, options_in, reserve, succeeded, verify,
};

fn open(database: &Database, adjust: impl FnOnce(&mut Postgres)) -> Result<Ledger, OpenError> {
    let folder = tempfile::tempdir().unwrap();
    let mut postgres = Postgres::new(database.url().parse().unwrap());
    adjust(&mut postgres);
    let clock = Arc::new(TestClock::that_runs());
    Ledger::open_postgres(postgres, options_in(folder.path()), clock, key_of(1))
}

#[test]
fn a_server_that_does_not_keep_what_it_acknowledged_is_refused() {
    for setting in ["fsync", "full_page_writes"] {
        let cluster = Arc::new(Cluster::start(&[&format!("{setting}=off")]));
        let said = open(&cluster.database(), |_| ()).unwrap_err();
        assert_eq!(said.code(), "ledger-not-durable");
        assert!(said.to_string().contains(&format!("`{setting}`")), "{said}");
    }
}

#[test]
fn commits_are_synchronous_whatever_the_servers_default_is() {
    let cluster = Cluster::start(&["synchronous_commit=off", "log_statement=all"]);
    let cluster = Arc::new(cluster);
    let ledger = open(&cluster.database(), |_| ()).unwrap();
    drop(reserve(&ledger, &call("c1", Some("pay"))));
    let log = cluster.log();
    let begun = log.matches("BEGIN ISOLATION LEVEL READ COMMITTED").count();
    let set = log.matches("SET LOCAL synchronous_commit = on").count();
    assert!(begun > 2, "{log}");
    assert_eq!(begun, set);
}

#[test]
fn standbys_of_which_none_is_synchronous_are_refused_unless_an_operator_takes_the_loss() {
    let cluster = Arc::new(Cluster::start(&[]));
    let database = cluster.database();
    let _standby = cluster.standby();
    let said = open(&database, |_| ()).unwrap_err();
    assert_eq!(said.code(), "ledger-not-durable");
    assert!(said.to_string().contains("`synchronous_standby_names`"));
    let taken = open(&database, |postgres| postgres.unsynchronous_standbys = true);
    drop(taken.unwrap());
}

#[test]
fn replicas_that_start_together_migrate_once() {
    let database = Cluster::shared().database();
    let opened: Vec<Ledger> = std::thread::scope(|scope| {
        let starting: Vec<_> = (1..=4_u8)
            .map(|number| {
                let database = &database;
                scope.spawn(move || {
                    let folder = tempfile::tempdir().unwrap();
                    let postgres = Postgres::new(database.url().parse().unwrap());
                    let clock = Arc::new(TestClock::that_runs());
                    let options = options_in(folder.path());
                    Ledger::open_postgres(postgres, options, clock, key_of(number)).unwrap()
                })
            })
            .collect();
        starting
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(opened[0].logs().wait().unwrap().len(), 4);
    let versions = database.query("SELECT count(*) FROM countersign.version");
    assert_eq!(versions, "1");
    verify(&opened[0]);
}

#[test]
fn a_database_of_a_newer_program_is_left_alone() {
    let fixture = Fixture::on(Kept::Postgres);
    fixture.open().stop().unwrap();
    fixture.tamper("UPDATE version SET version = 99");
    assert_eq!(fixture.try_open().unwrap_err().code(), "ledger-too-new");
}

#[test]
fn a_head_that_does_not_fit_the_last_entry_is_damage() {
    let fixture = Fixture::on(Kept::Postgres);
    let ledger = fixture.open();
    drop(reserve(&ledger, &call("c1", Some("pay"))));
    ledger.stop().unwrap();
    fixture.tamper("DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)");
    assert_eq!(fixture.try_open().unwrap_err().code(), "ledger-damaged");
}

#[test]
fn replicas_work_through_a_pooler_that_hands_out_connections_for_a_transaction() {
    let fixture = Fixture::on(Kept::Postgres);
    let pooler = fixture.database().pooler();
    let pooler = pooler.expect("PgBouncer is installed (`apt-get install pgbouncer`)");
    let replicas: Vec<_> = (1..=3)
        .map(|number| {
            let postgres = Postgres::new(pooler.url().parse().unwrap());
            fixture
                .replica_with(number, postgres, fixture.options.clone())
                .0
        })
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..12_usize {
            let ledger = &replicas[thread % 3];
            scope.spawn(move || {
                for number in 0..15 {
                    let id = format!("{thread}-{number}");
                    let token = reserve(ledger, &call(format!("c{id}"), Some(&id)));
                    ledger.settle(token, succeeded()).wait().unwrap();
                    let found = ledger.lookup_call(&format!("c{id}").parse().unwrap());
                    assert!(found.wait().unwrap().is_some());
                }
            });
        }
    });
    let log = verify(&replicas[0]);
    assert_eq!(count(&log, &Kind::Terminal), 180);
    assert!(
        !pooler.log().contains("prepared statement"),
        "{}",
        pooler.log()
    );
}
