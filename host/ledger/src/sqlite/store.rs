//! The writer's side of the database.
//!
//! After any error the connection is closed and opened again: SQLite may have
//! rolled the transaction back already, and a later statement would commit
//! alone. What is read back after that is authoritative, since this process
//! alone writes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId, Head, LogId};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::attempt::Epochs;
use crate::error::OpenError;
use crate::identity::Incarnation;
use crate::known::{End, Known};
use crate::lease::Lease;
use crate::options::AnswerBounds;
use crate::plan::{Base, Batch, Row, Rows};
use crate::reading::{Page, Selection, StoredCheckpoint};
use crate::sqlite::columns::{Count, Raw};
use crate::sqlite::connect::{Writing, writing};
use crate::sqlite::wal::Wal;
use crate::sqlite::{answers, reads, rows, write};
use crate::store::{self, Lost, ReadBack, StoreError, Upkeep, Wanted};

/// The numbers of agents that are remembered between groups.
const AGENTS_REMEMBERED: usize = 10_000;

/// The writer's connection, and what it knows of the database.
pub(crate) struct Store {
    pub(super) connection: Option<Connection>,
    pub(super) log_id: LogId,
    pub(super) incarnation: Incarnation,
    /// The first of this process: it has another one once a rollback is accepted.
    pub(super) first: Option<Incarnation>,
    pub(super) lease: Arc<Lease>,
    pub(super) known: Known,
    pub(super) path: PathBuf,
    pub(super) max_pages: Option<u32>,
    pub(super) agents: HashMap<Agent, i64>,
    pub(super) answers: AnswerBounds,
    pub(super) wal: Wal,
    /// Held open for as long as this process owns the database.
    pub(super) _lock: std::fs::File,
}

/// The rows as the writer's transaction sees them.
pub(crate) struct InTransaction<'a> {
    connection: &'a Connection,
    log_id: &'a LogId,
    first: Option<Incarnation>,
}

impl Store {
    fn connection(&self) -> Result<&Connection, StoreError> {
        connected(self.connection.as_ref())
    }
}

fn connected(connection: Option<&Connection>) -> Result<&Connection, StoreError> {
    connection.ok_or_else(|| StoreError::Failed("not connected".into()))
}

impl store::Store for Store {
    type Rows<'a> = InTransaction<'a>;

    fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    fn begin(&mut self, _wanted: &Wanted<'_>) -> Result<Base, StoreError> {
        let connection = self.connection()?;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let base = base(connection, &self.log_id)?;
        self.known.fits(&base.head)?;
        self.known.begun(&base.head);
        Ok(base)
    }

    fn rows(&self) -> Result<InTransaction<'_>, StoreError> {
        Ok(InTransaction {
            connection: self.connection()?,
            log_id: &self.log_id,
            first: self.first,
        })
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let mut agents = std::mem::take(&mut self.agents);
        if agents.len() > AGENTS_REMEMBERED {
            agents.clear();
        }
        let connection = self.connection()?;
        write::batch(connection, &mut agents, batch)?;
        answers::keep(connection, &batch.rows, self.answers, batch.now_us)?;
        // Only now: what was learned in a group that failed would be wrong.
        self.agents = agents;
        self.known.wrote(&batch.head);
        Ok(())
    }

    fn keep_checkpoint(&mut self, size: u64, text: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO checkpoints (size, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.connection()?
            .prepare_cached(sql)?
            .execute(params![Count(size), text])?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.known.committing();
        self.connection()?.prepare_cached("COMMIT")?.execute([])?;
        self.known.committed();
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.known.dropped();
        Ok(self.connection()?.execute_batch("ROLLBACK")?)
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.connection = None;
        self.agents.clear();
        self.known.dropped();
        let Writing {
            connection,
            wal_pages,
        } = writing(&self.path, self.max_pages)
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        self.connection = Some(connection);
        self.wal.pages = wal_pages;
        Ok(())
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(base(self.connection()?, &self.log_id)?.head)
    }

    fn holds(&mut self, sequence: u64, hash: Digest) -> Result<bool, StoreError> {
        holds(self.connection()?, sequence, hash)
    }

    fn newest_checkpoint(&mut self) -> Result<Option<StoredCheckpoint>, StoreError> {
        reads::newest_checkpoint(self.connection()?)
    }

    fn entries(&mut self, from: u64, most: usize) -> Result<Page, StoreError> {
        reads::page(
            self.connection()?,
            &self.log_id,
            &Selection::All,
            from,
            most,
        )
    }

    fn look(&mut self) -> Result<(), StoreError> {
        // There is one log, and each group compares its end.
        Ok(())
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn remember(&mut self, _others: &[End]) {}

    fn forget(&mut self) -> Result<(), StoreError> {
        // Permits from before are for executions that the store may not hold.
        self.lease.end();
        self.lease = Arc::new(Lease::endless());
        self.known.forget();
        Ok(())
    }

    fn read_back(&mut self, lost: &Lost<'_>) -> Result<ReadBack, StoreError> {
        // Nobody else writes, so what is there is as this process left it.
        Ok(if self.holds(lost.sequence, lost.hash)? {
            ReadBack::Durable
        } else {
            ReadBack::Absent
        })
    }

    fn enlist(&mut self, started_us: i64) -> Result<(Incarnation, Base), StoreError> {
        let base = self.begin(&Wanted::default())?;
        let connection = self.connection()?;
        // A database that went back counts from where it was then; what this process
        // had before is not given again.
        connection.execute(
            "INSERT INTO incarnations (number, started_us) SELECT 1 + max(?2, \
             (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'incarnations')), ?1",
            params![started_us, self.incarnation.get()],
        )?;
        let incarnation = Incarnation::new(connection.last_insert_rowid());
        connection.execute("UPDATE ledger SET anchored = 1", [])?;
        self.incarnation = incarnation;
        self.first.get_or_insert(incarnation);
        Ok((incarnation, base))
    }

    fn orphans(&mut self, most: usize) -> Result<Vec<Row>, StoreError> {
        // Asked at open alone, when nothing is in flight for this incarnation.
        let connection = self.connection()?;
        Ok(rows::in_state(
            connection,
            &self.log_id,
            "in-flight",
            0,
            most,
        )?)
    }

    fn upkeep(&mut self) -> Result<Upkeep, StoreError> {
        self.wal.keep_short(connected(self.connection.as_ref())?)?;
        Ok(Upkeep::Quiet)
    }

    fn expire_answers(&mut self, now_us: i64) -> Result<bool, StoreError> {
        answers::expire(self.connection()?, self.answers, now_us)
    }

    fn due(&self) -> Option<Duration> {
        None
    }

    fn leave(&mut self) {}

    fn cannot_open(&self, error: &StoreError) -> OpenError {
        match error {
            StoreError::Damaged(detail) => OpenError::Damaged(detail.clone()),
            other => OpenError::Database {
                database: self.path.display().to_string(),
                detail: other.to_string(),
            },
        }
    }
}

impl Rows for InTransaction<'_> {
    fn by_execution(&self, agent: &Agent, id: &ExecutionId) -> Result<Option<Row>, StoreError> {
        Ok(rows::by_execution(self.connection, self.log_id, agent, id)?)
    }

    fn by_call(&self, call_id: &CallId) -> Result<Option<Row>, StoreError> {
        Ok(rows::by_call(self.connection, self.log_id, call_id)?)
    }

    fn by_number(&self, number: i64) -> Result<Option<Row>, StoreError> {
        Ok(rows::by_number(self.connection, self.log_id, number)?)
    }

    fn held_by(&self, agent: &Agent) -> Result<u64, StoreError> {
        Ok(rows::held_by(self.connection, agent)?)
    }

    fn issued_to(&self, agent: &Agent, state: &Digest) -> Result<bool, StoreError> {
        Ok(rows::issued_to(self.connection, agent, state)?)
    }

    fn retained(&self, number: i64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(rows::retained(self.connection, number)?)
    }

    fn kept_until(&self, number: i64, now_us: i64) -> Result<Option<i64>, StoreError> {
        answers::until(self.connection, number, now_us)
    }

    fn holds(&self, sequence: u64, hash: Digest) -> Result<bool, StoreError> {
        holds(self.connection, sequence, hash)
    }

    fn dead(&self, incarnation: Incarnation) -> Result<bool, StoreError> {
        // One process owns the database, so every incarnation is that was before it.
        // One of its own may have a request on its way still, however long ago a
        // rollback was accepted.
        Ok(self.first.is_some_and(|first| incarnation < first))
    }
}

/// Whether the log has an entry with this hash at a place.
fn holds(connection: &Connection, sequence: u64, hash: Digest) -> Result<bool, StoreError> {
    let sql = "SELECT hash FROM entries WHERE sequence = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![Count(sequence)], |row| row.get::<_, Raw>(0));
    Ok(found.optional()?.is_some_and(|found| found.0 == hash))
}

/// Reads what a plan starts from.
pub(super) fn base(connection: &Connection, log_id: &LogId) -> Result<Base, StoreError> {
    let sql = "SELECT head, policy_epoch, catalog_epoch, \
               (SELECT coalesce(max(number), 0) FROM executions) FROM ledger";
    let (head, policy, catalog, last): (Vec<u8>, Count, Count, i64) =
        connection.prepare_cached(sql)?.query_row([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let head = Head::decode(log_id.clone(), &head)
        .map_err(|error| StoreError::Damaged(error.to_string()))?;
    let epochs = Epochs {
        policy: policy.0,
        catalog: catalog.0,
    };
    Ok(Base {
        head,
        epochs,
        next_number: last.saturating_add(1),
    })
}
