//! Reads back a commit whose acknowledgement was lost.

use countersign_canon::Digest;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::postgres::columns::{Columns, EXECUTION, FROM, executions, signed};
use crate::postgres::connect::{Value, one};
use crate::postgres::store::Store;
use crate::store::{Lost, ReadBack, StoreError};

impl Store {
    /// Whether the group is durable, and whether what it permitted still holds.
    pub(super) fn read_back_of(&mut self, lost: &Lost<'_>) -> Result<ReadBack, StoreError> {
        let asked = self.clock.since_boot();
        let sequence = signed(lost.sequence)?;
        let (rows, owners): (Vec<i64>, Vec<_>) = lost.permits.iter().copied().unzip();
        let read = self.run(async |client| {
            // The lock of the log is had only once the transaction is over whose
            // end is not known; a plain look could come before it commits.
            let begun = match self.begin_on(client, true).await {
                Err(StoreError::Ended) => None,
                begun => Some(begun?),
            };
            if !holds(client, self.log, sequence, lost.hash).await? {
                return Ok((ReadBack::Absent, begun));
            }
            let sql = format!(
                "SELECT {EXECUTION} FROM {FROM} WHERE e.number = ANY ($1) \
                 AND e.state = 'in-flight' ORDER BY e.number FOR UPDATE OF e"
            );
            let found = client
                .query_typed(&sql, &[(&rows, Type::INT8_ARRAY)])
                .await?;
            let held = executions(client, &self.logs, &found).await?;
            let hold = rows.iter().zip(&owners).all(|(number, owner)| {
                held.iter().any(|row| {
                    let record = &row.execution.record;
                    row.number == *number
                        && record.owner == owner.incarnation
                        && record.fence == owner.fence
                })
            });
            let read = if begun.is_some() && hold {
                ReadBack::Durable
            } else {
                ReadBack::WithoutPermits
            };
            Ok((read, begun))
        });
        let (read, begun) = read?;
        self.run(async |client| Ok(client.batch_execute("COMMIT").await?))?;
        match begun {
            Some((base, renewals)) => {
                self.known.begun(&base.head);
                self.lease.renewed(asked);
                self.confirmed = renewals.or(self.confirmed);
            }
            None => self.lease.end(),
        }
        Ok(read)
    }
}

/// Whether the log has an entry with this hash at a place.
pub(super) async fn holds(
    client: &Client,
    log: i64,
    sequence: i64,
    hash: Digest,
) -> Result<bool, StoreError> {
    let sql = "SELECT hash FROM countersign.entries WHERE log = $1 AND sequence = $2";
    let values: [Value<'_>; 2] = [(&log, Type::INT8), (&sequence, Type::INT8)];
    match one(client.query_typed(sql, &values).await?) {
        Some(row) => Ok(Columns::of(&row).digest()? == hash),
        None => Ok(false),
    }
}
