//! Puts what a plan decided into rows, with one statement for each table.
//!
//! The statements go out together and come back together. Rows are inserted in
//! the order of their keys, and none is changed that is not as the plan read it:
//! the owner, the fence and the length of the chain stand in the condition.

mod entries;
mod executions;
mod held;

use std::collections::HashMap;

use countersign_evidence::{Agent, ExecutionId};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::options::AnswerBounds;
use crate::plan::{Batch, Row};
use crate::postgres::answers;
use crate::postgres::columns::{Columns, Logs, signed};
use crate::postgres::connect::Value;
use crate::postgres::read::parts;
use crate::store::StoreError;
use entries::Entries;
use executions::Rows;
use held::{Held, Retained};

type Bytes = Vec<u8>;

/// What rows are written with: the numbers by which they name agents and logs.
pub(super) struct Names<'a> {
    pub(super) agents: &'a HashMap<Agent, i64>,
    /// The log that is written.
    pub(super) log: i64,
    pub(super) logs: &'a Logs,
    /// How many answers are kept.
    pub(super) bounds: AnswerBounds,
}

/// Gives numbers to agents that have none, and answers those of all.
pub(super) async fn number_agents(
    client: &Client,
    unknown: &[&Agent],
) -> Result<Vec<(Agent, i64)>, StoreError> {
    let mut unknown = unknown.to_vec();
    unknown.sort_by_key(|agent| (&agent.method, &agent.issuer, &agent.subject));
    unknown.dedup();
    let (methods, issuers, subjects) = parts(&unknown);
    let values: [Value<'_>; 3] = [
        (&methods, Type::BYTEA_ARRAY),
        (&issuers, Type::BYTEA_ARRAY),
        (&subjects, Type::BYTEA_ARRAY),
    ];
    let insert = "INSERT INTO countersign.agents (method, issuer, subject) \
                  SELECT * FROM unnest($1, $2, $3) ON CONFLICT DO NOTHING";
    client.execute_typed(insert, &values).await?;
    // A statement of its own: it sees what a rival has just committed.
    let select = "SELECT method, issuer, subject, number FROM countersign.agents \
                  WHERE (method, issuer, subject) IN (SELECT * FROM unnest($1, $2, $3))";
    let found = client.query_typed(select, &values).await?;
    let read = |row| {
        let mut columns = Columns::of(row);
        Ok((columns.agent()?, columns.get()?))
    };
    found.iter().map(read).collect()
}

/// The agents that a batch names.
pub(super) fn agents_of(batch: &Batch) -> impl Iterator<Item = &Agent> {
    let rows = batch
        .rows
        .iter()
        .map(|working| &working.row.execution.agent);
    let entries = batch
        .entries
        .iter()
        .filter_map(|planned| planned.entry.said().agent.as_ref());
    rows.chain(entries)
}

/// Writes a batch.
pub(super) async fn batch(
    client: &Client,
    names: &Names<'_>,
    batch: &Batch,
) -> Result<(), StoreError> {
    let mut inserted = Rows::default();
    let mut updated = Rows::default();
    let mut fresh: Vec<&Row> = Vec::new();
    for working in &batch.rows {
        match working.was {
            None => fresh.push(&working.row),
            Some(was) => updated.push(names, &working.row, Some(was))?,
        }
    }
    // Two groups that take the same keys take them in the same order.
    fresh.sort_by(|a, b| key(a).cmp(&key(b)));
    for row in &fresh {
        inserted.push(names, row, None)?;
    }
    let entries = Entries::of(names, batch)?;
    let held = Held::of(names, &fresh);
    let retained = Retained::of(batch);
    tokio::try_join!(biased;
        inserted.insert(client),
        updated.update(client),
        entries.insert(client, names.log),
        held.add(client, names.log),
        retained.write(client),
        answers::keep(client, &batch.rows, names.bounds),
        set_head(client, names.log, batch),
    )?;
    Ok(())
}

fn key(row: &Row) -> (&Agent, Option<&str>, &str) {
    let execution = &row.execution;
    (
        &execution.agent,
        execution.execution_id.as_ref().map(ExecutionId::as_str),
        execution.call_id.as_str(),
    )
}

impl Names<'_> {
    fn agent(&self, agent: &Agent) -> Result<i64, StoreError> {
        let number = self.agents.get(agent).copied();
        number.ok_or_else(|| StoreError::Damaged("an agent has no number".into()))
    }

    fn log(&self, log_id: &countersign_evidence::LogId) -> Result<i64, StoreError> {
        let number = self.logs.number(log_id);
        number.ok_or_else(|| StoreError::Damaged("a log has no number".into()))
    }
}

async fn set_head(client: &Client, log: i64, batch: &Batch) -> Result<(), StoreError> {
    let sql = "UPDATE countersign.logs SET head = $2, policy_epoch = $3, catalog_epoch = $4 \
               WHERE number = $1";
    let (policy, catalog) = (signed(batch.epochs.policy)?, signed(batch.epochs.catalog)?);
    let values: [Value<'_>; 4] = [
        (&log, Type::INT8),
        (&batch.head.encode(), Type::BYTEA),
        (&policy, Type::INT8),
        (&catalog, Type::INT8),
    ];
    let changed = client.execute_typed(sql, &values).await?;
    exactly(changed, 1, "logs")
}

fn exactly(changed: u64, wanted: usize, table: &str) -> Result<(), StoreError> {
    if u64::try_from(wanted) == Ok(changed) {
        Ok(())
    } else {
        Err(StoreError::Damaged(format!(
            "`{table}`: {changed} rows changed where {wanted} were read"
        )))
    }
}
