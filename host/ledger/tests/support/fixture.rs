//! The two stores, each to be opened, damaged, copied and put back.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_evidence::LogId;
use countersign_evidence::key::SigningKey;
use countersign_ledger::{Clock, Ledger, OpenError, Options, Postgres};
use countersign_test_postgres::{Cluster, Database};

use super::TestClock;

/// The store on which a case is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Sqlite,
    Postgres,
}

pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub clock: Arc<TestClock>,
    pub options: Options,
    pub lease: Duration,
    database: Option<Database>,
}

/// A copy of all that a store holds.
pub enum Backup {
    File(Vec<u8>),
    Database(Database),
}

/// The tables of PostgreSQL, referenced ones first.
const TABLES: [&str; 9] = [
    "logs",
    "incarnations",
    "agents",
    "held",
    "executions",
    "entries",
    "checkpoints",
    "retained",
    "answers",
];

/// Its sequences, which go back with their tables.
const SEQUENCES: [&str; 4] = [
    "execution_numbers",
    "logs_number_seq",
    "incarnations_number_seq",
    "agents_number_seq",
];

pub fn key() -> SigningKey {
    key_of(1)
}

/// The key of one replica of a fleet.
pub fn key_of(replica: u8) -> SigningKey {
    let log_id = LogId::new(&format!("ledger.test/{replica}")).unwrap();
    SigningKey::from_seed(log_id, &[6 + replica; 32])
}

pub fn log_id() -> LogId {
    LogId::new("ledger.test/1").unwrap()
}

pub fn options_in(folder: &Path) -> Options {
    Options::new(folder.join("ledger.db"), folder.join("anchor"))
}

impl Fixture {
    pub fn new() -> Self {
        Self::on(Kept::Sqlite)
    }

    pub fn on(kept: Kept) -> Self {
        Self::with_lease(kept, Duration::from_secs(15))
    }

    /// Where incarnations have leases, as long as `lease`.
    pub fn with_lease(kept: Kept, lease: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = options_in(folder.path());
        let (database, clock) = match kept {
            Kept::Sqlite => (None, TestClock::default()),
            Kept::Postgres => (Some(Cluster::shared().database()), TestClock::that_runs()),
        };
        Self {
            folder,
            clock: Arc::new(clock),
            options,
            lease,
            database,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.options.path.clone()
    }

    pub fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    /// Puts another database in place of the fixture's own.
    pub fn use_database(&mut self, database: Database) {
        self.database = Some(database);
    }

    /// The shared database, as replicas are given it.
    pub fn postgres(&self) -> Postgres {
        let mut postgres = Postgres::new(self.database().url().parse().unwrap());
        postgres.lease = self.lease;
        postgres
    }

    pub fn try_open(&self) -> Result<Ledger, OpenError> {
        let clock: Arc<dyn Clock> = Arc::<TestClock>::clone(&self.clock);
        match &self.database {
            None => Ledger::open_sqlite(self.options.clone(), clock, key()),
            Some(_) => Ledger::open_postgres(self.postgres(), self.options.clone(), clock, key()),
        }
    }

    pub fn open(&self) -> Ledger {
        self.try_open().unwrap()
    }

    /// Another replica on the same database, with a log, an anchor and a clock of
    /// its own.
    pub fn replica(&self, number: u8) -> (Ledger, Arc<TestClock>) {
        self.replica_with(number, self.postgres(), self.options.clone())
    }

    pub fn replica_with(
        &self,
        number: u8,
        postgres: Postgres,
        mut options: Options,
    ) -> (Ledger, Arc<TestClock>) {
        options.anchor = self.folder.path().join(format!("anchor-{number}"));
        let clock = Arc::new(TestClock::that_runs());
        let theirs: Arc<dyn Clock> = Arc::<TestClock>::clone(&clock);
        let ledger = Ledger::open_postgres(postgres, options, theirs, key_of(number)).unwrap();
        (ledger, clock)
    }

    /// A second connection of SQLite, for looking and for doing damage.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    /// Changes rows behind the ledger's back.
    pub fn tamper(&self, sql: &str) {
        match &self.database {
            None => self.sql().execute_batch(sql).unwrap(),
            Some(database) => {
                database.query(&format!("SET search_path = countersign; {sql}"));
            }
        }
    }

    /// How many rows a table has.
    pub fn count(&self, table: &str) -> u64 {
        match &self.database {
            None => {
                let sql = format!("SELECT count(*) FROM {table}");
                let count: i64 = self.sql().query_row(&sql, [], |row| row.get(0)).unwrap();
                count.unsigned_abs()
            }
            Some(database) => {
                let sql = format!("SELECT count(*) FROM countersign.{table}");
                database.query(&sql).parse().unwrap()
            }
        }
    }

    /// Copies the store, as a backup would, while the ledger is closed.
    pub fn backup(&self) -> Backup {
        match &self.database {
            None => Backup::File(std::fs::read(self.path()).unwrap()),
            Some(database) => Backup::Database(database.backup()),
        }
    }

    pub fn restore(&self, backup: &Backup) {
        match (backup, &self.database) {
            (Backup::File(bytes), _) => std::fs::write(self.path(), bytes).unwrap(),
            (Backup::Database(backup), Some(database)) => database.restore(backup),
            (Backup::Database(_), None) => panic!("a backup of another store"),
        }
    }

    /// Copies the store while it is open, for [`Fixture::put_back_in_place`].
    pub fn copy_in_place(&self) {
        match &self.database {
            None => {
                let into = format!("VACUUM INTO '{}'", self.path_of_copy().display());
                self.sql().execute_batch(&into).unwrap();
            }
            Some(database) => {
                let copied: String = TABLES
                    .iter()
                    .chain(&SEQUENCES)
                    .map(|table| {
                        format!("CREATE TABLE copy.{table} AS TABLE countersign.{table}; ")
                    })
                    .collect();
                database.query(&format!("CREATE SCHEMA copy; {copied}"));
            }
        }
    }

    /// Puts the copy in the store's place, without ending a connection: as
    /// `pg_restore --clean` and `.restore` do.
    pub fn put_back_in_place(&self) {
        match &self.database {
            None => {
                let from = rusqlite::Connection::open(self.path_of_copy()).unwrap();
                let mut to = self.sql();
                let copying = rusqlite::backup::Backup::new(&from, &mut to).unwrap();
                copying
                    .run_to_completion(1_000, Duration::from_millis(5), None)
                    .unwrap();
            }
            Some(database) => {
                let locked = TABLES
                    .map(|table| format!("countersign.{table}"))
                    .join(", ");
                let put_back: String = TABLES
                    .iter()
                    .map(|table| {
                        format!(
                            "DELETE FROM countersign.{table}; \
                             INSERT INTO countersign.{table} SELECT * FROM copy.{table}; "
                        )
                    })
                    .collect();
                let set_back: String = SEQUENCES
                    .iter()
                    .map(|sequence| {
                        format!(
                            "SELECT setval('countersign.{sequence}', last_value, is_called) \
                             FROM copy.{sequence}; "
                        )
                    })
                    .collect();
                database.query(&format!(
                    "SET session_replication_role = replica; BEGIN; \
                     LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE; {put_back} {set_back} COMMIT"
                ));
            }
        }
    }

    fn path_of_copy(&self) -> PathBuf {
        self.folder.path().join("copy.db")
    }

    /// An owner that is gone may have bytes on their way until then.
    pub fn wait_until_the_gone_are_proved_dead(&self) {
        if self.database.is_some() {
            std::thread::sleep(self.lease * 3 + Duration::from_millis(100));
        }
    }
}
