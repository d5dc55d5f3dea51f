//! How far the logs of the database have come, and whether it still holds what was
//! seen of them.

use countersign_evidence::LogId;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::identity::Incarnation;
use crate::known::End;
use crate::postgres::columns::{Columns, signed};
use crate::postgres::connect::{Value, one};
use crate::postgres::store::Store;
use crate::store::StoreError;

/// How often an incarnation has renewed its lease. Nobody else does that in its
/// name, so a database that says less has gone back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Renewals {
    pub(super) incarnation: Incarnation,
    pub(super) count: i64,
}

impl Store {
    /// Everything of which the database must hold the end.
    pub(super) fn known_ends(&self) -> Vec<End> {
        let own = self.known.own_end(&self.log_id);
        own.into_iter()
            .chain(self.known.others().iter().cloned())
            .collect()
    }

    /// Compares what the database holds of the ends that are known, and takes up
    /// those that it has now.
    pub(super) fn compare(&mut self, held: bool, newest: &[End]) -> Result<(), StoreError> {
        if !held {
            return Err(StoreError::RolledBack);
        }
        self.known.remember(newest);
        Ok(())
    }

    /// One more renewal of this incarnation.
    ///
    /// # Errors
    ///
    /// [`StoreError::RolledBack`] where there were as many before.
    pub(super) fn renewed(&self, count: i64) -> Result<Renewals, StoreError> {
        let incarnation = self.incarnation;
        match self.confirmed {
            Some(before) if before.incarnation == incarnation && before.count >= count => {
                Err(StoreError::RolledBack)
            }
            _ => Ok(Renewals { incarnation, count }),
        }
    }
}

/// Whether the database holds all of these.
pub(super) async fn held(client: &Client, ends: &[End]) -> Result<bool, StoreError> {
    if ends.is_empty() {
        return Ok(true);
    }
    let logs: Vec<&str> = ends.iter().map(|end| end.log_id.as_str()).collect();
    let sequences: Result<Vec<i64>, _> = ends
        .iter()
        .map(|end| signed(end.size.saturating_sub(1)))
        .collect();
    let hashes: Vec<Vec<u8>> = ends
        .iter()
        .map(|end| end.last.to_bytes().to_vec())
        .collect();
    let sql = "SELECT count(*) FROM unnest($1, $2, $3) AS k (log_id, sequence, hash) \
               JOIN countersign.logs l ON l.log_id = k.log_id \
               JOIN countersign.entries e ON e.log = l.number AND e.sequence = k.sequence \
                   AND e.hash = k.hash";
    let values: [Value<'_>; 3] = [
        (&logs, Type::TEXT_ARRAY),
        (&sequences?, Type::INT8_ARRAY),
        (&hashes, Type::BYTEA_ARRAY),
    ];
    let count: i64 = one(client.query_typed(sql, &values).await?).map_or(0, |row| row.get(0));
    Ok(usize::try_from(count) == Ok(ends.len()))
}

/// The end of every log but `own`, of those that have an entry.
pub(super) async fn newest(client: &Client, own: &LogId) -> Result<Vec<End>, StoreError> {
    let sql = "SELECT l.log_id, e.sequence, e.hash FROM countersign.logs l \
               CROSS JOIN LATERAL (SELECT sequence, hash FROM countersign.entries \
                   WHERE log = l.number ORDER BY sequence DESC LIMIT 1) e \
               WHERE l.log_id <> $1";
    let found = client
        .query_typed(sql, &[(&own.as_str(), Type::TEXT)])
        .await?;
    let end = |row| {
        let mut columns = Columns::of(row);
        Ok(End {
            log_id: columns.parsed()?,
            size: columns.count()?.saturating_add(1),
            last: columns.digest()?,
        })
    };
    found.iter().map(end).collect()
}

/// Gives an incarnation that has just begun a number above `highest`; answers that.
pub(super) async fn renumbered(
    client: &Client,
    number: i64,
    highest: i64,
) -> Result<Option<i64>, StoreError> {
    // Each number that is taken from the sequence is higher than the one before.
    let sql = "UPDATE countersign.incarnations SET number = (SELECT max(nextval(\
               pg_get_serial_sequence('countersign.incarnations', 'number'))) \
               FROM generate_series($1, $2)) WHERE number = $1 RETURNING number";
    let values: [Value<'_>; 2] = [(&number, Type::INT8), (&highest, Type::INT8)];
    let renumbered = one(client.query_typed(sql, &values).await?);
    Ok(renumbered.map(|row| row.get(0)))
}

/// Whether an incarnation of a log is there, with as many renewals as it is known to
/// have made.
pub(super) async fn stands(client: &Client, log: i64, known: Renewals) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM countersign.incarnations \
               WHERE number = $1 AND log = $2 AND renewals >= $3)";
    let values: [Value<'_>; 3] = [
        (&known.incarnation.get(), Type::INT8),
        (&log, Type::INT8),
        (&known.count, Type::INT8),
    ];
    let found = one(client.query_typed(sql, &values).await?);
    Ok(found.is_some_and(|row| row.get(0)))
}
