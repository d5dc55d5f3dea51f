//! How values stand in columns, and how they are read back.
//!
//! What is read back is parsed like any other input: a row that holds what is
//! never written is damage, and is said to be.

use countersign_canon::Digest;
use countersign_evidence::{Agent, EffectBoundary, LogId, Salt, Target};
use rusqlite::Row as SqlRow;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::attempt::{Admitted, Epochs, Position};
use crate::execution::{Context, Execution};
use crate::identity::{Fence, Incarnation};
use crate::plan::Row;
use crate::record::{Record, State};

/// A digest as its 32 bytes.
pub(super) struct Raw(pub(super) Digest);

impl ToSql for Raw {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.to_bytes().to_vec()))
    }
}

impl FromSql for Raw {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes: [u8; 32] = value
            .as_blob()?
            .try_into()
            .map_err(|_| FromSqlError::InvalidType)?;
        Ok(Self(Digest::from_bytes(bytes)))
    }
}

/// A text that its own type parses.
struct Parsed<T>(T);

impl<T: std::str::FromStr> FromSql for Parsed<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_str()?
            .parse()
            .map(Self)
            .map_err(|_| FromSqlError::InvalidType)
    }
}

/// A count, which SQLite keeps as a signed number.
pub(super) struct Count(pub(super) u64);

impl ToSql for Count {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        i64::try_from(self.0)
            .map(ToSqlOutput::from)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
    }
}

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        u64::try_from(value.as_i64()?)
            .map(Self)
            .map_err(|_| FromSqlError::InvalidType)
    }
}

/// The continuations that were claimed, 32 bytes each.
pub(super) fn claimed_bytes(claimed: &[Digest]) -> Vec<u8> {
    claimed
        .iter()
        .flat_map(|digest| digest.to_bytes())
        .collect()
}

struct Claimed(Vec<Digest>);

impl FromSql for Claimed {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let (digests, rest) = value.as_blob()?.as_chunks::<32>();
        if rest.is_empty() {
            Ok(Self(
                digests
                    .iter()
                    .map(|bytes| Digest::from_bytes(*bytes))
                    .collect(),
            ))
        } else {
            Err(FromSqlError::InvalidType)
        }
    }
}

/// The columns of an execution, in the order that [`execution`] reads them.
pub(super) const EXECUTION: &str = "e.number, a.method, a.issuer, a.subject, e.execution_id, \
    e.call_id, e.profile, e.component, e.binding, e.server, e.server_digest, e.tool, \
    e.client_digest, e.workflow_id, e.represented_user, e.authority, e.policy_digest, e.catalog, \
    e.policy_epoch, e.catalog_epoch, e.state, e.outcome, e.boundary, e.owner, e.fence, \
    e.claimed, e.issued, e.task, e.chain_length, e.last_sequence, e.last_hash, \
    e.terminal_sequence, e.terminal_hash, e.reserved_us, e.changed_us, e.salt";

fn parsed<T: std::str::FromStr>(row: &SqlRow<'_>, column: &str) -> rusqlite::Result<T> {
    row.get::<_, Parsed<T>>(column).map(|parsed| parsed.0)
}

fn parsed_option<T: std::str::FromStr>(
    row: &SqlRow<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    Ok(row
        .get::<_, Option<Parsed<T>>>(column)?
        .map(|parsed| parsed.0))
}

fn digest(row: &SqlRow<'_>, column: &str) -> rusqlite::Result<Digest> {
    row.get::<_, Raw>(column).map(|raw| raw.0)
}

fn digest_option(row: &SqlRow<'_>, column: &str) -> rusqlite::Result<Option<Digest>> {
    Ok(row.get::<_, Option<Raw>>(column)?.map(|raw| raw.0))
}

fn count(row: &SqlRow<'_>, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, Count>(column).map(|count| count.0)
}

/// A salt as its 32 bytes.
pub(super) fn salt(bytes: Option<Vec<u8>>) -> rusqlite::Result<Option<Salt>> {
    let read = |bytes: Vec<u8>| bytes.try_into().map(Salt::new);
    bytes.map(read).transpose().map_err(|_| damaged("salt"))
}

fn damaged(column: &'static str) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(0, column.to_owned(), rusqlite::types::Type::Text)
}

/// Reads the columns of [`EXECUTION`]. All entries are in the log `log_id`.
pub(super) fn execution(row: &SqlRow<'_>, log_id: &LogId) -> rusqlite::Result<Row> {
    let place = |sequence: u64, hash: Digest| Position {
        log_id: log_id.clone(),
        sequence,
        hash,
    };
    let execution_id = parsed_option(row, "execution_id")?;
    let state: String = row.get("state")?;
    let outcome: Option<String> = row.get("outcome")?;
    let boundary: String = row.get("boundary")?;
    let record = Record {
        identified: execution_id.is_some(),
        state: State::parse(&state, outcome.as_deref()).ok_or_else(|| damaged("state"))?,
        boundary: EffectBoundary::parse(&boundary).ok_or_else(|| damaged("boundary"))?,
        owner: Incarnation::new(row.get("owner")?),
        fence: Fence::new(row.get("fence")?),
        claimed: row.get::<_, Claimed>("claimed")?.0,
        issued: digest_option(row, "issued")?,
        task: parsed_option(row, "task")?,
    };
    let terminal_sequence: Option<Count> = row.get("terminal_sequence")?;
    let terminal_hash = digest_option(row, "terminal_hash")?;
    let execution = Execution {
        agent: Agent {
            method: row.get("method")?,
            issuer: row.get("issuer")?,
            subject: row.get("subject")?,
        },
        execution_id,
        call_id: parsed(row, "call_id")?,
        admitted: Admitted {
            profile: row.get("profile")?,
            component: digest(row, "component")?,
            binding: digest(row, "binding")?,
            target: Target {
                server: parsed(row, "server")?,
                server_digest: digest(row, "server_digest")?,
                tool: row.get("tool")?,
            },
        },
        context: Context {
            client_digest: digest_option(row, "client_digest")?,
            workflow_id: parsed_option(row, "workflow_id")?,
            represented_user: row.get("represented_user")?,
            authority: row.get("authority")?,
            policy_digest: digest_option(row, "policy_digest")?,
            catalog: digest_option(row, "catalog")?,
            epochs: Epochs {
                policy: count(row, "policy_epoch")?,
                catalog: count(row, "catalog_epoch")?,
            },
        },
        salt: salt(row.get("salt")?)?,
        record,
        chain_length: count(row, "chain_length")?,
        last: place(count(row, "last_sequence")?, digest(row, "last_hash")?),
        terminal: terminal_sequence
            .zip(terminal_hash)
            .map(|(at, hash)| place(at.0, hash)),
        reserved_us: row.get("reserved_us")?,
        changed_us: row.get("changed_us")?,
    };
    Ok(Row {
        number: row.get("number")?,
        execution,
    })
}
