//! Puts what a plan decided into rows.
//!
//! Called inside the group's transaction; stops at the first error, after which
//! nothing of the group may be written any more.

use std::collections::HashMap;

use countersign_evidence::{Agent, CallId, ExecutionId, Head, Salt};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::attempt::Epochs;
use crate::plan::{Batch, Planned, Retain, Row, Was, Working};
use crate::record::outcome_str;
use crate::sqlite::columns::{Count, Raw, claimed_bytes};
use crate::store::StoreError;

/// Writes a batch; `agents` are the numbers of agents that are known, and of
/// those that were met.
pub(super) fn batch(
    connection: &Connection,
    agents: &mut HashMap<Agent, i64>,
    batch: &Batch,
) -> Result<(), StoreError> {
    for (agent, held) in &batch.held {
        let number = agent_number(connection, agents, agent)?;
        let sql = "UPDATE agents SET held = ?2 WHERE number = ?1";
        let changed = connection
            .prepare_cached(sql)?
            .execute(params![number, Count(*held)])?;
        exactly_one(changed, "agents")?;
    }
    for working in &batch.rows {
        match working.was {
            None => insert(connection, agents, &working.row)?,
            Some(was) => update(connection, &working.row, was)?,
        }
        retain(connection, working)?;
    }
    for planned in &batch.entries {
        if cfg!(not(countersign_bench = "without-log")) {
            append(connection, agents, planned)?;
        }
    }
    set_head(connection, &batch.head, batch.epochs)
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
    let record = &execution.record;
    let terminal = execution.terminal.as_ref();
    let sql = "INSERT INTO executions (number, agent, execution_id, call_id, profile, component, \
               binding, server, server_digest, tool, client_digest, workflow_id, \
               represented_user, authority, policy_digest, catalog, policy_epoch, \
               catalog_epoch, reserved_us, state, outcome, boundary, owner, fence, claimed, \
               issued, task, chain_length, last_sequence, last_hash, terminal_sequence, \
               terminal_hash, changed_us, salt) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
               ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, \
               ?33, ?34)";
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
        execution.salt.map(Salt::to_bytes),
    ])?;
    exactly_one(changed, "executions")
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
    let call_id = planned.call_id();
    let sql = "INSERT INTO entries (sequence, hash, time_us, execution, agent, call_id, \
               workflow_id, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let changed = connection.prepare_cached(sql)?.execute(params![
        Count(entry.sequence()),
        Raw(entry.hash()),
        said.time.micros(),
        planned.row,
        agent,
        call_id.map(CallId::as_str),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sample;
    use crate::sqlite::connect::writing;
    use crate::sqlite::{rows, schema};

    /// A database with two incarnations and this row.
    fn with(row: &Row) -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let mut connection = writing(&path, None).unwrap().connection;
        schema::migrate(&mut connection).unwrap();
        let incarnations = "INSERT INTO incarnations (started_us) VALUES (0), (0)";
        connection.execute(incarnations, []).unwrap();
        insert(&connection, &mut HashMap::new(), row).unwrap();
        (folder, connection)
    }

    #[test]
    fn a_row_is_written_only_under_the_owner_the_fence_and_the_length_that_were_read() {
        let row = sample::row();
        let (_folder, connection) = with(&row);
        for wrong in sample::others() {
            let said = update(&connection, &row, wrong);
            assert!(matches!(said, Err(StoreError::Damaged(_))), "{wrong:?}");
        }
        update(&connection, &row, sample::was()).unwrap();
    }

    #[test]
    fn a_row_reads_back_as_it_was_written_in_each_column() {
        let row = sample::distinct();
        let (_folder, connection) = with(&row);
        let log_id = &row.execution.last.log_id;
        let read = rows::by_number(&connection, log_id, row.number).unwrap();
        assert_eq!(read.unwrap().execution, row.execution);
    }
}
