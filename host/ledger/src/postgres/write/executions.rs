//! Rows of executions, inserted and changed.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::{Bytes, Names, exactly};
use crate::identity::TaskId;
use crate::plan::{Row, Was};
use crate::postgres::columns::{claimed_bytes, signed};
use crate::postgres::connect::Value;
use crate::record::outcome_str;
use crate::store::StoreError;

/// Rows of executions, column by column.
#[derive(Default)]
pub(super) struct Rows {
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
    salt: Vec<Option<Bytes>>,
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
    pub(super) fn push(
        &mut self,
        names: &Names<'_>,
        row: &Row,
        was: Option<Was>,
    ) -> Result<(), StoreError> {
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
        let salt = execution.salt.map(|salt| salt.to_bytes().to_vec());
        self.salt.push(salt);
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
            (&self.salt, Type::BYTEA_ARRAY),
        ]
    }

    /// Reserves: a key that another replica has taken meanwhile is not taken
    /// again, and the group is planned once more.
    pub(super) async fn insert(&self, client: &Client) -> Result<(), StoreError> {
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

    pub(super) async fn update(&self, client: &Client) -> Result<(), StoreError> {
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
    policy_digest, catalog, policy_epoch, catalog_epoch, reserved_us, salt";

fn parameters(count: usize) -> String {
    let each: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use countersign_test_postgres::Cluster;

    use super::*;
    use crate::options::AnswerBounds;
    use crate::plan::sample;
    use crate::postgres::Postgres;
    use crate::postgres::columns::Logs;
    use crate::postgres::connect::Connector;
    use crate::postgres::open::runtime;
    use crate::postgres::schema::{self, MIGRATIONS};
    use crate::postgres::write::number_agents;

    const NAMED: &str = "INSERT INTO countersign.logs (log_id, key, head) \
        VALUES ('log.example/1', 'key', ''); \
        INSERT INTO countersign.incarnations (log, started_us, lease_us, lease_until) \
        VALUES (1, 0, 1, now()), (1, 0, 1, now())";

    #[test]
    fn a_row_is_written_only_under_the_owner_the_fence_and_the_length_that_were_read() {
        let database = Cluster::shared().database();
        let connector = Connector::new(Postgres::new(database.url().parse().unwrap())).unwrap();
        let row = sample::row();
        runtime().unwrap().block_on(async {
            let client = connector.connect().await.unwrap();
            let migrated = schema::migrate(&client, &connector, MIGRATIONS);
            migrated.await.unwrap();
            client.batch_execute(NAMED).await.unwrap();
            let agent = [&row.execution.agent];
            let agents = number_agents(&client, &agent).await.unwrap();
            let agents: HashMap<_, _> = agents.into_iter().collect();
            let logs = Logs::read(&client).await.unwrap();
            let names = Names {
                agents: &agents,
                log: 1,
                logs: &logs,
                bounds: AnswerBounds::default(),
            };
            let rows = |was| {
                let mut rows = Rows::default();
                rows.push(&names, &row, was).unwrap();
                rows
            };
            rows(None).insert(&client).await.unwrap();
            let again = rows(None).insert(&client).await;
            assert!(matches!(again, Err(StoreError::Rival(_))), "{again:?}");
            for wrong in sample::others() {
                let said = rows(Some(wrong)).update(&client).await;
                assert!(matches!(said, Err(StoreError::Damaged(_))), "{wrong:?}");
            }
            let right = rows(Some(sample::was())).update(&client).await;
            right.unwrap();
        });
    }
}
