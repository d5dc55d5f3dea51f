//! The writer's side of the database.
//!
//! A group costs three round trips: one begins the transaction, renews the
//! lease, locks the log and reads every row that the group will touch; one
//! writes; one commits. The log's row stays locked until the transaction ends,
//! so whoever holds it next knows what became of the one before: that is how a
//! lost acknowledgement is read back. The head of the log and the count of renewals
//! are compared with those that were committed last: behind the same connection
//! there may be an older database by now.

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
use crate::known::{End, Known};
use crate::lease::Lease;
use crate::options::{AnswerBounds, Clock};
use crate::plan::{Base, Batch, Row};
use crate::postgres::columns::{Columns, Logs, executions, signed};
use crate::postgres::connect::{Connector, Value, in_time, one};
use crate::postgres::doubt::holds;
use crate::postgres::ends::{self, Renewals};
use crate::postgres::read::{self, InTransaction, Read};
use crate::postgres::reconnect::Backoff;
use crate::postgres::watch::Watch;
use crate::postgres::{answers, open, readers, write};
use crate::reading::{Page, Selection, StoredCheckpoint};
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
    /// The verifier's text of its key.
    pub(super) key: String,
    /// The number of the log that this replica writes.
    pub(super) log: i64,
    pub(super) logs: Logs,
    pub(super) agents: HashMap<Agent, i64>,
    pub(super) answers: AnswerBounds,
    pub(super) incarnation: Incarnation,
    /// The highest that this process has seen, its own and the others'.
    pub(super) highest: i64,
    pub(super) lease: Arc<Lease>,
    /// The renewal that counts once the group is durable, and when it was asked
    /// for.
    pub(super) asked: Option<(Duration, Renewals)>,
    /// The last one that is certainly durable.
    pub(super) confirmed: Option<Renewals>,
    pub(super) known: Known,
    pub(super) watch: Watch,
    pub(super) read: Read,
    /// Numbers of executions that are taken and not used: from, below.
    pub(super) numbers: (i64, i64),
    pub(super) retry: Backoff,
    /// Held open for as long as this process is this replica.
    pub(super) _lock: std::fs::File,
}

impl Store {
    pub(super) fn patience(&self) -> Duration {
        self.connector.postgres().patience()
    }

    /// Carries out `work` on the connection.
    pub(super) fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let client = self.client.as_ref();
        let client = client.ok_or_else(|| StoreError::Failed("not connected".into()))?;
        let work = in_time(self.patience(), work(client));
        self.runtime.block_on(work)
    }

    /// Begins a transaction and locks the log, for `renewing` an incarnation that
    /// has not ended; answers that renewal too.
    pub(super) async fn begin_on(
        &self,
        client: &Client,
        renewing: bool,
    ) -> Result<(Base, Option<Renewals>), StoreError> {
        let lease_us = micros(self.connector.postgres().lease);
        let begin = self.connector.begin();
        let renew = async {
            if !renewing {
                return Ok(Vec::new());
            }
            let values: [Value<'_>; 2] = [
                (&self.incarnation.get(), Type::INT8),
                (&lease_us, Type::INT8),
            ];
            client.query_typed(RENEW, &values).await
        };
        let head = async {
            let sql = "SELECT head, policy_epoch, catalog_epoch FROM countersign.logs \
                       WHERE number = $1 FOR UPDATE";
            client.query_typed(sql, &[(&self.log, Type::INT8)]).await
        };
        let begun = async { client.batch_execute(&begin).await };
        let ((), renewed, head) = tokio::try_join!(biased; begun, renew, head)?;
        let row = one(head).ok_or_else(|| self.log_is_gone())?;
        let mut columns = Columns::of(&row);
        let bytes: &[u8] = columns.get()?;
        let head = Head::decode(self.log_id.clone(), bytes)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        // First: an older database does not know this incarnation, or knows another
        // one by its number.
        self.known.fits(&head)?;
        let renewed = one(renewed).map(|row| row.get(0));
        if renewing && renewed.is_none() {
            return Err(StoreError::Ended);
        }
        let base = Base {
            head,
            epochs: columns.epochs()?,
            next_number: self.numbers.0,
        };
        Ok((base, renewed.map(|count| self.renewed(count)).transpose()?))
    }

    fn log_is_gone(&self) -> StoreError {
        if self.known.is_new() {
            StoreError::Damaged("the log is gone".into())
        } else {
            StoreError::RolledBack
        }
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
        if let Some((asked, renewals)) = self.asked.take() {
            self.lease.renewed(asked);
            self.confirmed = Some(renewals);
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
pub(super) const RENEW: &str = "UPDATE countersign.incarnations SET renewals = renewals + 1, lease_us = $2, \
    lease_until = clock_timestamp() + $2 * interval '1 microsecond' \
    WHERE number = $1 AND NOT ended RETURNING renewals";

pub(super) fn micros(duration: Duration) -> i64 {
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
            let ((base, renewals), rows, held) = tokio::try_join!(biased;
                self.begin_on(client, true),
                read::rows(client, wanted),
                read::held(client, &wanted.agents),
            )?;
            let rows = executions(client, &self.logs, &rows).await?;
            Ok((base, renewals, rows, held))
        });
        if matches!(read, Err(StoreError::Ended)) {
            // Whatever it holds may not be sent any more.
            self.lease.end();
        }
        let (base, renewals, rows, held) = read?;
        self.known.begun(&base.head);
        self.asked = renewals.map(|renewals| (asked, renewals));
        self.read = Read::new(wanted, rows, held);
        Ok(base)
    }

    fn rows(&self) -> Result<InTransaction<'_>, StoreError> {
        let client = self.client.as_ref();
        Ok(InTransaction {
            read: &self.read,
            log: self.log,
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
        self.known.wrote(&batch.head);
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
        self.known.committing();
        self.run(async |client| Ok(client.batch_execute("COMMIT").await?))?;
        self.known.committed();
        self.count_renewal();
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.asked = None;
        self.known.dropped();
        // What was learned in it may not be there.
        self.agents.clear();
        self.run(async |client| Ok(client.batch_execute("ROLLBACK").await?))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.connect_again()
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        let (log, log_id) = (self.log, self.log_id.clone());
        self.run(async |client| head(client, log, log_id).await)
    }

    fn holds(&mut self, sequence: u64, hash: Digest) -> Result<bool, StoreError> {
        let (log, sequence) = (self.log, signed(sequence)?);
        self.run(async |client| holds(client, log, sequence, hash).await)
    }

    fn newest_checkpoint(&mut self) -> Result<Option<StoredCheckpoint>, StoreError> {
        let log_id = &self.log_id;
        self.run(async |client| {
            let newest = readers::newest_checkpoint(client, log_id).await;
            newest.map_err(readers::Unread::of_own_log)
        })
    }

    fn entries(&mut self, from: u64, most: usize) -> Result<Page, StoreError> {
        let log_id = &self.log_id;
        self.run(async |client| {
            let page = readers::page(client, log_id, &Selection::All, from, most).await;
            page.map_err(readers::Unread::of_own_log)
        })
    }

    fn look(&mut self) -> Result<(), StoreError> {
        let (known, own) = (self.known_ends(), self.log_id.clone());
        let (held, newest) = self.run(async |client| {
            tokio::try_join!(biased; ends::held(client, &known), ends::newest(client, &own))
        })?;
        self.compare(held, &newest)
    }

    fn known(&self) -> &Known {
        &self.known
    }

    fn remember(&mut self, others: &[End]) {
        self.known.remember(others);
    }

    fn forget(&mut self) -> Result<(), StoreError> {
        let (log_id, key) = (self.log_id.clone(), self.key.clone());
        // The older database may not know the log, or know another by its number.
        let begun = self.run(async |client| open::begin_log(client, &log_id, &key).await)?;
        (self.log, self.logs) = (begun.log, begun.logs);
        self.agents.clear();
        self.numbers = (0, 0);
        (self.asked, self.confirmed) = (None, None);
        self.known.forget();
        Ok(())
    }

    fn read_back(&mut self, lost: &Lost<'_>) -> Result<ReadBack, StoreError> {
        self.read_back_of(lost)
    }

    fn enlist(&mut self, started_us: i64) -> Result<(Incarnation, Base), StoreError> {
        self.lease.end();
        self.take_numbers(0)?;
        let asked = self.clock.since_boot();
        let (log, lease) = (self.log, self.connector.postgres().lease);
        let (number, base) = self.run(async |client| {
            let (base, _) = self.begin_on(client, false).await?;
            if let Some(before) = self.confirmed
                && !ends::stands(client, log, before).await?
            {
                return Err(StoreError::RolledBack);
            }
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
            let number = match one(rows).map(|row| row.get::<_, i64>(0)) {
                // The database went back, and counts from where it was then.
                Some(number) if number <= self.highest => {
                    ends::renumbered(client, number, self.highest).await?
                }
                number => number,
            };
            let anchored = "UPDATE countersign.logs SET anchored = true WHERE number = $1";
            client
                .execute_typed(anchored, &[(&log, Type::INT8)])
                .await?;
            Ok((number, base))
        })?;
        let number = number.ok_or_else(|| StoreError::Damaged("no incarnation".into()))?;
        self.incarnation = Incarnation::new(number);
        self.highest = self.highest.max(number);
        self.lease = Arc::new(Lease::of(lease, Arc::clone(&self.clock)));
        self.known.begun(&base.head);
        let renewals = Renewals {
            incarnation: self.incarnation,
            count: 0,
        };
        self.asked = Some((asked, renewals));
        self.read = Read::default();
        Ok((self.incarnation, base))
    }

    fn orphans(&mut self, most: usize) -> Result<Vec<Row>, StoreError> {
        self.orphans_at_once(most)
    }

    fn upkeep(&mut self) -> Result<Upkeep, StoreError> {
        self.sweep()
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
        open::cannot_open(self.connector.postgres(), error)
    }
}

async fn head(client: &Client, log: i64, log_id: LogId) -> Result<Head, StoreError> {
    let sql = "SELECT head FROM countersign.logs WHERE number = $1";
    let rows = client.query_typed(sql, &[(&log, Type::INT8)]).await?;
    let row = one(rows).ok_or_else(|| StoreError::Damaged("the log is gone".into()))?;
    let bytes: &[u8] = Columns::of(&row).get()?;
    Head::decode(log_id, bytes).map_err(|error| StoreError::Damaged(error.to_string()))
}
