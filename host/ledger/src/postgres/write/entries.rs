//! Entries of the log.

use countersign_evidence::{CallId, WorkflowId};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::{Bytes, Names, exactly};
use crate::plan::Batch;
use crate::postgres::columns::signed;
use crate::postgres::connect::Value;
use crate::store::StoreError;

/// Entries, column by column.
#[derive(Default)]
pub(super) struct Entries {
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
    pub(super) fn of(names: &Names<'_>, batch: &Batch) -> Result<Self, StoreError> {
        let mut entries = Self::default();
        for planned in &batch.entries {
            let (entry, said) = (&planned.entry, planned.entry.said());
            let agent = said.agent.as_ref().map(|agent| names.agent(agent));
            let (call_id, workflow_id) = (planned.call_id(), said.workflow_id.as_ref());
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

    pub(super) async fn insert(&self, client: &Client, log: i64) -> Result<(), StoreError> {
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
