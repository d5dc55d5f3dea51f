//! How many executions each agent holds, and the answers that its rounds await.

use std::collections::BTreeMap;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::Names;
use crate::plan::{Batch, Retain, Row};
use crate::postgres::connect::Value;
use crate::store::StoreError;

/// How many executions agents hold more. Counted for each log apart, so that
/// replicas do not wait for each other here.
pub(super) struct Held {
    agent: Vec<i64>,
    more: Vec<i64>,
}

impl Held {
    pub(super) fn of(names: &Names<'_>, fresh: &[&Row]) -> Self {
        let mut more = BTreeMap::<i64, i64>::new();
        for row in fresh {
            if let Ok(agent) = names.agent(&row.execution.agent) {
                *more.entry(agent).or_default() += 1;
            }
        }
        let (agent, more) = more.into_iter().unzip();
        Self { agent, more }
    }

    pub(super) async fn add(&self, client: &Client, log: i64) -> Result<(), StoreError> {
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
pub(super) struct Retained<'a> {
    kept: Vec<i64>,
    bytes: Vec<&'a [u8]>,
    dropped: Vec<i64>,
}

impl<'a> Retained<'a> {
    pub(super) fn of(batch: &'a Batch) -> Self {
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

    pub(super) async fn write(&self, client: &Client) -> Result<(), StoreError> {
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
