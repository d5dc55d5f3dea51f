//! Settled answers that are kept for a while, and the bounds of those that asked for
//! a round that is awaited.
//!
//! They arrive sealed and are nobody's to read here. Each is kept in the
//! transaction that settles; what is expired or beyond the bounds goes beside
//! groups, a few at a time. The bounds hold for the database, so for all
//! replicas together.

use countersign_evidence::CallId;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::options::AnswerBounds;
use crate::plan::{Retain, Working};
use crate::postgres::connect::{Value, one};
use crate::settlement::Kept;
use crate::store::StoreError;

/// Dropped in one statement.
const DROPPED_AT_ONCE: i64 = 256;

/// Keeps the answers of a group, in the group's transaction.
pub(super) async fn keep(
    client: &Client,
    rows: &[Working],
    bounds: AnswerBounds,
) -> Result<(), StoreError> {
    let (mut numbers, mut expire, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for working in rows {
        if let Retain::Answer(answer) = &working.retain
            && u64::try_from(answer.bytes.len()).is_ok_and(|length| length <= bounds.bytes)
            && bounds.count > 0
        {
            numbers.push(working.row.number);
            expire.push(answer.expires_us);
            bytes.push(answer.bytes.as_slice());
        }
    }
    if numbers.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO countersign.answers (execution, expires_us, bytes) \
               SELECT * FROM unnest($1, $2, $3)";
    let values: [Value<'_>; 3] = [
        (&numbers, Type::INT8_ARRAY),
        (&expire, Type::INT8_ARRAY),
        (&bytes, Type::BYTEA_ARRAY),
    ];
    client.execute_typed(sql, &values).await?;
    Ok(())
}

/// Drops a few that are expired, or beyond the bounds, the first to expire
/// first; says whether there may be more. What another replica is dropping is
/// left to it.
pub(super) async fn expire(
    client: &Client,
    bounds: AnswerBounds,
    now_us: i64,
) -> Result<bool, StoreError> {
    let bound = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let sql = "DELETE FROM countersign.answers WHERE execution IN (\
                   SELECT execution FROM countersign.answers a JOIN (\
                       SELECT execution AS kept, expires_us <= $1 \
                           OR row_number() OVER newest > $2 \
                           OR sum(length(bytes)) OVER newest > $3 AS beyond \
                       FROM countersign.answers \
                       WINDOW newest AS (ORDER BY expires_us DESC, execution)) k \
                   ON k.kept = a.execution AND k.beyond \
                   ORDER BY expires_us LIMIT $4 FOR UPDATE OF a SKIP LOCKED)";
    let values: [Value<'_>; 4] = [
        (&now_us, Type::INT8),
        (&bound(bounds.count), Type::INT8),
        (&bound(bounds.bytes), Type::INT8),
        (&DROPPED_AT_ONCE, Type::INT8),
    ];
    let dropped = client.execute_typed(sql, &values).await?;
    let more = i64::try_from(dropped) == Ok(DROPPED_AT_ONCE);
    Ok(drop_asked(client, bounds).await? || more)
}

/// Drops a few of the answers that asked for rounds, where they are beyond the bounds,
/// the oldest executions' first; says whether there may be more. They have no time of
/// their own: a round is awaited until it is answered or given up.
async fn drop_asked(client: &Client, bounds: AnswerBounds) -> Result<bool, StoreError> {
    let bound = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let sql = "DELETE FROM countersign.retained WHERE execution IN (\
                   SELECT execution FROM countersign.retained r JOIN (\
                       SELECT execution AS kept, row_number() OVER newest > $1 \
                           OR sum(length(bytes)) OVER newest > $2 AS beyond \
                       FROM countersign.retained \
                       WINDOW newest AS (ORDER BY execution DESC)) k \
                   ON k.kept = r.execution AND k.beyond \
                   ORDER BY execution LIMIT $3 FOR UPDATE OF r SKIP LOCKED)";
    let values: [Value<'_>; 3] = [
        (&bound(bounds.count), Type::INT8),
        (&bound(bounds.bytes), Type::INT8),
        (&DROPPED_AT_ONCE, Type::INT8),
    ];
    let dropped = client.execute_typed(sql, &values).await?;
    Ok(i64::try_from(dropped) == Ok(DROPPED_AT_ONCE))
}

/// The answer that is kept for the execution that a call opened.
pub(super) async fn of_call(
    client: &Client,
    call_id: &CallId,
    now_us: i64,
) -> Result<Option<Kept>, StoreError> {
    let sql = "SELECT a.bytes, a.expires_us FROM countersign.answers a \
               JOIN countersign.executions e ON e.number = a.execution \
               WHERE e.call_id = $1 AND a.expires_us > $2";
    let values: [Value<'_>; 2] = [(&call_id.as_str(), Type::TEXT), (&now_us, Type::INT8)];
    let found = one(client.query_typed(sql, &values).await?);
    Ok(found.map(|row| Kept {
        bytes: row.get(0),
        expires_us: row.get(1),
    }))
}
