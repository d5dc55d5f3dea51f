//! The writer's side of the database.
//!
//! One group is one transaction: [`Store::begin`] reads what a plan starts
//! from, the plan reads rows, [`Store::write`] writes what it decided, and
//! [`Store::commit`] makes it durable. After any error the connection is closed
//! and opened again ([`Store::reopen`]): SQLite may have rolled the transaction
//! back already, and a later statement would commit alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId, Head, LogId};
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::attempt::Epochs;
use crate::identity::Incarnation;
use crate::options::AnswerBounds;
use crate::plan::{Base, Batch, Planned, Retain, Row, Rows, Was, Working};
use crate::record::{Record, outcome_str};
use crate::sqlite::backup::LongReads;
use crate::sqlite::columns::{Count, Raw, claimed_bytes};
use crate::sqlite::connect::{BUSY, Writing, writing};
use crate::sqlite::{answers, rows};
use crate::store::StoreError;

/// The numbers of agents that are remembered between groups.
const AGENTS_REMEMBERED: usize = 10_000;

/// SQLite's page, in bytes; the WAL holds whole ones.
const PAGE_BYTES: u64 = 4_096;

/// The writer's connection, and what it knows of the database.
pub(crate) struct Store {
    pub(super) connection: Option<Connection>,
    pub(super) wal_pages: Arc<AtomicU64>,
    pub(super) log_id: LogId,
    pub(super) incarnation: Incarnation,
    pub(super) path: PathBuf,
    pub(super) max_pages: Option<u32>,
    pub(super) agents: HashMap<Agent, i64>,
    pub(super) answers: AnswerBounds,
    pub(super) long: LongReads,
    /// Held open for as long as this process owns the database.
    pub(super) _lock: std::fs::File,
}

/// The rows as the writer's transaction sees them.
pub(crate) struct InTransaction<'a> {
    connection: &'a Connection,
    log_id: &'a LogId,
}

impl Store {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(super) fn connection(&self) -> Result<&Connection, StoreError> {
        self.connection
            .as_ref()
            .ok_or_else(|| StoreError::Failed("not connected".into()))
    }

    /// Begins a group, and reads the head of the log inside of it.
    pub(crate) fn begin(&self) -> Result<Base, StoreError> {
        let connection = self.connection()?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        base(connection, &self.log_id)
    }

    pub(crate) fn rows(&self) -> Result<InTransaction<'_>, StoreError> {
        Ok(InTransaction {
            connection: self.connection()?,
            log_id: &self.log_id,
        })
    }

    /// Writes what was decided. Stops at the first error, after which nothing
    /// of the group may be written any more.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let mut agents = std::mem::take(&mut self.agents);
        let connection = self.connection()?;
        if agents.len() > AGENTS_REMEMBERED {
            agents.clear();
        }
        for (agent, held) in &batch.held {
            let number = agent_number(connection, &mut agents, agent)?;
            let sql = "UPDATE agents SET held = ?2 WHERE number = ?1";
            let changed = connection
                .prepare_cached(sql)?
                .execute(params![number, Count(*held)])?;
            exactly_one(changed, "agents")?;
        }
        for working in &batch.rows {
            match working.was {
                None => insert(connection, &mut agents, &working.row)?,
                Some(was) => update(connection, &working.row, was)?,
            }
            retain(connection, working)?;
        }
        answers::keep(connection, &batch.rows, self.answers, batch.now_us)?;
        for planned in &batch.entries {
            if cfg!(not(feature = "bench-without-log")) {
                append(connection, &mut agents, planned)?;
            }
        }
        set_head(connection, &batch.head, batch.epochs)?;
        // Only now: what was learned in a group that failed would be wrong.
        self.agents = agents;
        Ok(())
    }

    /// Keeps a signed checkpoint of the log.
    pub(crate) fn keep_checkpoint(&self, size: u64, text: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO checkpoints (size, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.connection()?
            .prepare_cached(sql)?
            .execute(params![Count(size), text])?;
        Ok(())
    }

    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        Ok(self.connection()?.execute_batch("COMMIT")?)
    }

    /// Ends a group that writes nothing.
    pub(crate) fn rollback(&self) -> Result<(), StoreError> {
        Ok(self.connection()?.execute_batch("ROLLBACK")?)
    }

    /// Closes the connection, with whatever it had begun, and opens it again.
    pub(crate) fn reopen(&mut self) -> Result<(), StoreError> {
        self.connection = None;
        self.agents.clear();
        let Writing {
            connection,
            wal_pages,
        } = writing(&self.path, self.max_pages)
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        self.connection = Some(connection);
        self.wal_pages = wal_pages;
        Ok(())
    }

    /// How many entries the log has.
    pub(crate) fn log_size(&self) -> Result<u64, StoreError> {
        Ok(base(self.connection()?, &self.log_id)?.head.size())
    }

    /// Whether the log holds this entry: what is read back after a commit whose
    /// acknowledgement was lost.
    pub(crate) fn holds(&self, sequence: u64, hash: Digest) -> Result<bool, StoreError> {
        let found: Option<Raw> = self
            .connection()?
            .query_row(
                "SELECT hash FROM entries WHERE sequence = ?1",
                params![Count(sequence)],
                |row| row.get(0),
            )
            .optional()?;
        Ok(found.is_some_and(|found| found.0 == hash))
    }

    /// How long the WAL is, in bytes, as of the last commit.
    pub(crate) fn wal_bytes(&self) -> u64 {
        self.wal_pages
            .load(Ordering::Relaxed)
            .saturating_mul(PAGE_BYTES)
    }

    /// Drops answers that are expired, a few at a time; says whether there may
    /// be more.
    pub(crate) fn expire_answers(&self, now_us: i64) -> Result<bool, StoreError> {
        answers::expire(self.connection()?, self.answers, now_us)
    }

    /// Whether a long read goes on, for which the WAL cannot start again.
    pub(crate) fn read_at_length(&self) -> bool {
        self.long.any()
    }

    /// Writes the WAL back and starts it again from its beginning. Does not wait
    /// for whoever reads or writes back just then, unless `wait` says so.
    pub(crate) fn reset_wal(&self, wait: bool) -> Result<(), StoreError> {
        let connection = self.connection()?;
        connection.busy_timeout(if wait { BUSY } else { Duration::ZERO })?;
        let reset = connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::RESTART);
        connection.busy_timeout(BUSY)?;
        match reset {
            Ok(_) => {
                self.wal_pages.store(0, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
                _ => Err(error.into()),
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

fn exactly_one(changed: usize, table: &str) -> Result<(), StoreError> {
    if changed == 1 {
        Ok(())
    } else {
        Err(StoreError::Damaged(format!(
            "`{table}`: {changed} rows where one was read"
        )))
    }
}

fn agent_number(
    connection: &Connection,
    agents: &mut HashMap<Agent, i64>,
    agent: &Agent,
) -> Result<i64, StoreError> {
    if let Some(number) = agents.get(agent) {
        return Ok(*number);
    }
    let key = params![agent.method, agent.issuer, agent.subject];
    let found: Option<i64> = connection
        .prepare_cached(
            "SELECT number FROM agents WHERE method = ?1 AND issuer = ?2 AND subject = ?3",
        )?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let number = match found {
        Some(number) => number,
        None => connection
            .prepare_cached("INSERT INTO agents (method, issuer, subject) VALUES (?1, ?2, ?3)")?
            .insert(key)?,
    };
    agents.insert(agent.clone(), number);
    Ok(number)
}

fn insert(
    connection: &Connection,
    agents: &mut HashMap<Agent, i64>,
    row: &Row,
) -> Result<(), StoreError> {
    let execution = &row.execution;
    let agent = agent_number(connection, agents, &execution.agent)?;
    let (admitted, context) = (&execution.admitted, &execution.context);
    let sql = "INSERT INTO executions (number, agent, execution_id, call_id, profile, component, \
               binding, server, server_digest, tool, client_digest, workflow_id, \
               represented_user, authority, policy_digest, catalog, policy_epoch, \
               catalog_epoch, reserved_us, state, outcome, boundary, owner, fence, claimed, \
               issued, task, chain_length, last_sequence, last_hash, changed_us) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
               ?17, ?18, ?19, 'in-flight', NULL, 'pre-transport', ?20, ?21, x'', NULL, NULL, \
               0, 0, x'', 0)";
    let changed = connection.prepare_cached(sql)?.execute(params![
        row.number,
        agent,
        execution.execution_id.as_ref().map(ExecutionId::as_str),
        execution.call_id.as_str(),
        admitted.profile,
        Raw(admitted.component),
        Raw(admitted.binding),
        admitted.target.server.as_str(),
        Raw(admitted.target.server_digest),
        admitted.target.tool,
        context.client_digest.map(Raw),
        context
            .workflow_id
            .as_ref()
            .map(countersign_evidence::WorkflowId::as_str),
        context.represented_user,
        context.authority,
        context.policy_digest.map(Raw),
        context.catalog.map(Raw),
        Count(context.epochs.policy),
        Count(context.epochs.catalog),
        execution.reserved_us,
        execution.record.owner.get(),
        execution.record.fence.get(),
    ])?;
    exactly_one(changed, "executions")?;
    let Record { owner, fence, .. } = execution.record;
    let was = Was {
        owner: crate::step::Owner {
            incarnation: owner,
            fence,
        },
        chain_length: 0,
    };
    update(connection, row, was)
}

fn update(connection: &Connection, row: &Row, was: Was) -> Result<(), StoreError> {
    let execution = &row.execution;
    let record = &execution.record;
    let sql = "UPDATE executions SET state = ?5, outcome = ?6, boundary = ?7, owner = ?8, \
               fence = ?9, claimed = ?10, issued = ?11, task = ?12, chain_length = ?13, \
               last_sequence = ?14, last_hash = ?15, terminal_sequence = ?16, \
               terminal_hash = ?17, changed_us = ?18 \
               WHERE number = ?1 AND owner = ?2 AND fence = ?3 AND chain_length = ?4";
    let terminal = execution.terminal.as_ref();
    let changed = connection.prepare_cached(sql)?.execute(params![
        row.number,
        was.owner.incarnation.get(),
        was.owner.fence.get(),
        Count(was.chain_length),
        record.state.as_str(),
        record.state.outcome().map(outcome_str),
        record.boundary.as_str(),
        record.owner.get(),
        record.fence.get(),
        claimed_bytes(&record.claimed),
        record.issued.map(Raw),
        record.task.as_ref().map(crate::identity::TaskId::as_str),
        Count(execution.chain_length),
        Count(execution.last.sequence),
        Raw(execution.last.hash),
        terminal.map(|terminal| Count(terminal.sequence)),
        terminal.map(|terminal| Raw(terminal.hash)),
        execution.changed_us,
    ])?;
    exactly_one(changed, "executions")
}

fn retain(connection: &Connection, working: &Working) -> Result<(), StoreError> {
    let number = working.row.number;
    match &working.retain {
        Retain::Leave | Retain::Answer(_) => {}
        Retain::Keep(bytes) => {
            let sql = "INSERT INTO retained (execution, bytes) VALUES (?1, ?2) \
                       ON CONFLICT (execution) DO UPDATE SET bytes = excluded.bytes";
            connection
                .prepare_cached(sql)?
                .execute(params![number, bytes])?;
        }
        Retain::Drop => {
            let sql = "DELETE FROM retained WHERE execution = ?1";
            connection.prepare_cached(sql)?.execute(params![number])?;
        }
    }
    Ok(())
}

fn append(
    connection: &Connection,
    agents: &mut HashMap<Agent, i64>,
    planned: &Planned,
) -> Result<(), StoreError> {
    let entry = &planned.entry;
    let said = entry.said();
    let agent = match &said.agent {
        Some(agent) => Some(agent_number(connection, agents, agent)?),
        None => None,
    };
    let sql = "INSERT INTO entries (sequence, hash, time_us, execution, agent, call_id, \
               workflow_id, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let changed = connection.prepare_cached(sql)?.execute(params![
        Count(entry.sequence()),
        Raw(entry.hash()),
        said.time.micros(),
        planned.row,
        agent,
        said.call_id.as_ref().map(CallId::as_str),
        said.workflow_id
            .as_ref()
            .map(countersign_evidence::WorkflowId::as_str),
        entry.bytes(),
    ])?;
    exactly_one(changed, "entries")
}

fn set_head(connection: &Connection, head: &Head, epochs: Epochs) -> Result<(), StoreError> {
    let sql = "UPDATE ledger SET head = ?1, policy_epoch = ?2, catalog_epoch = ?3";
    let changed = connection.prepare_cached(sql)?.execute(params![
        head.encode(),
        Count(epochs.policy),
        Count(epochs.catalog)
    ])?;
    exactly_one(changed, "ledger")
}
