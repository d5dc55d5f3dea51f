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

/// The columns of an execution, in the order in which [`execution`] takes them,
/// as a literal.
macro_rules! execution_columns {
    () => {
        "e.number, a.method, a.issuer, a.subject, e.execution_id, e.call_id, e.profile, \
         e.component, e.binding, e.server, e.server_digest, e.tool, e.client_digest, \
         e.workflow_id, e.represented_user, e.authority, e.policy_digest, e.catalog, \
         e.policy_epoch, e.catalog_epoch, e.state, e.outcome, e.boundary, e.owner, e.fence, \
         e.claimed, e.issued, e.task, e.chain_length, e.last_sequence, e.last_hash, \
         e.terminal_sequence, e.terminal_hash, e.reserved_us, e.changed_us, e.salt"
    };
}
pub(super) use execution_columns;

/// The columns of one row, taken from left to right: finding them by name would
/// cost more than reading them.
struct Columns<'r, 's> {
    row: &'r SqlRow<'s>,
    next: usize,
}

impl Columns<'_, '_> {
    fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let value = self.row.get(self.next)?;
        self.next += 1;
        Ok(value)
    }

    fn parsed<T: std::str::FromStr>(&mut self) -> rusqlite::Result<T> {
        self.take::<Parsed<T>>().map(|parsed| parsed.0)
    }

    fn parsed_option<T: std::str::FromStr>(&mut self) -> rusqlite::Result<Option<T>> {
        Ok(self.take::<Option<Parsed<T>>>()?.map(|parsed| parsed.0))
    }

    fn digest(&mut self) -> rusqlite::Result<Digest> {
        self.take::<Raw>().map(|raw| raw.0)
    }

    fn digest_option(&mut self) -> rusqlite::Result<Option<Digest>> {
        Ok(self.take::<Option<Raw>>()?.map(|raw| raw.0))
    }

    fn count(&mut self) -> rusqlite::Result<u64> {
        self.take::<Count>().map(|count| count.0)
    }
}

/// A salt as its 32 bytes.
pub(super) fn salt(bytes: Option<Vec<u8>>) -> rusqlite::Result<Option<Salt>> {
    let read = |bytes: Vec<u8>| bytes.try_into().map(Salt::new);
    bytes.map(read).transpose().map_err(|_| damaged("salt"))
}

fn damaged(column: &'static str) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(0, column.to_owned(), rusqlite::types::Type::Text)
}

/// Reads [`execution_columns`]. All entries are in the log `log_id`.
pub(super) fn execution(row: &SqlRow<'_>, log_id: &LogId) -> rusqlite::Result<Row> {
    let place = |sequence: u64, hash: Digest| Position {
        log_id: log_id.clone(),
        sequence,
        hash,
    };
    let mut columns = Columns { row, next: 0 };
    let number = columns.take()?;
    // Fields are evaluated as they stand here, which is the order of the columns.
    let agent = Agent {
        method: columns.take()?,
        issuer: columns.take()?,
        subject: columns.take()?,
    };
    let execution_id = columns.parsed_option()?;
    let call_id = columns.parsed()?;
    let admitted = Admitted {
        profile: columns.take()?,
        component: columns.digest()?,
        binding: columns.digest()?,
        target: Target {
            server: columns.parsed()?,
            server_digest: columns.digest()?,
            tool: columns.take()?,
        },
    };
    let context = Context {
        client_digest: columns.digest_option()?,
        workflow_id: columns.parsed_option()?,
        represented_user: columns.take()?,
        authority: columns.take()?,
        policy_digest: columns.digest_option()?,
        catalog: columns.digest_option()?,
        epochs: Epochs {
            policy: columns.count()?,
            catalog: columns.count()?,
        },
    };
    let state: String = columns.take()?;
    let outcome: Option<String> = columns.take()?;
    let boundary: String = columns.take()?;
    let record = Record {
        identified: execution_id.is_some(),
        state: State::parse(&state, outcome.as_deref()).ok_or_else(|| damaged("state"))?,
        boundary: EffectBoundary::parse(&boundary).ok_or_else(|| damaged("boundary"))?,
        owner: Incarnation::new(columns.take()?),
        fence: Fence::new(columns.take()?),
        claimed: columns.take::<Claimed>()?.0,
        issued: columns.digest_option()?,
        task: columns.parsed_option()?,
    };
    let chain_length = columns.count()?;
    let last = place(columns.count()?, columns.digest()?);
    let terminal_sequence: Option<Count> = columns.take()?;
    let terminal_hash = columns.digest_option()?;
    let execution = Execution {
        agent,
        execution_id,
        call_id,
        admitted,
        context,
        record,
        chain_length,
        last,
        terminal: terminal_sequence
            .zip(terminal_hash)
            .map(|(at, hash)| place(at.0, hash)),
        reserved_us: columns.take()?,
        changed_us: columns.take()?,
        salt: salt(columns.take()?)?,
    };
    Ok(Row { number, execution })
}
