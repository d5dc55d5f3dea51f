//! Settled answers that are kept for a while, and the bounds of those that asked for
//! a round that is awaited.
//!
//! They arrive sealed and are nobody's to read here. Each is kept in the
//! transaction that settles, and goes with a later group: whenever some are
//! kept, a few more than that are dropped that are expired or beyond the
//! bounds, the oldest first, so that no transaction has many to drop. The totals
//! stand in a row of their own, so that nothing is counted.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::options::AnswerBounds;
use crate::plan::{Retain, Working};
use crate::settlement::Kept;
use crate::sqlite::columns::Count;
use crate::store::StoreError;
use countersign_evidence::CallId;

/// Dropped in one transaction, beside twice as many as it keeps.
const DROPPED_AT_ONCE: u64 = 64;

/// How many answers are kept, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    count: u64,
    bytes: u64,
}

fn total(connection: &Connection) -> Result<Total, StoreError> {
    let sql = "SELECT count, bytes FROM answers_kept";
    let found = connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(Total {
            count: row.get::<_, Count>(0)?.0,
            bytes: row.get::<_, Count>(1)?.0,
        })
    })?;
    Ok(found)
}

/// Keeps the answers of a group, in the group's transaction.
pub(super) fn keep(
    connection: &Connection,
    rows: &[Working],
    bounds: AnswerBounds,
    now_us: i64,
) -> Result<(), StoreError> {
    let mut kept = Total::default();
    for working in rows {
        let Retain::Answer(answer) = &working.retain else {
            continue;
        };
        let bytes = u64::try_from(answer.bytes.len()).unwrap_or(u64::MAX);
        if bytes > bounds.bytes || bounds.count == 0 {
            continue;
        }
        let sql = "INSERT INTO answers (execution, expires_us, bytes) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute(params![
            working.row.number,
            answer.expires_us,
            answer.bytes
        ])?;
        kept.count += 1;
        kept.bytes = kept.bytes.saturating_add(bytes);
    }
    if kept.count == 0 {
        return Ok(());
    }
    let most = kept.count.saturating_mul(2).saturating_add(DROPPED_AT_ONCE);
    let before = total(connection)?;
    let now = Total {
        count: before.count.saturating_add(kept.count),
        bytes: before.bytes.saturating_add(kept.bytes),
    };
    drop_some(connection, now, bounds, now_us, most)?;
    Ok(())
}

/// Drops a few that are expired, in a transaction of its own where there is one
/// to drop; says whether there may be more.
pub(super) fn expire(
    connection: &Connection,
    bounds: AnswerBounds,
    now_us: i64,
) -> Result<bool, StoreError> {
    let asked = drop_asked(connection, bounds)?;
    let sql = "SELECT EXISTS (SELECT 1 FROM answers WHERE expires_us <= ?1)";
    let due: bool = connection
        .prepare_cached(sql)?
        .query_row(params![now_us], |row| row.get(0))?;
    if !due {
        return Ok(asked);
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let now = total(connection)?;
    let more = drop_some(connection, now, bounds, now_us, DROPPED_AT_ONCE)?;
    connection.execute_batch("COMMIT")?;
    Ok(more || asked)
}

/// Drops a few of the answers that asked for rounds, where they are beyond the bounds,
/// the oldest executions' first; says whether there may be more. They have no time of
/// their own: a round is awaited until it is answered or given up.
fn drop_asked(connection: &Connection, bounds: AnswerBounds) -> Result<bool, StoreError> {
    let sql = "DELETE FROM retained WHERE execution IN (SELECT execution FROM (\
                   SELECT execution, row_number() OVER newest > ?1 \
                       OR sum(length(bytes)) OVER newest > ?2 AS beyond \
                   FROM retained WINDOW newest AS (ORDER BY execution DESC)) \
               WHERE beyond ORDER BY execution LIMIT ?3)";
    let dropped = connection.prepare_cached(sql)?.execute(params![
        Count(bounds.count),
        Count(bounds.bytes),
        Count(DROPPED_AT_ONCE)
    ])?;
    Ok(u64::try_from(dropped).is_ok_and(|dropped| dropped == DROPPED_AT_ONCE))
}

/// Drops at most `most`, the first to expire first, and writes the total; says
/// whether it stopped at `most`.
fn drop_some(
    connection: &Connection,
    mut total: Total,
    bounds: AnswerBounds,
    now_us: i64,
    most: u64,
) -> Result<bool, StoreError> {
    let mut dropped = Vec::new();
    {
        let sql = "SELECT execution, expires_us, length(bytes) FROM answers \
                   ORDER BY expires_us LIMIT ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let mut oldest = statement.query(params![Count(most)])?;
        // What is to stay is not read: nearly always that is the first.
        while let Some(row) = oldest.next()? {
            let within = total.count <= bounds.count && total.bytes <= bounds.bytes;
            if row.get::<_, i64>(1)? > now_us && within {
                break;
            }
            dropped.push(row.get::<_, i64>(0)?);
            total.count = total.count.saturating_sub(1);
            total.bytes = total.bytes.saturating_sub(row.get::<_, Count>(2)?.0);
        }
    }
    for execution in &dropped {
        connection
            .prepare_cached("DELETE FROM answers WHERE execution = ?1")?
            .execute(params![execution])?;
    }
    connection
        .prepare_cached("UPDATE answers_kept SET count = ?1, bytes = ?2")?
        .execute(params![Count(total.count), Count(total.bytes)])?;
    Ok(u64::try_from(dropped.len()).is_ok_and(|dropped| dropped == most))
}

/// The answer that is kept for the execution that a call opened.
pub(super) fn of_call(
    connection: &Connection,
    call_id: &CallId,
    now_us: i64,
) -> Result<Option<Kept>, StoreError> {
    let sql = "SELECT a.bytes, a.expires_us FROM answers a \
               JOIN executions e ON e.number = a.execution \
               WHERE e.call_id = ?1 AND a.expires_us > ?2";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![call_id.as_str(), now_us], |row| {
            Ok(Kept {
                bytes: row.get(0)?,
                expires_us: row.get(1)?,
            })
        })
        .optional()?;
    Ok(found)
}

/// Until when the answer of a row is kept, if it is.
pub(super) fn until(
    connection: &Connection,
    number: i64,
    now_us: i64,
) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT expires_us FROM answers WHERE execution = ?1 AND expires_us > ?2";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![number, now_us], |row| row.get(0))
        .optional()?;
    Ok(found)
}
