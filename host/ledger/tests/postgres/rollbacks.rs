//! The database of a fleet goes back in time: who has written nothing for long must
//! notice it as well as who has.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_ledger::{
    Fault, Incarnation, Ledger, LedgerError, Point, Postgres, Probe, Verdict,
};
use countersign_test_postgres::Database;

use crate::support::faults::Pause;
use crate::support::{Fixture, Kept, call, operator, reserve, succeeded};

/// How the older database comes into its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// It is replaced, and every connection breaks.
    Replaced,
    /// The same behind a pooler, where the replicas' own connections hold.
    Pooled,
    /// Its rows are put back, and no connection breaks.
    InPlace,
    /// It is replaced while no replica runs, and they start again.
    WhileStopped,
}

const QUIET: usize = 0;
const WRITER: usize = 1;
/// It started after the copy was made.
const JOINED: usize = 2;

struct Fleet {
    fixture: Fixture,
    postgres: Postgres,
    replicas: Vec<Option<Ledger>>,
}

impl Fleet {
    fn open(&mut self, replica: usize) {
        let number = u8::try_from(replica + 1).unwrap();
        let options = self.fixture.options.clone();
        let (ledger, _) = self
            .fixture
            .replica_with(number, self.postgres.clone(), options);
        self.replicas[replica] = Some(ledger);
    }

    fn ledger(&self, replica: usize) -> &Ledger {
        self.replicas[replica].as_ref().unwrap()
    }

    /// The size that its anchor names of its own log.
    fn anchored(&self, replica: usize) -> u64 {
        let path = self.fixture.folder.path();
        let anchor = path.join(format!("anchor-{}", replica + 1));
        let text = std::fs::read_to_string(anchor).unwrap();
        text.lines().nth(2).unwrap().parse().unwrap()
    }

    fn run(&self, replica: usize, id: &str) {
        let ledger = self.ledger(replica);
        let token = reserve_at_last(ledger, id);
        ledger.settle(token, succeeded()).wait().unwrap();
    }

    /// Waits until every replica has had a heartbeat.
    fn heartbeats(&self) {
        let sql = "SELECT coalesce(sum(renewals), 0) FROM countersign.incarnations \
                   WHERE NOT ended GROUP BY number ORDER BY number";
        let look = || -> Vec<i64> {
            let said = self.fixture.database().query(sql);
            said.lines().map(|line| line.parse().unwrap()).collect()
        };
        let before = look();
        for _ in 0..1_200 {
            let now = look();
            if before
                .iter()
                .zip(&now)
                .all(|(before, now)| *now >= before + 2)
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("a replica has no heartbeat: {before:?}");
    }
}

fn reserve_at_last(ledger: &Ledger, id: &str) -> countersign_ledger::Token {
    for number in 0..600 {
        match ledger
            .reserve(call(format!("{id}-{number}"), Some(id)).attempt())
            .wait()
        {
            Ok(Verdict::Reserved(reserved)) => return reserved.token,
            Err(LedgerError::Unavailable) => std::thread::sleep(Duration::from_millis(50)),
            other => panic!("{other:?}"),
        }
    }
    panic!("the ledger never came back");
}

/// Asks a replica for an identifier that was used, until it says that the database
/// is older than it was.
fn refuses(ledger: &Ledger, case: &str) {
    for number in 0..600 {
        let attempt = call(format!("again-{number}"), Some("used")).attempt();
        match ledger.reserve(attempt).wait() {
            Err(LedgerError::RolledBack) => return,
            Err(LedgerError::Unavailable) => std::thread::sleep(Duration::from_millis(50)),
            other => panic!("{case}: {other:?}"),
        }
    }
    panic!("{case}: it never notices");
}

fn fleet(how: How) -> Fleet {
    let mut fixture = Fixture::with_lease(Kept::Postgres, Duration::from_secs(6));
    fixture.options.checkpoint_every = Duration::from_millis(500);
    let mut postgres = fixture.postgres();
    let pooler = (how == How::Pooled).then(|| {
        let pooler = fixture.database().pooler();
        pooler.expect("PgBouncer is installed (`apt-get install pgbouncer`)")
    });
    if let Some(pooler) = pooler {
        postgres.database = pooler.url().parse().unwrap();
        // It ends with the process.
        std::mem::forget(pooler);
    }
    Fleet {
        fixture,
        postgres,
        replicas: vec![None, None, None],
    }
}

#[test]
fn no_replica_sends_what_any_of_them_used_before_the_database_went_back() {
    for how in [How::Replaced, How::Pooled, How::InPlace, How::WhileStopped] {
        // Whoever is asked first has nobody to learn it from.
        std::thread::scope(|scope| {
            for asked_first in [QUIET, WRITER, JOINED] {
                scope.spawn(move || goes_back(how, asked_first));
            }
        });
    }
}

fn incarnations(fleet: &Fleet) -> Vec<Incarnation> {
    let ledgers = fleet.replicas.iter().flatten();
    ledgers.map(Ledger::incarnation).collect()
}

fn goes_back(how: How, asked_first: usize) {
    let case = format!("{how:?}, asked first: {asked_first}");
    let mut fleet = fleet(how);
    fleet.open(QUIET);
    fleet.open(WRITER);
    fleet.run(QUIET, "before");
    fleet.run(WRITER, "before-too");
    let old = match how {
        How::InPlace => {
            fleet.fixture.copy_in_place();
            None
        }
        _ => Some(fleet.fixture.database().backup()),
    };
    fleet.open(JOINED);
    fleet.run(WRITER, "used");
    if how == How::WhileStopped {
        for replica in &mut fleet.replicas {
            replica.take().unwrap().stop().unwrap();
        }
    } else {
        fleet.heartbeats();
    }
    match &old {
        Some(old) => fleet.fixture.database().restore(old),
        None => fleet.fixture.put_back_in_place(),
    }
    for replica in [asked_first, QUIET, WRITER, JOINED] {
        if fleet.replicas[replica].is_none() {
            fleet.open(replica);
        }
        refuses(fleet.ledger(replica), &case);
    }
    let mut given: Vec<_> = match how {
        // What another process had is not known to one that starts.
        How::WhileStopped => Vec::new(),
        _ => incarnations(&fleet),
    };
    // That one of them is told to go on says nothing to the others.
    let order = [WRITER, JOINED, QUIET];
    for (at, replica) in order.into_iter().enumerate() {
        let ledger = fleet.ledger(replica);
        let accepted = ledger.accept_rollback(operator(), Vec::new()).wait();
        accepted.unwrap_or_else(|error| panic!("{case}: {replica}: {error}"));
        fleet.run(replica, &format!("after-{replica}"));
        for other in order.iter().skip(at + 1) {
            refuses(fleet.ledger(*other), &case);
        }
    }
    given.extend(incarnations(&fleet));
    let different: HashSet<_> = given.iter().collect();
    assert_eq!(different.len(), given.len(), "{case}: {given:?}");
    for replica in [QUIET, WRITER, JOINED] {
        let ledger = fleet.ledger(replica);
        let said = ledger.checkpoint().wait().unwrap();
        let signed = ledger.newest_checkpoint().wait().unwrap().unwrap().size;
        let size = ledger.head().wait().unwrap().size;
        assert_eq!((said, signed), (size, size), "{case}: {replica}");
        assert_eq!(fleet.anchored(replica), size, "{case}: {replica}");
        fleet.replicas[replica].take().unwrap().stop().unwrap();
        fleet.open(replica);
        assert!(!fleet.ledger(replica).rolled_back(), "{case}: {replica}");
    }
}

#[test]
fn a_replica_that_was_given_up_does_not_begin_again_on_an_older_database() {
    let fleet = {
        let mut fleet = fleet(How::InPlace);
        fleet.open(QUIET);
        fleet.open(WRITER);
        fleet
    };
    fleet.run(QUIET, "before");
    fleet.fixture.copy_in_place();
    fleet.run(WRITER, "used");
    fleet.heartbeats();
    fleet.fixture.put_back_in_place();
    fleet.fixture.tamper("UPDATE incarnations SET ended = true");
    refuses(fleet.ledger(QUIET), "it was given up meanwhile");
    let starts = "SELECT count(*) FROM countersign.incarnations";
    assert_eq!(fleet.fixture.database().query(starts), "2");
}

/// Puts an older database in its place at the `nth` passage of a point, which fails.
struct Restored {
    passed: AtomicUsize,
    nth: AtomicUsize,
    old: Mutex<Option<(Database, Database)>>,
}

impl Probe for Restored {
    fn at(&self, point: Point) -> Result<(), Fault> {
        if point != Point::Decided || self.passed.fetch_add(1, Ordering::SeqCst) + 1 != self.nth() {
            return Ok(());
        }
        let (database, old) = self.old.lock().unwrap().take().unwrap();
        database.restore(&old);
        Err(Fault::Error)
    }
}

impl Restored {
    fn nth(&self) -> usize {
        self.nth.load(Ordering::SeqCst)
    }
}

/// Both of them, one after the other.
struct Both(Arc<Pause>, Arc<Restored>);

impl Probe for Both {
    fn at(&self, point: Point) -> Result<(), Fault> {
        Probe::at(self.0.as_ref(), point)?;
        Probe::at(self.1.as_ref(), point)
    }
}

#[test]
fn what_is_left_of_a_group_is_not_written_to_a_database_that_went_back_meanwhile() {
    let fixture = Fixture::on(Kept::Postgres);
    let (first, _) = fixture.replica(1);
    first.stop().unwrap();
    drop(first);
    // A group with such a member is carried out one by one.
    fixture.tamper("ALTER TABLE executions ADD CHECK (call_id <> 'poison')");
    let old = fixture.database().backup();
    let (pause, restored) = (
        Arc::<Pause>::default(),
        Arc::new(Restored {
            passed: AtomicUsize::new(0),
            nth: AtomicUsize::new(usize::MAX),
            old: Mutex::default(),
        }),
    );
    let mut options = fixture.options.clone();
    options.probe = Some(Arc::new(Both(Arc::clone(&pause), Arc::clone(&restored))));
    let (ledger, _) = fixture.replica_with(1, fixture.postgres(), options);
    drop(reserve(&ledger, &call("c0", Some("before"))));
    ledger.checkpoint().wait().unwrap();
    *restored.old.lock().unwrap() = Some((fixture.database().clone(), old));
    pause.at(Point::Taken);
    let waiting = ledger.reserve(call("c1", None).attempt());
    pause.wait_until_it_holds();
    let group: Vec<_> = ["poison", "c2", "c3", "c4", "c5", "c6"]
        .map(|name| ledger.reserve(call(name, Some(name)).attempt()))
        .into();
    // After the one that waits: the group, the poison, and one of the others.
    let now = restored.passed.load(Ordering::SeqCst);
    restored.nth.store(now + 4, Ordering::SeqCst);
    pause.wake();
    drop(waiting.wait().unwrap());
    for said in group {
        assert!(said.wait().is_err());
    }
    assert!(restored.old.lock().unwrap().is_none(), "it was put there");
    assert!(ledger.rolled_back());
    let size = "SELECT count(*) FROM countersign.entries";
    assert_eq!(fixture.database().query(size), "1", "its start alone");
}
