//! How values stand in columns, and how they are read back.
//!
//! What is read back is parsed like any other input: a row that holds what is
//! never written is damage, and is said to be.

use std::collections::BTreeMap;
use std::str::FromStr;

use countersign_canon::Digest;
use countersign_evidence::{Agent, EffectBoundary, LogId, Salt, Target};
use tokio_postgres::types::FromSql;
use tokio_postgres::{Client, Row as SqlRow};

use crate::attempt::{Admitted, Epochs, Position};
use crate::execution::{Context, Execution};
use crate::identity::{Fence, Incarnation};
use crate::plan::Row;
use crate::record::{Record, State};
use crate::store::StoreError;

/// The columns of an execution, in the order that [`execution`] reads them, of
/// the tables that [`FROM`] joins.
pub(super) const EXECUTION: &str = "e.number, a.method, a.issuer, a.subject, e.execution_id, \
    e.call_id, e.profile, e.component, e.binding, e.server, e.server_digest, e.tool, \
    e.client_digest, e.workflow_id, e.represented_user, e.authority, e.policy_digest, e.catalog, \
    e.policy_epoch, e.catalog_epoch, e.state, e.outcome, e.boundary, e.owner, e.fence, \
    e.claimed, e.issued, e.task, e.chain_length, e.last_log, e.last_sequence, e.last_hash, \
    e.terminal_log, e.terminal_sequence, e.terminal_hash, e.reserved_us, e.changed_us, e.salt";

/// Where the columns of [`EXECUTION`] come from. Only what never changes is
/// joined: a row that is waited for is looked at again once it is locked, and
/// the rows that were joined to it before are not.
pub(super) const FROM: &str = "countersign.executions e \
    JOIN countersign.agents a ON a.number = e.agent";

/// The logs of the database, by the numbers by which rows name them.
#[derive(Debug, Default)]
pub(super) struct Logs(BTreeMap<i64, LogId>);

impl Logs {
    pub(super) async fn read(client: &Client) -> Result<Self, StoreError> {
        let sql = "SELECT number, log_id FROM countersign.logs";
        let rows = client.query_typed(sql, &[]).await?;
        let read = |row| {
            let mut columns = Columns::of(row);
            Ok((columns.get()?, columns.parsed()?))
        };
        rows.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The number of a log.
    pub(super) fn number(&self, log_id: &LogId) -> Option<i64> {
        let found = self.0.iter().find(|(_, known)| *known == log_id);
        found.map(|(number, _)| *number)
    }

    /// Whether all logs that rows of executions name are known; another replica
    /// may have begun its own meanwhile.
    fn know(&self, rows: &[SqlRow]) -> bool {
        rows.iter().all(|row| {
            let last: Option<i64> = row.try_get("last_log").unwrap_or_default();
            let terminal: Option<i64> = row.try_get("terminal_log").unwrap_or_default();
            let mut named = last.into_iter().chain(terminal);
            named.all(|number| self.0.contains_key(&number))
        })
    }
}

/// Reads rows with the columns of [`EXECUTION`].
pub(super) async fn executions(
    client: &Client,
    logs: &Logs,
    rows: &[SqlRow],
) -> Result<Vec<Row>, StoreError> {
    if logs.know(rows) {
        rows.iter().map(|row| execution(row, logs)).collect()
    } else {
        let logs = Logs::read(client).await?;
        rows.iter().map(|row| execution(row, &logs)).collect()
    }
}

/// A count, which the database keeps as a signed number.
pub(super) fn signed(count: u64) -> Result<i64, StoreError> {
    i64::try_from(count).map_err(|_| StoreError::Damaged("a count is out of range".into()))
}

/// The continuations that were claimed, 32 bytes each.
pub(super) fn claimed_bytes(claimed: &[Digest]) -> Vec<u8> {
    claimed
        .iter()
        .flat_map(|digest| digest.to_bytes())
        .collect()
}

/// Reads the columns of a row one after the other.
pub(super) struct Columns<'a> {
    row: &'a SqlRow,
    next: usize,
}

impl<'a> Columns<'a> {
    pub(super) fn of(row: &'a SqlRow) -> Self {
        Self { row, next: 0 }
    }

    fn damaged(&self) -> StoreError {
        StoreError::Damaged(format!("column {} holds what is never written", self.next))
    }

    pub(super) fn get<T: FromSql<'a>>(&mut self) -> Result<T, StoreError> {
        let value = self.row.try_get(self.next).map_err(|_| self.damaged());
        self.next += 1;
        value
    }

    pub(super) fn count(&mut self) -> Result<u64, StoreError> {
        let count: i64 = self.get()?;
        u64::try_from(count).map_err(|_| self.damaged())
    }

    pub(super) fn parsed<T: FromStr>(&mut self) -> Result<T, StoreError> {
        self.parsed_option()?.ok_or_else(|| self.damaged())
    }

    fn parsed_option<T: FromStr>(&mut self) -> Result<Option<T>, StoreError> {
        let text: Option<&str> = self.get()?;
        text.map(|text| text.parse().map_err(|_| self.damaged()))
            .transpose()
    }

    pub(super) fn digest(&mut self) -> Result<Digest, StoreError> {
        self.digest_option()?.ok_or_else(|| self.damaged())
    }

    pub(super) fn digest_option(&mut self) -> Result<Option<Digest>, StoreError> {
        let bytes: Option<&[u8]> = self.get()?;
        let digest = |bytes: &[u8]| bytes.try_into().map(Digest::from_bytes);
        bytes
            .map(|bytes| digest(bytes).map_err(|_| self.damaged()))
            .transpose()
    }

    /// A salt as its 32 bytes.
    pub(super) fn salt(&mut self) -> Result<Option<Salt>, StoreError> {
        let bytes: Option<&[u8]> = self.get()?;
        let salt = |bytes: &[u8]| bytes.try_into().map(Salt::new);
        bytes
            .map(|bytes| salt(bytes).map_err(|_| self.damaged()))
            .transpose()
    }

    /// A text that is kept as bytes.
    fn text(&mut self) -> Result<String, StoreError> {
        self.text_option()?.ok_or_else(|| self.damaged())
    }

    fn text_option(&mut self) -> Result<Option<String>, StoreError> {
        let bytes: Option<Vec<u8>> = self.get()?;
        bytes
            .map(|bytes| String::from_utf8(bytes).map_err(|_| self.damaged()))
            .transpose()
    }

    pub(super) fn agent(&mut self) -> Result<Agent, StoreError> {
        Ok(Agent {
            method: self.text()?,
            issuer: self.text()?,
            subject: self.text()?,
        })
    }

    fn claimed(&mut self) -> Result<Vec<Digest>, StoreError> {
        let bytes: &[u8] = self.get()?;
        let (digests, rest) = bytes.as_chunks::<32>();
        if !rest.is_empty() {
            return Err(self.damaged());
        }
        Ok(digests
            .iter()
            .map(|bytes| Digest::from_bytes(*bytes))
            .collect())
    }

    pub(super) fn epochs(&mut self) -> Result<Epochs, StoreError> {
        Ok(Epochs {
            policy: self.count()?,
            catalog: self.count()?,
        })
    }

    fn admitted(&mut self) -> Result<Admitted, StoreError> {
        Ok(Admitted {
            profile: self.text()?,
            component: self.digest()?,
            binding: self.digest()?,
            target: Target {
                server: self.parsed()?,
                server_digest: self.digest()?,
                tool: self.text()?,
            },
        })
    }

    fn context(&mut self) -> Result<Context, StoreError> {
        Ok(Context {
            client_digest: self.digest_option()?,
            workflow_id: self.parsed_option()?,
            represented_user: self.text_option()?,
            authority: self.text_option()?,
            policy_digest: self.digest_option()?,
            catalog: self.digest_option()?,
            epochs: self.epochs()?,
        })
    }

    fn record(&mut self, identified: bool) -> Result<Record, StoreError> {
        let (state, outcome): (&str, Option<&str>) = (self.get()?, self.get()?);
        let state = State::parse(state, outcome).ok_or_else(|| self.damaged())?;
        let boundary: &str = self.get()?;
        Ok(Record {
            identified,
            state,
            boundary: EffectBoundary::parse(boundary).ok_or_else(|| self.damaged())?,
            owner: Incarnation::new(self.get()?),
            fence: Fence::new(self.get()?),
            claimed: self.claimed()?,
            issued: self.digest_option()?,
            task: match self.text_option()? {
                Some(task) => Some(task.parse().map_err(|_| self.damaged())?),
                None => None,
            },
        })
    }

    fn place(&mut self, logs: &Logs) -> Result<Option<Position>, StoreError> {
        let log: Option<i64> = self.get()?;
        let log_id = log.map(|log| logs.0.get(&log).cloned().ok_or_else(|| self.damaged()));
        let log_id = log_id.transpose()?;
        let sequence: Option<i64> = self.get()?;
        let hash = self.digest_option()?;
        match (log_id, sequence.map(u64::try_from), hash) {
            (Some(log_id), Some(Ok(sequence)), Some(hash)) => Ok(Some(Position {
                log_id,
                sequence,
                hash,
            })),
            (None, None, None) => Ok(None),
            _ => Err(self.damaged()),
        }
    }
}

fn execution(row: &SqlRow, logs: &Logs) -> Result<Row, StoreError> {
    let mut columns = Columns::of(row);
    let number = columns.get()?;
    let agent = columns.agent()?;
    let execution_id = columns.parsed_option()?;
    let call_id = columns.parsed()?;
    let admitted = columns.admitted()?;
    let context = columns.context()?;
    let record = columns.record(execution_id.is_some())?;
    let chain_length = columns.count()?;
    let last = columns.place(logs)?.ok_or_else(|| columns.damaged())?;
    let terminal = columns.place(logs)?;
    let execution = Execution {
        agent,
        execution_id,
        call_id,
        admitted,
        context,
        record,
        chain_length,
        last,
        terminal,
        reserved_us: columns.get()?,
        changed_us: columns.get()?,
        salt: columns.salt()?,
    };
    Ok(Row { number, execution })
}
