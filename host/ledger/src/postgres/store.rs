//! The writer's side of the database.
//!
//! A group costs three round trips: one begins the transaction, renews the
//! lease, locks the log and reads every row that the group will touch; one
//! writes; one commits. The log's row stays locked until the transaction ends,
//! so whoever holds it next knows what became of the one before: that is how a
//! lost acknowledgement is read back.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::{Agent, Head, LogId};
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::error::OpenError;
use crate::identity::Incarnation;
use crate::lease::Lease;
use crate::options::{AnswerBounds, Clock};
use crate::plan::{Base, Batch, Row};
use crate::postgres::columns::{Columns, EXECUTION, FROM, Logs, executions, signed};
use crate::postgres::connect::{Connector, NotDurable, Value, in_time, one};
use crate::postgres::read::{self, InTransaction, Read};
use crate::postgres::watch::{Standing, Watch};
use crate::postgres::{answers, schema, write};
use crate::store::{self, Lost, ReadBack, StoreError, Upkeep, Wanted};

/// Agents whose numbers are remembered between groups.
const AGENTS_REMEMBERED: usize = 10_000;

/// Numbers of executions that are taken from the sequence at once: by how much
/// it rises.
const BLOCK: i64 = 1_024;

/// The writer's connection, and what it knows of the database.
pub(crate) struct Store {
    pub(super) runtime: Runtime,
    pub(super) client: Option<Client>,
    pub(super) connector: Connector,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) log_id: LogId,
    /// The number of the log that this replica writes.
    pub(super) log: i64,
    pub(super) logs: Logs,
    pub(super) agents: HashMap<Agent, i64>,
    pub(super) answers: AnswerBounds,
    pub(super) incarnation: Incarnation,
    pub(super) lease: Arc<Lease>,
    /// When the renewal was asked for that counts once the group is durable.
    pub(super) asked: Option<Duration>,
    pub(super) watch: Watch,
    pub(super) read: Read,
    /// Numbers of executions that are taken and not used: from, below.
    pub(super) numbers: (i64, i64),
    pub(super) retry: Backoff,
    /// Held open for as long as this process is this replica.
    pub(super) _lock: std::fs::File,
}

/// When a lost connection is tried again.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    wait: Duration,
    not_before: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(5);

    fn failed(&mut self, now: Duration) {
        self.wait = (self.wait * 2).clamp(Self::FIRST, Self::LONGEST);
        self.not_before = now.saturating_add(self.wait);
    }
}

impl Store {
    fn patience(&self) -> Duration {
        self.connector.postgres().patience()
    }

    /// Carries out `work` on the connection.
    fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let client = self.client.as_ref();
        let client = client.ok_or_else(|| StoreError::Failed("not connected".into()))?;
        let work = in_time(self.patience(), work(client));
        self.runtime.block_on(work)
    }

    /// Begins a transaction and locks the log, for `renewing` an incarnation that
    /// has not ended.
    async fn begin_on(&self, client: &Client, renewing: bool) -> Result<Base, StoreError> {
        let lease_us = micros(self.connector.postgres().lease);
        let begin = self.connector.begin();
        let renew = async {
            if !renewing {
                return Ok(true);
            }
            let values: [Value<'_>; 2] = [
                (&self.incarnation.get(), Type::INT8),
                (&lease_us, Type::INT8),
            ];
            Ok(client.execute_typed(RENEW, &values).await? == 1)
        };
        let head = async {
            let sql = "SELECT head, policy_epoch, catalog_epoch FROM countersign.logs \
                       WHERE number = $1 FOR UPDATE";
            client.query_typed(sql, &[(&self.log, Type::INT8)]).await
        };
        let begun = async { client.batch_execute(&begin).await };
        let ((), renewed, head) = tokio::try_join!(biased; begun, renew, head)?;
        if !renewed {
            return Err(StoreError::Ended);
        }
        let row = one(head).ok_or_else(|| StoreError::Damaged("the log is gone".into()))?;
        let mut columns = Columns::of(&row);
        let bytes: &[u8] = columns.get()?;
        let head = Head::decode(self.log_id.clone(), bytes)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        Ok(Base {
            head,
            epochs: columns.epochs()?,
            next_number: self.numbers.0,
        })
    }

    /// Sees to it that a whole group finds numbers for its executions.
    fn take_numbers(&mut self, wanted: usize) -> Result<(), StoreError> {
        let wanted = i64::try_from(wanted).unwrap_or(BLOCK);
        if self.numbers.1.saturating_sub(self.numbers.0) >= wanted {
            return Ok(());
        }
        if wanted > BLOCK {
            return Err(StoreError::Refused("the group is too large".into()));
        }
        let first = self.run(async |client| {
            let sql = "SELECT nextval('countersign.execution_numbers')";
            let rows = client.query_typed(sql, &[]).await?;
            Ok(one(rows).map(|row| row.get::<_, i64>(0)))
        })?;
        let first = first.ok_or_else(|| StoreError::Damaged("no number is left".into()))?;
        self.numbers = (first, first.saturating_add(BLOCK));
        Ok(())
    }

    /// The renewal that was asked for is durable.
    fn count_renewal(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.lease.renewed(asked);
        }
    }

    fn number_names(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if self.agents.len() > AGENTS_REMEMBERED {
            self.agents.clear();
        }
        let unknown: Vec<&Agent> = write::agents_of(batch)
            .filter(|agent| !self.agents.contains_key(*agent))
            .collect();
        if !unknown.is_empty() {
            let numbered = self.run(async |client| write::number_agents(client, &unknown).await)?;
            self.agents.extend(numbered);
        }
        let terminals = batch
            .rows
            .iter()
            .filter_map(|working| working.row.execution.terminal.as_ref());
        let mut known = terminals.map(|terminal| self.logs.number(&terminal.log_id));
        if !known.all(|number| number.is_some()) {
            self.logs = self.run(async |client| Logs::read(client).await)?;
        }
        Ok(())
    }
}

/// By the time of the database at this very moment, and not at the beginning of
/// the transaction.
const RENEW: &str = "UPDATE countersign.incarnations SET renewals = renewals + 1, lease_us = $2, \
    lease_until = clock_timestamp() + $2 * interval '1 microsecond' \
    WHERE number = $1 AND NOT ended";

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl store::Store for Store {
    type Rows<'a> = InTransaction<'a>;

    fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    fn begin(&mut self, wanted: &Wanted<'_>) -> Result<Base, StoreError> {
        self.take_numbers(wanted.agents.len())?;
        self.asked = None;
        let asked = self.clock.since_boot();
        let read = self.run(async |client| {
            let (base, rows, held) = tokio::try_join!(biased;
                self.begin_on(client, true),
                read::rows(client, wanted),
                read::held(client, &wanted.agents),
            )?;
            let rows = executions(client, &self.logs, &rows).await?;
            Ok((base, rows, held))
        });
        if matches!(read, Err(StoreError::Ended)) {
            // Whatever it holds may not be sent any more.
            self.lease.end();
        }
        let (base, rows, held) = read?;
        self.asked = Some(asked);
        self.read = Read::new(wanted, rows, held);
        Ok(base)
    }

    fn rows(&self) -> Result<InTransaction<'_>, StoreError> {
        let client = self.client.as_ref();
        Ok(InTransaction {
            read: &self.read,
            logs: &self.logs,
            runtime: &self.runtime,
            client: client.ok_or_else(|| StoreError::Failed("not connected".into()))?,
            patience: self.patience(),
        })
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.number_names(batch)?;
        let names = write::Names {
            agents: &self.agents,
            log: self.log,
            logs: &self.logs,
            bounds: self.answers,
        };
        self.run(async |client| write::batch(client, &names, batch).await)?;
        let fresh = batch.rows.iter().filter(|working| working.was.is_none());
        let used = fresh.map(|working| working.row.number).max();
        // Numbers of a group that fails are used up: nobody misses them.
        self.numbers.0 = used.map_or(self.numbers.0, |used| used.saturating_add(1));
        Ok(())
    }

    fn keep_checkpoint(&mut self, size: u64, text: &str) -> Result<(), StoreError> {
        let (log, size) = (self.log, signed(size)?);
        self.run(async |client| {
            let sql = "INSERT INTO countersign.checkpoints (log, size, text) \
                       VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            let values: [Value<'_>; 3] =
                [(&log, Type::INT8), (&size, Type::INT8), (&text, Type::TEXT)];
            client.execute_typed(sql, &values).await?;
            Ok(())
        })
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.run(async |client| Ok(client.batch_execute("COMMIT").await?))?;
        self.count_renewal();
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.asked = None;
        // What was learned in it may not be there.
        self.agents.clear();
        self.run(async |client| Ok(client.batch_execute("ROLLBACK").await?))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.client = None;
        self.asked = None;
        self.agents.clear();
        let now = self.clock.since_boot();
        if now < self.retry.not_before {
            return Err(StoreError::Failed("it is tried again in a moment".into()));
        }
        let connected = self.runtime.block_on(async {
            let client = self.connector.connect().await?;
            let checked = self.connector.assert_durable(&client);
            in_time(self.patience(), async {
                Ok::<_, StoreError>(checked.await.map_err(NotDurable::at_reopen))
            })
            .await??;
            let found = in_time(self.patience(), schema::version(&client)).await?;
            if found != schema::newest() {
                return Err(StoreError::Failed(format!("it has schema version {found}")));
            }
            Ok(client)
        });
        match connected {
            Ok(client) => {
                self.client = Some(client);
                self.retry = Backoff::default();
                self.watch.begin_anew(self.clock.since_boot());
                Ok(())
            }
            Err(error) => {
                self.retry.failed(self.clock.since_boot());
                Err(error)
            }
        }
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        let (log, log_id) = (self.log, self.log_id.clone());
        self.run(async |client| head(client, log, log_id).await)
    }

    fn holds(&mut self, sequence: u64, hash: Digest) -> Result<bool, StoreError> {
        let (log, sequence) = (self.log, signed(sequence)?);
        self.run(async |client| holds(client, log, sequence, hash).await)
    }

    fn read_back(&mut self, lost: &Lost<'_>) -> Result<ReadBack, StoreError> {
        let asked = self.clock.since_boot();
        let sequence = signed(lost.sequence)?;
        let (rows, owners): (Vec<i64>, Vec<_>) = lost.permits.iter().copied().unzip();
        let read = self.run(async |client| {
            // The lock of the log is had only once the transaction is over whose
            // end is not known; a plain look could come before it commits.
            let begun = self.begin_on(client, true).await;
            let alive = match begun {
                Err(StoreError::Ended) => false,
                begun => begun.map(|_| true)?,
            };
            if !holds(client, self.log, sequence, lost.hash).await? {
                return Ok((ReadBack::Absent, alive));
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
            let read = if alive && hold {
                ReadBack::Durable
            } else {
                ReadBack::WithoutPermits
            };
            Ok((read, alive))
        });
        let (read, alive) = read?;
        self.run(async |client| Ok(client.batch_execute("COMMIT").await?))?;
        if alive {
            self.lease.renewed(asked);
        } else {
            self.lease.end();
        }
        Ok(read)
    }

    fn enlist(&mut self, started_us: i64) -> Result<(Incarnation, Base), StoreError> {
        self.lease.end();
        self.take_numbers(0)?;
        let asked = self.clock.since_boot();
        let (log, lease) = (self.log, self.connector.postgres().lease);
        let (number, base) = self.run(async |client| {
            let base = self.begin_on(client, false).await?;
            let sql = "INSERT INTO countersign.incarnations \
                       (log, started_us, lease_us, lease_until) VALUES ($1, $2, $3, \
                       clock_timestamp() + $3 * interval '1 microsecond') RETURNING number";
            let lease_us = micros(lease);
            let values: [Value<'_>; 3] = [
                (&log, Type::INT8),
                (&started_us, Type::INT8),
                (&lease_us, Type::INT8),
            ];
            let rows = client.query_typed(sql, &values).await?;
            let anchored = "UPDATE countersign.logs SET anchored = true WHERE number = $1";
            client
                .execute_typed(anchored, &[(&log, Type::INT8)])
                .await?;
            Ok((one(rows).map(|row| row.get::<_, i64>(0)), base))
        })?;
        let number = number.ok_or_else(|| StoreError::Damaged("no incarnation".into()))?;
        self.incarnation = Incarnation::new(number);
        self.lease = Arc::new(Lease::of(lease, Arc::clone(&self.clock)));
        self.asked = Some(asked);
        self.read = Read::default();
        Ok((self.incarnation, base))
    }

    fn orphans(&mut self, most: usize) -> Result<Vec<Row>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.run(async |client| {
            // What another replica is giving up just now, or its owner settles,
            // is theirs.
            let sql = format!(
                "SELECT {EXECUTION} FROM {FROM} \
                 JOIN countersign.incarnations i ON i.number = e.owner \
                 WHERE e.state = 'in-flight' AND i.ended \
                 ORDER BY e.number LIMIT $1 FOR UPDATE OF e SKIP LOCKED"
            );
            let found = client.query_typed(&sql, &[(&most, Type::INT8)]).await?;
            executions(client, &self.logs, &found).await
        })
    }

    fn upkeep(&mut self) -> Result<Upkeep, StoreError> {
        let now = self.clock.since_boot();
        let heartbeat = self.connector.postgres().heartbeat();
        // Groups renew the lease too; the others are looked at all the same.
        if now.saturating_sub(self.watch.looked()) < heartbeat {
            return Ok(Upkeep::Quiet);
        }
        let lease_us = micros(self.connector.postgres().lease);
        let me = self.incarnation.get();
        let begin = self.connector.begin();
        let (renewed, standing, orphans) = self.run(async |client| {
            let begun = client.batch_execute(&begin);
            let values: [Value<'_>; 2] = [(&me, Type::INT8), (&lease_us, Type::INT8)];
            let renew = client.execute_typed(RENEW, &values);
            let others = client.query_typed(OTHERS, &[]);
            let orphans = client.query_typed(ORPHANS, &[]);
            let committed = client.batch_execute("COMMIT");
            let ((), renewed, others, orphans, ()) =
                tokio::try_join!(biased; begun, renew, others, orphans, committed)?;
            let standing: Result<Vec<_>, _> = others.iter().map(standing).collect();
            let orphans = one(orphans).is_some_and(|row| row.get(0));
            Ok((renewed == 1, standing?, orphans))
        })?;
        if !renewed {
            self.lease.end();
            return Ok(Upkeep::Ended);
        }
        self.lease.renewed(now);
        let others: Vec<Standing> = standing
            .into_iter()
            .filter(|other| other.number != me)
            .collect();
        let gone = self.watch.look(self.clock.since_boot(), &others);
        if !gone.is_empty() {
            self.end(&gone)?;
        }
        Ok(if orphans || !gone.is_empty() {
            Upkeep::Orphans
        } else {
            Upkeep::Quiet
        })
    }

    fn expire_answers(&mut self, now_us: i64) -> Result<bool, StoreError> {
        self.run(async |client| answers::expire(client, self.answers, now_us).await)
    }

    fn due(&self) -> Option<Duration> {
        let since = self.clock.since_boot().saturating_sub(self.watch.looked());
        Some(self.connector.postgres().heartbeat().saturating_sub(since))
    }

    fn leave(&mut self) {
        self.lease.end();
        let me = self.incarnation.get();
        let left = self.run(async |client| {
            // Its lease counts on: what it has sent may still be on its way.
            let sql = "UPDATE countersign.incarnations SET ended = true WHERE number = $1";
            client.execute_typed(sql, &[(&me, Type::INT8)]).await?;
            Ok(())
        });
        if let Err(error) = left {
            tracing::warn!(%error, "this incarnation is given up by the others, in two leases");
        }
    }

    fn cannot_open(&self, error: &StoreError) -> OpenError {
        super::open::cannot_open(self.connector.postgres(), error)
    }
}

impl Store {
    /// Ends incarnations whose lease has run out. One that renewed meanwhile
    /// goes on: the condition is looked at again once its row is locked.
    fn end(&self, gone: &[i64]) -> Result<(), StoreError> {
        let gone = gone.to_vec();
        let begin = self.connector.begin();
        let ended = self.run(async |client| {
            let sql = "UPDATE countersign.incarnations SET ended = true WHERE number = ANY ($1) \
                       AND NOT ended AND lease_until < clock_timestamp()";
            let begun = client.batch_execute(&begin);
            let values: [Value<'_>; 1] = [(&gone, Type::INT8_ARRAY)];
            let ended = client.execute_typed(sql, &values);
            let committed = client.batch_execute("COMMIT");
            let ((), ended, ()) = tokio::try_join!(biased; begun, ended, committed)?;
            Ok(ended)
        })?;
        if ended > 0 {
            tracing::warn!(ended, "incarnations whose lease has run out were ended");
        }
        Ok(())
    }
}

const OTHERS: &str = "SELECT number, renewals, lease_us, lease_until < clock_timestamp() \
    FROM countersign.incarnations WHERE NOT ended";

const ORPHANS: &str = "SELECT EXISTS (SELECT 1 FROM countersign.executions e \
    JOIN countersign.incarnations i ON i.number = e.owner \
    WHERE e.state = 'in-flight' AND i.ended)";

fn standing(row: &tokio_postgres::Row) -> Result<Standing, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Standing {
        number: columns.get()?,
        renewals: columns.get()?,
        lease: Duration::from_micros(columns.count()?),
        expired: columns.get()?,
    })
}

async fn head(client: &Client, log: i64, log_id: LogId) -> Result<Head, StoreError> {
    let sql = "SELECT head FROM countersign.logs WHERE number = $1";
    let rows = client.query_typed(sql, &[(&log, Type::INT8)]).await?;
    let row = one(rows).ok_or_else(|| StoreError::Damaged("the log is gone".into()))?;
    let bytes: &[u8] = Columns::of(&row).get()?;
    Head::decode(log_id, bytes).map_err(|error| StoreError::Damaged(error.to_string()))
}

async fn holds(client: &Client, log: i64, sequence: i64, hash: Digest) -> Result<bool, StoreError> {
    let sql = "SELECT hash FROM countersign.entries WHERE log = $1 AND sequence = $2";
    let values: [Value<'_>; 2] = [(&log, Type::INT8), (&sequence, Type::INT8)];
    match one(client.query_typed(sql, &values).await?) {
        Some(row) => Ok(Columns::of(&row).digest()? == hash),
        None => Ok(false),
    }
}
