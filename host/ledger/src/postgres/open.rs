//! Opens a shared ledger: connect, migrate, compare, begin.
//!
//! 1. The lock beside the anchor keeps another process from being this replica.
//!    The connection is opened and what durability rests on is asserted.
//! 2. Migrations run, under a lock.
//! 3. The log of this replica, which its key names, is begun or taken up; its
//!    head must fit its last entry.
//! 4. The key must be the one under which the log goes on.
//! 5. The anchor is compared; behind it, the ledger is opened for reading only.
//! 6. A new incarnation begins, with its entry, and rows of incarnations that
//!    have ended are blocked. One that crashed is ended by its lease: whoever
//!    takes its place cannot know that it is dead, even on the same machine.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_evidence::{Entry, Head, LogId};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::error::OpenError;
use crate::identity::Incarnation;
use crate::known::Known;
use crate::lease::Lease;
use crate::ledger::{Opened, Opening};
use crate::lock::lock;
use crate::postgres::Postgres;
use crate::postgres::columns::{Columns, Logs, signed};
use crate::postgres::connect::{Connector, Value, in_time, one};
use crate::postgres::read::Read;
use crate::postgres::readers::Readers;
use crate::postgres::reconnect::Backoff;
use crate::postgres::schema::{self, MIGRATIONS};
use crate::postgres::store::Store;
use crate::postgres::watch::Watch;
use crate::store::StoreError;
use crate::{in_force, recovery};

/// Opens the ledger of one replica in the database.
pub(crate) fn open(postgres: &Postgres, asked: &Opening<'_>) -> Result<Opened<Store>, OpenError> {
    let failed = |error: &StoreError| cannot_open(postgres, error);
    let lock = lock(&asked.options.anchor)?;
    let runtime = runtime().map_err(|detail| failed(&StoreError::Failed(detail)))?;
    let connector = Connector::new(postgres.clone())?;
    let connected = runtime.block_on(async {
        let client = connector.connect().await.map_err(|error| failed(&error))?;
        let durable = connector.assert_durable(&client).await;
        durable.map_err(|why| why.at_open(failed))?;
        let found = schema::migrate(&client, &connector, MIGRATIONS).await;
        let (found, known) = (found.map_err(|error| failed(&error))?, schema::newest());
        if found > known {
            return Err(OpenError::TooNew { found, known });
        }
        Ok(client)
    });
    let client = connected?;
    let key = asked.key.to_string();
    let begin = begin_log(&client, asked.log_id, &key);
    let begun = runtime.block_on(in_time(postgres.patience(), begin));
    let Begun {
        log,
        anchored,
        logs,
    } = begun.map_err(|error| failed(&error))?;
    let now = asked.clock.since_boot();
    let mut store = Store {
        runtime,
        client: Some(client),
        connector: connector.clone(),
        clock: Arc::clone(asked.clock),
        log_id: asked.log_id.clone(),
        key,
        log,
        logs,
        agents: HashMap::new(),
        answers: asked.options.answers,
        incarnation: Incarnation::new(0),
        highest: 0,
        lease: Arc::new(Lease::of(postgres.lease, Arc::clone(asked.clock))),
        asked: None,
        confirmed: None,
        known: Known::default(),
        watch: Watch::new(now, postgres.lease),
        read: Read::default(),
        numbers: (0, 0),
        retry: Backoff::of(postgres.lease),
        _lock: lock,
    };
    let reads = Readers::start(connector, asked.log_id.clone());
    let reads = reads.map_err(|detail| failed(&StoreError::Failed(detail)))?;
    in_force::check(&mut store, asked.key)?;
    let anchor = recovery::anchor(&asked.options.anchor)?;
    let behind = recovery::behind(&mut store, anchor.as_ref(), asked.log_id, anchored);
    if behind.map_err(|error| failed(&error))? {
        asked.queue.set_rolled_back(true);
    } else {
        recovery::begin(&mut store, &asked.options.anchor, asked.clock.as_ref())?;
    }
    Ok(Opened {
        store,
        reads: Arc::new(reads),
    })
}

/// What a failure means for opening.
pub(super) fn cannot_open(postgres: &Postgres, error: &StoreError) -> OpenError {
    match error {
        StoreError::Damaged(detail) => OpenError::Damaged(detail.clone()),
        other => OpenError::Database {
            database: postgres.database.to_string(),
            detail: other.to_string(),
        },
    }
}

/// A runtime for one thread.
pub(super) fn runtime() -> Result<Runtime, String> {
    let mut builder = Builder::new_current_thread();
    builder
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

/// A log that was begun or taken up.
pub(super) struct Begun {
    pub(super) log: i64,
    anchored: bool,
    pub(super) logs: Logs,
}

pub(super) async fn begin_log(
    client: &Client,
    log_id: &LogId,
    key: &str,
) -> Result<Begun, StoreError> {
    let insert = "INSERT INTO countersign.logs (log_id, key, head) VALUES ($1, $2, $3) \
                  ON CONFLICT DO NOTHING";
    let values: [Value<'_>; 3] = [
        (&log_id.as_str(), Type::TEXT),
        (&key, Type::TEXT),
        (&Head::new(log_id.clone()).encode(), Type::BYTEA),
    ];
    client.execute_typed(insert, &values).await?;
    let select = "SELECT number, head, anchored FROM countersign.logs WHERE log_id = $1";
    let rows = client
        .query_typed(select, &[(&log_id.as_str(), Type::TEXT)])
        .await?;
    let row = one(rows).ok_or_else(|| StoreError::Damaged("the log is gone".into()))?;
    let mut columns = Columns::of(&row);
    let log = columns.get()?;
    let bytes: &[u8] = columns.get()?;
    let head = Head::decode(log_id.clone(), bytes)
        .map_err(|error| StoreError::Damaged(error.to_string()))?;
    let anchored = columns.get()?;
    check_end(client, log, &head).await?;
    Ok(Begun {
        log,
        anchored,
        logs: Logs::read(client).await?,
    })
}

/// The last entry must read back, and be the one that the head names.
async fn check_end(client: &Client, log: i64, head: &Head) -> Result<(), StoreError> {
    let size = signed(head.size())?;
    let sql = "SELECT sequence, bytes FROM countersign.entries \
               WHERE log = $1 AND sequence >= $2 - 1 ORDER BY sequence LIMIT 2";
    let values: [Value<'_>; 2] = [(&log, Type::INT8), (&size, Type::INT8)];
    let rows = client.query_typed(sql, &values).await?;
    let fits = match rows.as_slice() {
        [] => head.size() == 0,
        [row] => {
            let mut columns = Columns::of(row);
            let (sequence, bytes) = (columns.count()?, columns.get::<&[u8]>()?);
            Some(sequence) == head.size().checked_sub(1)
                && Entry::parse(bytes).is_ok_and(|entry| {
                    Some(entry.hash()) == head.last() && entry.sequence() == sequence
                })
        }
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(StoreError::Damaged(
            "the head does not fit the last entry".into(),
        ))
    }
}
