//! The queries that plans and readers share.

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId, LogId, ServerName};
use rusqlite::{Connection, OptionalExtension as _, Params, params};

use crate::identity::TaskId;
use crate::plan::Row;
use crate::sqlite::columns::{Count, Raw, execution, execution_columns};

/// The statement that reads executions under a condition.
macro_rules! executions_where {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            execution_columns!(),
            " FROM executions e JOIN agents a ON a.number = e.agent WHERE ",
            $condition
        )
    };
}

fn one(
    connection: &Connection,
    log_id: &LogId,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<Option<Row>> {
    connection
        .prepare_cached(sql)?
        .query_row(params, |row| execution(row, log_id))
        .optional()
}

pub(super) fn by_execution(
    connection: &Connection,
    log_id: &LogId,
    agent: &Agent,
    id: &ExecutionId,
) -> rusqlite::Result<Option<Row>> {
    one(
        connection,
        log_id,
        executions_where!(
            "a.method = ?1 AND a.issuer = ?2 AND a.subject = ?3 AND e.execution_id = ?4"
        ),
        params![agent.method, agent.issuer, agent.subject, id.as_str()],
    )
}

pub(super) fn by_call(
    connection: &Connection,
    log_id: &LogId,
    call_id: &CallId,
) -> rusqlite::Result<Option<Row>> {
    one(
        connection,
        log_id,
        executions_where!("e.call_id = ?1"),
        params![call_id.as_str()],
    )
}

pub(super) fn by_number(
    connection: &Connection,
    log_id: &LogId,
    number: i64,
) -> rusqlite::Result<Option<Row>> {
    let sql = executions_where!("e.number = ?1");
    one(connection, log_id, sql, params![number])
}

pub(super) fn by_task(
    connection: &Connection,
    log_id: &LogId,
    agent: &Agent,
    server: &ServerName,
    task: &TaskId,
) -> rusqlite::Result<Option<Row>> {
    let sql = executions_where!(
        "e.task IS NOT NULL AND e.agent = (SELECT number FROM agents WHERE \
         method = ?1 AND issuer = ?2 AND subject = ?3) AND e.task = ?4 AND \
         e.server = ?5 ORDER BY e.number DESC LIMIT 1"
    );
    one(
        connection,
        log_id,
        sql,
        params![
            agent.method,
            agent.issuer,
            agent.subject,
            task.as_str(),
            server.as_str()
        ],
    )
}

/// At most `limit` executions in `state` with a number above `after`.
pub(super) fn in_state(
    connection: &Connection,
    log_id: &LogId,
    state: &str,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<Row>> {
    // The condition of the index is repeated, so that the planner may use it.
    let sql = concat!(
        "SELECT ",
        execution_columns!(),
        " FROM executions e INDEXED BY executions_open \
         JOIN agents a ON a.number = e.agent \
         WHERE e.state <> 'settled' AND e.state = ?1 AND e.number > ?2 \
         ORDER BY e.number LIMIT ?3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![state, after, limit], |row| execution(row, log_id))?;
    rows.collect()
}

/// At most `limit` executions with a number above `after`, in order.
pub(super) fn after(
    connection: &Connection,
    log_id: &LogId,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<Row>> {
    let sql = executions_where!("e.number > ?1 ORDER BY e.number LIMIT ?2");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![after, limit], |row| execution(row, log_id))?;
    rows.collect()
}

pub(super) fn held_by(connection: &Connection, agent: &Agent) -> rusqlite::Result<u64> {
    let sql = "SELECT held FROM agents WHERE method = ?1 AND issuer = ?2 AND subject = ?3";
    let held: Option<Count> = connection
        .prepare_cached(sql)?
        .query_row(params![agent.method, agent.issuer, agent.subject], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(held.map_or(0, |held| held.0))
}

pub(super) fn issued_to(
    connection: &Connection,
    agent: &Agent,
    state: &Digest,
) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM executions e JOIN agents a ON a.number = e.agent \
               WHERE a.method = ?1 AND a.issuer = ?2 AND a.subject = ?3 AND e.issued = ?4)";
    connection.prepare_cached(sql)?.query_row(
        params![agent.method, agent.issuer, agent.subject, Raw(*state)],
        |row| row.get(0),
    )
}

pub(super) fn retained(connection: &Connection, number: i64) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT bytes FROM retained WHERE execution = ?1")?
        .query_row(params![number], |row| row.get(0))
        .optional()
}
