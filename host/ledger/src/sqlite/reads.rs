//! Reading, beside the writer.
//!
//! Each read is one short statement on a connection of a small pool, so that no
//! reader holds up the start of a new WAL for long.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use countersign_evidence::{Agent, CallId, ExecutionId, LogId, ServerName};
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, params};

use crate::attempt::Epochs;
use crate::error::{BackupError, LedgerError};
use crate::execution::Execution;
use crate::identity::TaskId;
use crate::plan::Row;
use crate::reading::{
    KnownLog, LogHead, Page, Reads, Selection, Standing, StoredCheckpoint, StoredEntry,
};
use crate::request::Pending;
use crate::settlement::Kept;
use crate::sqlite::backup::{self, LongReads};
use crate::sqlite::columns::{Count, Raw, salt};
use crate::sqlite::connect::reading;
use crate::sqlite::store::base;
use crate::sqlite::{answers, rows};
use crate::store::StoreError;

/// Connections that are kept open between reads.
const KEPT: usize = 4;

/// The most entries of one page, and the most that one page looks at.
const PAGE: usize = 1_000;
const LOOKED_AT: u64 = 20_000;

/// Connections that only read.
pub(super) struct Readers {
    path: PathBuf,
    log_id: LogId,
    idle: Mutex<Vec<Connection>>,
    long: LongReads,
}

impl Readers {
    pub(super) fn new(path: PathBuf, log_id: LogId, long: LongReads) -> Self {
        Self {
            path,
            log_id,
            idle: Mutex::default(),
            long,
        }
    }

    fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, LedgerError> {
        let failed = |error: StoreError| {
            tracing::warn!(%error, "a read of the ledger failed");
            LedgerError::Unavailable
        };
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let connection = match idle {
            Some(connection) => connection,
            None => reading(&self.path).map_err(|error| failed(error.into()))?,
        };
        // A connection that failed is not used again.
        let value = read(&connection).map_err(failed)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(connection);
        }
        Ok(value)
    }

    fn ask<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Pending<T> {
        Pending::ready(self.with(read))
    }

    /// The same of one log: there is only this one.
    fn ask_of<T>(
        &self,
        log: &LogId,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Pending<T> {
        if *log == self.log_id {
            self.ask(read)
        } else {
            Pending::failed(LedgerError::NotFound)
        }
    }
}

impl Reads for Readers {
    fn by_execution(&self, agent: &Agent, id: &ExecutionId) -> Pending<Option<Execution>> {
        self.ask(|connection| {
            Ok(rows::by_execution(connection, &self.log_id, agent, id)?.map(|row| row.execution))
        })
    }

    fn by_call(&self, call_id: &CallId) -> Pending<Option<Execution>> {
        self.ask(|connection| {
            Ok(rows::by_call(connection, &self.log_id, call_id)?.map(|row| row.execution))
        })
    }

    fn by_task(
        &self,
        agent: &Agent,
        server: &ServerName,
        task: &TaskId,
    ) -> Pending<Option<Execution>> {
        self.ask(|connection| {
            let row = rows::by_task(connection, &self.log_id, agent, server, task)?;
            Ok(row.map(|row| row.execution))
        })
    }

    fn kept_answer(&self, call_id: &CallId, now_us: i64) -> Pending<Option<Kept>> {
        self.ask(|connection| answers::of_call(connection, call_id, now_us))
    }

    fn backup(&self, to: &Path) -> Option<Result<u64, BackupError>> {
        Some(backup::backup(&self.path, to, &self.long))
    }

    fn list(&self, standing: Standing, after: i64, limit: usize) -> Pending<Vec<(i64, Execution)>> {
        self.ask(|connection| {
            let (state, limit) = (standing.as_str(), limit.min(PAGE));
            let rows = rows::in_state(connection, &self.log_id, state, after, limit)?;
            Ok(rows
                .into_iter()
                .map(|Row { number, execution }| (number, execution))
                .collect())
        })
    }

    fn epochs(&self) -> Pending<Epochs> {
        self.ask(|connection| Ok(base(connection, &self.log_id)?.epochs))
    }

    fn logs(&self) -> Pending<Vec<KnownLog>> {
        self.ask(|connection| {
            let head = LogHead::of(&base(connection, &self.log_id)?.head);
            Ok(vec![KnownLog { head, key: None }])
        })
    }

    fn head(&self, log: &LogId) -> Pending<LogHead> {
        self.ask_of(log, |connection| {
            Ok(LogHead::of(&base(connection, &self.log_id)?.head))
        })
    }

    fn entries(
        &self,
        log: &LogId,
        selection: &Selection,
        from: u64,
        limit: usize,
    ) -> Pending<Page> {
        self.ask_of(log, |connection| {
            page(connection, &self.log_id, selection, from, limit)
        })
    }

    fn checkpoints(&self, log: &LogId, from: u64, limit: usize) -> Pending<Vec<StoredCheckpoint>> {
        let sql = "SELECT size, text FROM checkpoints WHERE size >= ?1 ORDER BY size LIMIT ?2";
        self.ask_of(log, |connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let limit = u64::try_from(limit.min(PAGE)).unwrap_or(0);
            let rows = statement.query_map(params![Count(from), Count(limit)], checkpoint)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn newest_checkpoint(&self, log: &LogId) -> Pending<Option<StoredCheckpoint>> {
        self.ask_of(log, newest_checkpoint)
    }
}

pub(super) fn newest_checkpoint(
    connection: &Connection,
) -> Result<Option<StoredCheckpoint>, StoreError> {
    let sql = "SELECT size, text FROM checkpoints ORDER BY size DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([], checkpoint).optional()?)
}

fn checkpoint(row: &SqlRow<'_>) -> rusqlite::Result<StoredCheckpoint> {
    Ok(StoredCheckpoint {
        size: row.get::<_, Count>(0)?.0,
        text: row.get(1)?,
    })
}

fn stored(row: &SqlRow<'_>) -> rusqlite::Result<StoredEntry> {
    Ok(StoredEntry {
        sequence: row.get::<_, Count>(0)?.0,
        hash: row.get::<_, Raw>(1)?.0,
        bytes: row.get(2)?,
        opening: match salt(row.get(3)?)? {
            Some(salt) => Some((salt, row.get::<_, Raw>(4)?.0)),
            None => None,
        },
    })
}

pub(super) fn page(
    connection: &Connection,
    log_id: &LogId,
    selection: &Selection,
    from: u64,
    limit: usize,
) -> Result<Page, StoreError> {
    let size = base(connection, log_id)?.head.size();
    let limit = limit.clamp(1, PAGE);
    // Only a selection without an index is read in windows.
    let mut end = size;
    let count = Count(u64::try_from(limit).unwrap_or(0));
    let (sequence, entries) = (
        Count(from),
        "SELECT n.sequence, n.hash, n.bytes, x.salt, x.binding FROM entries n \
         LEFT JOIN executions x ON x.number = n.execution WHERE",
    );
    let query = |condition: &str, params: &[&dyn rusqlite::ToSql]| {
        let sql = format!("{entries} {condition} ORDER BY n.sequence LIMIT ?2");
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params, stored)?;
        rows.collect::<rusqlite::Result<Vec<StoredEntry>>>()
    };
    let found = match selection {
        Selection::All => query("n.sequence >= ?1", &[&sequence, &count])?,
        Selection::Execution(agent, id) => {
            let row = rows::by_execution(connection, log_id, agent, id)?;
            let number = row.map(|row| row.number);
            query(
                "n.sequence >= ?1 AND n.execution = ?3",
                &[&sequence, &count, &number],
            )?
        }
        Selection::Call(call_id) => {
            let number = rows::by_call(connection, log_id, call_id)?.map(|row| row.number);
            query(
                "n.sequence >= ?1 AND (n.execution = ?3 OR n.call_id = ?4)",
                &[&sequence, &count, &number, &call_id.as_str()],
            )?
        }
        Selection::Agent(agent) => query(
            "n.sequence >= ?1 AND n.agent = (SELECT number FROM agents \
             WHERE method = ?3 AND issuer = ?4 AND subject = ?5)",
            &[
                &sequence,
                &count,
                &agent.method,
                &agent.issuer,
                &agent.subject,
            ],
        )?,
        Selection::Workflow(workflow) => query(
            "n.sequence >= ?1 AND n.workflow_id = ?3",
            &[&sequence, &count, &workflow.as_str()],
        )?,
        Selection::Time(after_us, before_us) => {
            end = size.min(from.saturating_add(LOOKED_AT));
            query(
                "n.sequence >= ?1 AND n.sequence < ?5 AND n.time_us >= ?3 AND n.time_us < ?4",
                &[&sequence, &count, after_us, before_us, &Count(end)],
            )?
        }
    };
    let next = match found.last() {
        Some(last) if found.len() == limit => Some(last.sequence.saturating_add(1)),
        _ => Some(end),
    };
    Ok(Page {
        entries: found,
        next: next.filter(|next| *next < size),
    })
}
