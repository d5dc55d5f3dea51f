//! Puts what a plan decided into rows, with one statement for each table.
//!
//! The statements go out together and come back together. Rows are inserted in
//! the order of their keys, and none is changed that is not as the plan read it:
//! the owner, the fence and the length of the chain stand in the condition.

use std::collections::{BTreeMap, HashMap};

use countersign_evidence::{Agent, CallId, ExecutionId, WorkflowId};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::identity::TaskId;
use crate::options::AnswerBounds;
use crate::plan::{Batch, Retain, Row, Was};
use crate::postgres::answers;
use crate::postgres::columns::{Columns, Logs, claimed_bytes, signed};
use crate::postgres::connect::Value;
use crate::postgres::read::parts;
use crate::record::outcome_str;
use crate::store::StoreError;

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

/// Rows of executions, column by column.
#[derive(Default)]
struct Rows {
    number: Vec<i64>,
    agent: Vec<i64>,
    execution_id: Vec<Option<String>>,
    call_id: Vec<String>,
    profile: Vec<Bytes>,
    component: Vec<Bytes>,
    binding: Vec<Bytes>,
    server: Vec<String>,
    server_digest: Vec<Bytes>,
    tool: Vec<Bytes>,
    client_digest: Vec<Option<Bytes>>,
    workflow_id: Vec<Option<String>>,
    represented_user: Vec<Option<Bytes>>,
    authority: Vec<Option<Bytes>>,
    policy_digest: Vec<Option<Bytes>>,
    catalog: Vec<Option<Bytes>>,
    policy_epoch: Vec<i64>,
    catalog_epoch: Vec<i64>,
    reserved_us: Vec<i64>,
    state: Vec<&'static str>,
    outcome: Vec<Option<&'static str>>,
    boundary: Vec<&'static str>,
    owner: Vec<i64>,
    fence: Vec<i64>,
    claimed: Vec<Bytes>,
    issued: Vec<Option<Bytes>>,
    task: Vec<Option<Bytes>>,
    chain_length: Vec<i64>,
    last_log: Vec<i64>,
    last_sequence: Vec<i64>,
    last_hash: Vec<Bytes>,
    terminal_log: Vec<Option<i64>>,
    terminal_sequence: Vec<Option<i64>>,
    terminal_hash: Vec<Option<Bytes>>,
    changed_us: Vec<i64>,
    was_owner: Vec<i64>,
    was_fence: Vec<i64>,
    was_chain_length: Vec<i64>,
}

impl Rows {
    fn push(&mut self, names: &Names<'_>, row: &Row, was: Option<Was>) -> Result<(), StoreError> {
        if was.is_none() {
            self.push_constant(names, row)?;
        }
        self.number.push(row.number);
        let execution = &row.execution;
        let record = &execution.record;
        self.state.push(record.state.as_str());
        self.outcome.push(record.state.outcome().map(outcome_str));
        self.boundary.push(record.boundary.as_str());
        self.owner.push(record.owner.get());
        self.fence.push(record.fence.get());
        self.claimed.push(claimed_bytes(&record.claimed));
        self.issued
            .push(record.issued.map(|digest| digest.to_bytes().to_vec()));
        let task = record.task.as_ref().map(TaskId::as_str);
        self.task.push(task.map(|task| task.as_bytes().to_vec()));
        self.chain_length.push(signed(execution.chain_length)?);
        self.last_log.push(names.log(&execution.last.log_id)?);
        self.last_sequence.push(signed(execution.last.sequence)?);
        self.last_hash.push(execution.last.hash.to_bytes().to_vec());
        let terminal = execution.terminal.as_ref();
        let log = terminal.map(|terminal| names.log(&terminal.log_id));
        self.terminal_log.push(log.transpose()?);
        let sequence = terminal.map(|terminal| signed(terminal.sequence));
        self.terminal_sequence.push(sequence.transpose()?);
        self.terminal_hash
            .push(terminal.map(|terminal| terminal.hash.to_bytes().to_vec()));
        self.changed_us.push(execution.changed_us);
        if let Some(was) = was {
            self.was_owner.push(was.owner.incarnation.get());
            self.was_fence.push(was.owner.fence.get());
            self.was_chain_length.push(signed(was.chain_length)?);
        }
        Ok(())
    }

    fn push_constant(&mut self, names: &Names<'_>, row: &Row) -> Result<(), StoreError> {
        let execution = &row.execution;
        let (admitted, context) = (&execution.admitted, &execution.context);
        let id = execution.execution_id.as_ref();
        self.agent.push(names.agent(&execution.agent)?);
        self.execution_id.push(id.map(ToString::to_string));
        self.call_id.push(execution.call_id.to_string());
        self.profile.push(admitted.profile.as_bytes().to_vec());
        self.component.push(admitted.component.to_bytes().to_vec());
        self.binding.push(admitted.binding.to_bytes().to_vec());
        self.server.push(admitted.target.server.to_string());
        self.server_digest
            .push(admitted.target.server_digest.to_bytes().to_vec());
        self.tool.push(admitted.target.tool.as_bytes().to_vec());
        let digest = |digest: &countersign_canon::Digest| digest.to_bytes().to_vec();
        let text = |text: &String| text.as_bytes().to_vec();
        self.client_digest
            .push(context.client_digest.as_ref().map(digest));
        self.workflow_id
            .push(context.workflow_id.as_ref().map(ToString::to_string));
        self.represented_user
            .push(context.represented_user.as_ref().map(text));
        self.authority.push(context.authority.as_ref().map(text));
        self.policy_digest
            .push(context.policy_digest.as_ref().map(digest));
        self.catalog.push(context.catalog.as_ref().map(digest));
        self.policy_epoch.push(signed(context.epochs.policy)?);
        self.catalog_epoch.push(signed(context.epochs.catalog)?);
        self.reserved_us.push(execution.reserved_us);
        Ok(())
    }

    /// The columns that events move, from parameter 2 on.
    fn moving(&self) -> Vec<Value<'_>> {
        vec![
            (&self.state, Type::TEXT_ARRAY),
            (&self.outcome, Type::TEXT_ARRAY),
            (&self.boundary, Type::TEXT_ARRAY),
            (&self.owner, Type::INT8_ARRAY),
            (&self.fence, Type::INT8_ARRAY),
            (&self.claimed, Type::BYTEA_ARRAY),
            (&self.issued, Type::BYTEA_ARRAY),
            (&self.task, Type::BYTEA_ARRAY),
            (&self.chain_length, Type::INT8_ARRAY),
            (&self.last_log, Type::INT8_ARRAY),
            (&self.last_sequence, Type::INT8_ARRAY),
            (&self.last_hash, Type::BYTEA_ARRAY),
            (&self.terminal_log, Type::INT8_ARRAY),
            (&self.terminal_sequence, Type::INT8_ARRAY),
            (&self.terminal_hash, Type::BYTEA_ARRAY),
            (&self.changed_us, Type::INT8_ARRAY),
        ]
    }

    /// The columns that are written once, after those.
    fn constant(&self) -> Vec<Value<'_>> {
        vec![
            (&self.agent, Type::INT8_ARRAY),
            (&self.execution_id, Type::TEXT_ARRAY),
            (&self.call_id, Type::TEXT_ARRAY),
            (&self.profile, Type::BYTEA_ARRAY),
            (&self.component, Type::BYTEA_ARRAY),
            (&self.binding, Type::BYTEA_ARRAY),
            (&self.server, Type::TEXT_ARRAY),
            (&self.server_digest, Type::BYTEA_ARRAY),
            (&self.tool, Type::BYTEA_ARRAY),
            (&self.client_digest, Type::BYTEA_ARRAY),
            (&self.workflow_id, Type::TEXT_ARRAY),
            (&self.represented_user, Type::BYTEA_ARRAY),
            (&self.authority, Type::BYTEA_ARRAY),
            (&self.policy_digest, Type::BYTEA_ARRAY),
            (&self.catalog, Type::BYTEA_ARRAY),
            (&self.policy_epoch, Type::INT8_ARRAY),
            (&self.catalog_epoch, Type::INT8_ARRAY),
            (&self.reserved_us, Type::INT8_ARRAY),
        ]
    }

    /// Reserves: a key that another replica has taken meanwhile is not taken
    /// again, and the group is planned once more.
    async fn insert(&self, client: &Client) -> Result<(), StoreError> {
        if self.number.is_empty() {
            return Ok(());
        }
        let mut values: Vec<Value<'_>> = vec![(&self.number, Type::INT8_ARRAY)];
        values.extend(self.moving());
        values.extend(self.constant());
        let sql = format!(
            "INSERT INTO countersign.executions (number, {MOVING}, {CONSTANT}) \
             SELECT * FROM unnest({}) ON CONFLICT DO NOTHING RETURNING number",
            parameters(values.len())
        );
        let inserted = client.query_typed(&sql, &values).await?;
        if inserted.len() == self.number.len() {
            Ok(())
        } else {
            Err(StoreError::Rival("an identifier was taken".into()))
        }
    }

    async fn update(&self, client: &Client) -> Result<(), StoreError> {
        if self.number.is_empty() {
            return Ok(());
        }
        let mut values: Vec<Value<'_>> = vec![(&self.number, Type::INT8_ARRAY)];
        values.extend(self.moving());
        let was: [Value<'_>; 3] = [
            (&self.was_owner, Type::INT8_ARRAY),
            (&self.was_fence, Type::INT8_ARRAY),
            (&self.was_chain_length, Type::INT8_ARRAY),
        ];
        values.extend(was);
        let moved: Vec<String> = MOVING
            .split(", ")
            .map(|column| format!("{column} = v.{column}"))
            .collect();
        let sql = format!(
            "UPDATE countersign.executions e SET {} FROM unnest({}) \
             AS v (number, {MOVING}, was_owner, was_fence, was_chain_length) \
             WHERE e.number = v.number AND e.owner = v.was_owner AND e.fence = v.was_fence \
             AND e.chain_length = v.was_chain_length",
            moved.join(", "),
            parameters(values.len())
        );
        let updated = client.execute_typed(&sql, &values).await?;
        exactly(updated, self.number.len(), "executions")
    }
}

const MOVING: &str = "state, outcome, boundary, owner, fence, claimed, issued, task, \
    chain_length, last_log, last_sequence, last_hash, terminal_log, terminal_sequence, \
    terminal_hash, changed_us";

const CONSTANT: &str = "agent, execution_id, call_id, profile, component, binding, server, \
    server_digest, tool, client_digest, workflow_id, represented_user, authority, \
    policy_digest, catalog, policy_epoch, catalog_epoch, reserved_us";

fn parameters(count: usize) -> String {
    let each: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
    each.join(", ")
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

/// Entries, column by column.
#[derive(Default)]
struct Entries {
    sequence: Vec<i64>,
    hash: Vec<Bytes>,
    time_us: Vec<i64>,
    execution: Vec<Option<i64>>,
    agent: Vec<Option<i64>>,
    call_id: Vec<Option<String>>,
    workflow_id: Vec<Option<String>>,
    bytes: Vec<Bytes>,
}

impl Entries {
    fn of(names: &Names<'_>, batch: &Batch) -> Result<Self, StoreError> {
        let mut entries = Self::default();
        for planned in &batch.entries {
            let (entry, said) = (&planned.entry, planned.entry.said());
            let agent = said.agent.as_ref().map(|agent| names.agent(agent));
            let (call_id, workflow_id) = (said.call_id.as_ref(), said.workflow_id.as_ref());
            entries.sequence.push(signed(entry.sequence())?);
            entries.hash.push(entry.hash().to_bytes().to_vec());
            entries.time_us.push(said.time.micros());
            entries.execution.push(planned.row);
            entries.agent.push(agent.transpose()?);
            entries.call_id.push(call_id.map(CallId::to_string));
            entries
                .workflow_id
                .push(workflow_id.map(WorkflowId::to_string));
            entries.bytes.push(entry.bytes().to_vec());
        }
        Ok(entries)
    }

    async fn insert(&self, client: &Client, log: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO countersign.entries (log, sequence, hash, time_us, execution, \
                   agent, call_id, workflow_id, bytes) \
                   SELECT $1, * FROM unnest($2, $3, $4, $5, $6, $7, $8, $9)";
        let values: [Value<'_>; 9] = [
            (&log, Type::INT8),
            (&self.sequence, Type::INT8_ARRAY),
            (&self.hash, Type::BYTEA_ARRAY),
            (&self.time_us, Type::INT8_ARRAY),
            (&self.execution, Type::INT8_ARRAY),
            (&self.agent, Type::INT8_ARRAY),
            (&self.call_id, Type::TEXT_ARRAY),
            (&self.workflow_id, Type::TEXT_ARRAY),
            (&self.bytes, Type::BYTEA_ARRAY),
        ];
        let inserted = client.execute_typed(sql, &values).await?;
        exactly(inserted, self.sequence.len(), "entries")
    }
}

/// How many executions agents hold more. Counted for each log apart, so that
/// replicas do not wait for each other here.
struct Held {
    agent: Vec<i64>,
    more: Vec<i64>,
}

impl Held {
    fn of(names: &Names<'_>, fresh: &[&Row]) -> Self {
        let mut more = BTreeMap::<i64, i64>::new();
        for row in fresh {
            if let Ok(agent) = names.agent(&row.execution.agent) {
                *more.entry(agent).or_default() += 1;
            }
        }
        let (agent, more) = more.into_iter().unzip();
        Self { agent, more }
    }

    async fn add(&self, client: &Client, log: i64) -> Result<(), StoreError> {
        if self.agent.is_empty() {
            return Ok(());
        }
        let sql = "INSERT INTO countersign.held (log, agent, held) \
                   SELECT $1, * FROM unnest($2, $3) \
                   ON CONFLICT (agent, log) DO UPDATE SET held = held.held + excluded.held";
        let values: [Value<'_>; 3] = [
            (&log, Type::INT8),
            (&self.agent, Type::INT8_ARRAY),
            (&self.more, Type::INT8_ARRAY),
        ];
        client.execute_typed(sql, &values).await?;
        Ok(())
    }
}

/// What happens to the answers that are kept for rounds.
#[derive(Default)]
struct Retained<'a> {
    kept: Vec<i64>,
    bytes: Vec<&'a [u8]>,
    dropped: Vec<i64>,
}

impl<'a> Retained<'a> {
    fn of(batch: &'a Batch) -> Self {
        let mut retained = Self::default();
        for working in &batch.rows {
            match &working.retain {
                Retain::Leave | Retain::Answer(_) => {}
                Retain::Keep(bytes) => {
                    retained.kept.push(working.row.number);
                    retained.bytes.push(bytes);
                }
                Retain::Drop => retained.dropped.push(working.row.number),
            }
        }
        retained
    }

    async fn write(&self, client: &Client) -> Result<(), StoreError> {
        if !self.dropped.is_empty() {
            let sql = "DELETE FROM countersign.retained WHERE execution = ANY ($1)";
            let values: [Value<'_>; 1] = [(&self.dropped, Type::INT8_ARRAY)];
            client.execute_typed(sql, &values).await?;
        }
        if !self.kept.is_empty() {
            let sql = "INSERT INTO countersign.retained (execution, bytes) \
                       SELECT * FROM unnest($1, $2) \
                       ON CONFLICT (execution) DO UPDATE SET bytes = excluded.bytes";
            let values: [Value<'_>; 2] = [
                (&self.kept, Type::INT8_ARRAY),
                (&self.bytes, Type::BYTEA_ARRAY),
            ];
            client.execute_typed(sql, &values).await?;
        }
        Ok(())
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
