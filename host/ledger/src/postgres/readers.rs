//! Reading, beside the writer.
//!
//! A thread of its own drives a few connections; each read takes one, for as
//! long as it lasts, and fails rather than wait for ever.

use std::cell::RefCell;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;

use countersign_evidence::{Agent, CallId, ExecutionId, Head, LogId, ServerName};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::LocalSet;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::attempt::Epochs;
use crate::error::{BackupError, LedgerError};
use crate::execution::Execution;
use crate::identity::TaskId;
use crate::plan::Row;
use crate::postgres::answers;
use crate::postgres::columns::{Columns, EXECUTION, FROM, Logs, executions, signed};
use crate::postgres::connect::{Connector, Value, one};
use crate::postgres::open::runtime;
use crate::reading::{
    KnownLog, LogHead, Page, Reads, Selection, Standing, StoredCheckpoint, StoredEntry,
};
use crate::request::Pending;
use crate::settlement::Kept;
use crate::store::StoreError;

/// Connections that are kept open, and the most that are.
const CONNECTIONS: usize = 4;

/// The most entries of one page, and the most that one page looks at.
const PAGE: usize = 1_000;
const LOOKED_AT: u64 = 20_000;

/// A read stays on the thread that reads, so only what begins it is sent there.
type Job = Box<dyn FnOnce(Rc<Pool>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The thread that reads.
pub(super) struct Readers {
    jobs: mpsc::UnboundedSender<Job>,
    log_id: LogId,
}

struct Pool {
    connector: Connector,
    free: Semaphore,
    idle: RefCell<Vec<Client>>,
}

/// What a read fails with: the store, or that there is no such thing.
pub(super) enum Unread {
    Store(StoreError),
    NotFound,
}

impl<E: Into<StoreError>> From<E> for Unread {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl Unread {
    /// What it is where the log must be there.
    pub(super) fn of_own_log(self) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::NotFound => StoreError::Damaged("the log is gone".into()),
        }
    }
}

impl Pool {
    async fn read<T>(
        &self,
        read: impl AsyncFnOnce(&Client) -> Result<T, Unread>,
    ) -> Result<T, LedgerError> {
        let patience = self.connector.postgres().patience();
        let work = async {
            let _place = self.free.acquire().await;
            let kept = loop {
                let kept = self.idle.borrow_mut().pop();
                match kept {
                    Some(client) if client.is_closed() => {}
                    kept => break kept,
                }
            };
            let client = match kept {
                Some(client) => client,
                None => self.connector.connect().await?,
            };
            let read = read(&client).await;
            // A connection that failed is not used again.
            if !matches!(read, Err(Unread::Store(_))) {
                self.idle.borrow_mut().push(client);
            }
            read
        };
        match tokio::time::timeout(patience, work).await {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(Unread::NotFound)) => Err(LedgerError::NotFound),
            Ok(Err(Unread::Store(error))) => {
                tracing::warn!(%error, "a read of the ledger failed");
                Err(LedgerError::Unavailable)
            }
            Err(_) => {
                tracing::warn!("a read of the ledger took too long");
                Err(LedgerError::Unavailable)
            }
        }
    }
}

impl Readers {
    pub(super) fn start(connector: Connector, log_id: LogId) -> Result<Self, String> {
        let (jobs, mut asked) = mpsc::unbounded_channel::<Job>();
        let runtime = runtime()?;
        std::thread::Builder::new()
            .name("ledger-readers".into())
            .spawn(move || {
                let pool = Rc::new(Pool {
                    connector,
                    free: Semaphore::new(CONNECTIONS),
                    idle: RefCell::default(),
                });
                LocalSet::new().block_on(&runtime, async move {
                    while let Some(job) = asked.recv().await {
                        tokio::task::spawn_local(job(Rc::clone(&pool)));
                    }
                });
            })
            .map_err(|error| error.to_string())?;
        Ok(Self { jobs, log_id })
    }

    fn ask<T: Send + 'static>(
        &self,
        read: impl AsyncFnOnce(&Client) -> Result<T, Unread> + Send + 'static,
    ) -> Pending<T> {
        let (reply, receiver) = oneshot::channel();
        let job: Job = Box::new(move |pool: Rc<Pool>| {
            Box::pin(async move {
                drop(reply.send(pool.read(read).await));
            })
        });
        match self.jobs.send(job) {
            Ok(()) => Pending::waiting(receiver),
            Err(_) => Pending::failed(LedgerError::Unavailable),
        }
    }
}

impl Reads for Readers {
    fn by_execution(&self, agent: &Agent, id: &ExecutionId) -> Pending<Option<Execution>> {
        let (agent, id) = (agent.clone(), id.clone());
        self.ask(async move |client| {
            let found = by_execution(client, &agent, &id).await?;
            Ok(found.map(|row| row.execution))
        })
    }

    fn by_call(&self, call_id: &CallId) -> Pending<Option<Execution>> {
        let call_id = call_id.clone();
        self.ask(async move |client| {
            let found = by_call(client, &call_id).await?;
            Ok(found.map(|row| row.execution))
        })
    }

    fn by_task(
        &self,
        agent: &Agent,
        server: &ServerName,
        task: &TaskId,
    ) -> Pending<Option<Execution>> {
        let (agent, server, task) = (agent.clone(), server.clone(), task.clone());
        self.ask(async move |client| {
            let condition = "e.task IS NOT NULL AND a.method = $1 AND a.issuer = $2 \
                 AND a.subject = $3 AND e.task = $4 AND e.server = $5 \
                 ORDER BY e.number DESC LIMIT 1";
            let values: [Value<'_>; 5] = [
                (&agent.method.as_bytes(), Type::BYTEA),
                (&agent.issuer.as_bytes(), Type::BYTEA),
                (&agent.subject.as_bytes(), Type::BYTEA),
                (&task.as_str().as_bytes(), Type::BYTEA),
                (&server.as_str(), Type::TEXT),
            ];
            let found = rows(client, condition, &values).await?;
            Ok(found.into_iter().next().map(|row| row.execution))
        })
    }

    fn kept_answer(&self, call_id: &CallId, now_us: i64) -> Pending<Option<Kept>> {
        let call_id = call_id.clone();
        self.ask(async move |client| Ok(answers::of_call(client, &call_id, now_us).await?))
    }

    fn backup(&self, _to: &Path) -> Option<Result<u64, BackupError>> {
        None
    }

    fn list(&self, standing: Standing, after: i64, limit: usize) -> Pending<Vec<(i64, Execution)>> {
        let limit = i64::try_from(limit.min(PAGE)).unwrap_or(0);
        self.ask(async move |client| {
            let state = standing.as_str();
            let values: [Value<'_>; 3] = [
                (&state, Type::TEXT),
                (&after, Type::INT8),
                (&limit, Type::INT8),
            ];
            // The condition of the index is repeated, so that the planner may use it.
            let condition = "e.state <> 'settled' AND e.state = $1 AND e.number > $2 \
                             ORDER BY e.number LIMIT $3";
            let rows = rows(client, condition, &values).await?;
            Ok(rows
                .into_iter()
                .map(|Row { number, execution }| (number, execution))
                .collect())
        })
    }

    fn epochs(&self) -> Pending<Epochs> {
        let log_id = self.log_id.clone();
        self.ask(async move |client| {
            let sql = "SELECT policy_epoch, catalog_epoch FROM countersign.logs WHERE log_id = $1";
            let row = log_row(client, sql, &log_id).await?;
            Ok(Columns::of(&row).epochs()?)
        })
    }

    fn logs(&self) -> Pending<Vec<KnownLog>> {
        self.ask(async move |client| {
            let sql = "SELECT log_id, head, key FROM countersign.logs ORDER BY number";
            let rows = client.query_typed(sql, &[]).await?;
            let read = |row| {
                let mut columns = Columns::of(row);
                let head = decoded(columns.parsed()?, columns.get()?)?;
                Ok(KnownLog {
                    head: LogHead::of(&head),
                    key: Some(columns.get()?),
                })
            };
            rows.iter().map(read).collect()
        })
    }

    fn head(&self, log: &LogId) -> Pending<LogHead> {
        let log_id = log.clone();
        self.ask(async move |client| {
            let (_, head) = log_head(client, &log_id).await?;
            Ok(LogHead::of(&head))
        })
    }

    fn entries(
        &self,
        log: &LogId,
        selection: &Selection,
        from: u64,
        limit: usize,
    ) -> Pending<Page> {
        let (log_id, selection) = (log.clone(), selection.clone());
        self.ask(async move |client| page(client, &log_id, &selection, from, limit).await)
    }

    fn checkpoints(&self, log: &LogId, from: u64, limit: usize) -> Pending<Vec<StoredCheckpoint>> {
        let log_id = log.clone();
        let limit = i64::try_from(limit.min(PAGE)).unwrap_or(0);
        self.ask(async move |client| {
            let (log, _) = log_head(client, &log_id).await?;
            let sql = "SELECT size, text FROM countersign.checkpoints \
                       WHERE log = $1 AND size >= $2 ORDER BY size LIMIT $3";
            let values: [Value<'_>; 3] = [
                (&log, Type::INT8),
                (&signed(from)?, Type::INT8),
                (&limit, Type::INT8),
            ];
            let rows = client.query_typed(sql, &values).await?;
            rows.iter().map(checkpoint).collect()
        })
    }

    fn newest_checkpoint(&self, log: &LogId) -> Pending<Option<StoredCheckpoint>> {
        let log_id = log.clone();
        self.ask(async move |client| newest_checkpoint(client, &log_id).await)
    }
}

pub(super) async fn newest_checkpoint(
    client: &Client,
    log_id: &LogId,
) -> Result<Option<StoredCheckpoint>, Unread> {
    let (log, _) = log_head(client, log_id).await?;
    let sql = "SELECT size, text FROM countersign.checkpoints \
               WHERE log = $1 ORDER BY size DESC LIMIT 1";
    let rows = client.query_typed(sql, &[(&log, Type::INT8)]).await?;
    rows.first().map(checkpoint).transpose()
}

fn checkpoint(row: &tokio_postgres::Row) -> Result<StoredCheckpoint, Unread> {
    let mut columns = Columns::of(row);
    Ok(StoredCheckpoint {
        size: columns.count()?,
        text: columns.get()?,
    })
}

async fn rows(
    client: &Client,
    condition: &str,
    values: &[Value<'_>],
) -> Result<Vec<Row>, StoreError> {
    let sql = format!("SELECT {EXECUTION} FROM {FROM} WHERE {condition}");
    let found = client.query_typed(&sql, values).await?;
    executions(client, &Logs::default(), &found).await
}

async fn by_execution(
    client: &Client,
    agent: &Agent,
    id: &ExecutionId,
) -> Result<Option<Row>, StoreError> {
    let condition = "a.method = $1 AND a.issuer = $2 AND a.subject = $3 AND e.execution_id = $4";
    let values: [Value<'_>; 4] = [
        (&agent.method.as_bytes(), Type::BYTEA),
        (&agent.issuer.as_bytes(), Type::BYTEA),
        (&agent.subject.as_bytes(), Type::BYTEA),
        (&id.as_str(), Type::TEXT),
    ];
    Ok(rows(client, condition, &values).await?.into_iter().next())
}

async fn by_call(client: &Client, call_id: &CallId) -> Result<Option<Row>, StoreError> {
    let values: [Value<'_>; 1] = [(&call_id.as_str(), Type::TEXT)];
    let found = rows(client, "e.call_id = $1", &values).await?;
    Ok(found.into_iter().next())
}

async fn log_row(
    client: &Client,
    sql: &str,
    log_id: &LogId,
) -> Result<tokio_postgres::Row, Unread> {
    let rows = client
        .query_typed(sql, &[(&log_id.as_str(), Type::TEXT)])
        .await?;
    one(rows).ok_or(Unread::NotFound)
}

async fn log_head(client: &Client, log_id: &LogId) -> Result<(i64, Head), Unread> {
    let sql = "SELECT number, head FROM countersign.logs WHERE log_id = $1";
    let row = log_row(client, sql, log_id).await?;
    let mut columns = Columns::of(&row);
    let log = columns.get()?;
    let head = decoded(log_id.clone(), columns.get()?)?;
    Ok((log, head))
}

fn decoded(log_id: LogId, bytes: &[u8]) -> Result<Head, StoreError> {
    Head::decode(log_id, bytes).map_err(|error| StoreError::Damaged(error.to_string()))
}

pub(super) async fn page(
    client: &Client,
    log_id: &LogId,
    selection: &Selection,
    from: u64,
    limit: usize,
) -> Result<Page, Unread> {
    let (log, head) = log_head(client, log_id).await?;
    let size = head.size();
    let limit = limit.clamp(1, PAGE);
    // Only a selection without an index is read in windows.
    let mut end = size;
    let count = i64::try_from(limit).unwrap_or(0);
    let sequence = signed(from)?;
    let mut values: Vec<Value<'_>> = vec![
        (&log, Type::INT8),
        (&sequence, Type::INT8),
        (&count, Type::INT8),
    ];
    let (execution, call, window);
    let condition = match selection {
        Selection::All => "",
        Selection::Execution(agent, id) => {
            let row = by_execution(client, agent, id).await?;
            execution = row.map(|row| row.number);
            values.push((&execution, Type::INT8));
            "AND n.execution = $4"
        }
        Selection::Call(call_id) => {
            let row = by_call(client, call_id).await?;
            execution = row.map(|row| row.number);
            call = call_id.as_str();
            values.extend([(&execution as _, Type::INT8), (&call as _, Type::TEXT)]);
            "AND (n.execution = $4 OR n.call_id = $5)"
        }
        Selection::Agent(agent) => {
            execution = agent_number(client, agent).await?;
            values.push((&execution, Type::INT8));
            "AND n.agent = $4"
        }
        Selection::Workflow(workflow) => {
            call = workflow.as_str();
            values.push((&call, Type::TEXT));
            "AND n.workflow_id = $4"
        }
        Selection::Time(after_us, before_us) => {
            end = size.min(from.saturating_add(LOOKED_AT));
            window = signed(end)?;
            let more: [Value<'_>; 3] = [
                (after_us, Type::INT8),
                (before_us, Type::INT8),
                (&window, Type::INT8),
            ];
            values.extend(more);
            "AND n.time_us >= $4 AND n.time_us < $5 AND n.sequence < $6"
        }
    };
    let sql = format!(
        "SELECT n.sequence, n.hash, n.bytes, x.salt, x.binding FROM countersign.entries n \
         LEFT JOIN countersign.executions x ON x.number = n.execution \
         WHERE n.log = $1 AND n.sequence >= $2 {condition} ORDER BY n.sequence LIMIT $3"
    );
    let rows = client.query_typed(&sql, &values).await?;
    let found: Vec<StoredEntry> = rows.iter().map(stored).collect::<Result<_, _>>()?;
    let next = match found.last() {
        Some(last) if found.len() == limit => Some(last.sequence.saturating_add(1)),
        _ => Some(end),
    };
    Ok(Page {
        entries: found,
        next: next.filter(|next| *next < size),
    })
}

fn stored(row: &tokio_postgres::Row) -> Result<StoredEntry, StoreError> {
    let mut columns = Columns::of(row);
    Ok(StoredEntry {
        sequence: columns.count()?,
        hash: columns.digest()?,
        bytes: columns.get()?,
        opening: match (columns.salt()?, columns.digest_option()?) {
            (Some(salt), Some(binding)) => Some((salt, binding)),
            _ => None,
        },
    })
}

async fn agent_number(client: &Client, agent: &Agent) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT number FROM countersign.agents \
               WHERE method = $1 AND issuer = $2 AND subject = $3";
    let values: [Value<'_>; 3] = [
        (&agent.method.as_bytes(), Type::BYTEA),
        (&agent.issuer.as_bytes(), Type::BYTEA),
        (&agent.subject.as_bytes(), Type::BYTEA),
    ];
    Ok(one(client.query_typed(sql, &values).await?).map(|row| row.get(0)))
}
