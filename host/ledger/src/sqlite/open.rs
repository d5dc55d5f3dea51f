//! Opens a ledger: lock, connect, migrate, compare, begin, recover.
//!
//! 1. The lock beside the database keeps every other process out.
//! 2. The connection is opened and what durability rests on is asserted.
//! 3. Migrations run.
//! 4. The head must fit the last entry, and the log must be that of the key.
//! 5. The key must be the one under which the log goes on.
//! 6. The anchor is compared; behind it, the ledger is opened for reading only.
//! 7. A new incarnation begins, with its entry.
//! 8. What earlier incarnations left in flight is blocked, each with its entry.
//! 9. The anchor is written.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_evidence::{Entry, Head, LogId};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::OpenError;
use crate::identity::Incarnation;
use crate::known::Known;
use crate::lease::Lease;
use crate::ledger::{Opened, Opening};
use crate::lock::{lock_target, owners_file};
use crate::sqlite::backfill::Backfill;
use crate::sqlite::backup::LongReads;
use crate::sqlite::columns::Count;
use crate::sqlite::connect::{Writing, writing};
use crate::sqlite::reads::Readers;
use crate::sqlite::schema;
use crate::sqlite::store::Store;
use crate::sqlite::wal::Wal;
use crate::store::Store as _;
use crate::{in_force, recovery};

/// Opens the ledger at `options.path`.
pub(crate) fn open(asked: &Opening<'_>) -> Result<Opened<Store>, OpenError> {
    let (options, log_id) = (asked.options, asked.log_id);
    let lock = lock_target(&options.path)?;
    // Rows keep the answers of rounds, which are their callers' alone. Closed
    // before SQLite opens it: closing it later would drop SQLite's own locks.
    drop(
        owners_file(&options.path).map_err(|source| OpenError::File {
            what: "open",
            path: options.path.clone(),
            source,
        })?,
    );
    let Writing {
        mut connection,
        wal_pages,
    } = writing(&options.path, options.max_pages)?;
    let sql = |error: rusqlite::Error| OpenError::Database {
        database: options.path.display().to_string(),
        detail: error.to_string(),
    };
    let (found, known) = (schema::version(&connection).map_err(sql)?, schema::newest());
    if found > known {
        return Err(OpenError::TooNew { found, known });
    }
    schema::migrate(&mut connection).map_err(sql)?;
    let (head, anchored) = begin_log(&connection, log_id).map_err(sql)??;
    check_end(&connection, &head).map_err(sql)??;
    let (queue, long) = (Arc::clone(asked.queue), LongReads::default());
    let mut store = Store {
        connection: Some(connection),
        log_id: log_id.clone(),
        incarnation: Incarnation::new(0),
        first: None,
        lease: Arc::new(Lease::endless()),
        known: Known::default(),
        path: options.path.clone(),
        max_pages: options.max_pages,
        agents: HashMap::new(),
        answers: options.answers,
        wal: Wal {
            pages: wal_pages,
            bound: options.wal_bytes,
            long: long.clone(),
            backfill: Backfill::start(&options.path, move || queue.fail()),
        },
        _lock: lock,
    };
    let reads = Arc::new(Readers::new(options.path.clone(), log_id.clone(), long));
    in_force::check(&mut store, asked.key)?;
    let anchor = recovery::anchor(&options.anchor)?;
    let behind = recovery::behind(&mut store, anchor.as_ref(), log_id, anchored);
    if behind.map_err(|error| store.cannot_open(&error))? {
        asked.queue.set_rolled_back(true);
    } else {
        recovery::begin(&mut store, &options.anchor, asked.clock.as_ref())?;
    }
    Ok(Opened { store, reads })
}

/// Reads the log's head, or begins the log.
fn begin_log(
    connection: &Connection,
    log_id: &LogId,
) -> rusqlite::Result<Result<(Head, bool), OpenError>> {
    let stored: Option<(String, Vec<u8>, bool)> = connection
        .query_row("SELECT log_id, head, anchored FROM ledger", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((held, head, anchored)) = stored else {
        let head = Head::new(log_id.clone());
        connection.execute(
            "INSERT INTO ledger (one, log_id, head) VALUES (1, ?1, ?2)",
            params![log_id.as_str(), head.encode()],
        )?;
        return Ok(Ok((head, false)));
    };
    if held != log_id.as_str() {
        return Ok(Err(OpenError::OtherLog {
            held,
            given: log_id.to_string(),
        }));
    }
    let head = Head::decode(log_id.clone(), &head);
    Ok(head
        .map(|head| (head, anchored))
        .map_err(|error| OpenError::Damaged(error.to_string())))
}

/// The last entry must read back, and be the one that the head names.
fn check_end(connection: &Connection, head: &Head) -> rusqlite::Result<Result<(), OpenError>> {
    let last: Option<(Count, Vec<u8>)> = connection
        .query_row(
            "SELECT sequence, bytes FROM entries ORDER BY sequence DESC LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let fits = match last {
        None => head.size() == 0,
        Some((sequence, bytes)) => {
            Some(sequence.0) == head.size().checked_sub(1)
                && Entry::parse(&bytes).is_ok_and(|entry| {
                    Some(entry.hash()) == head.last() && entry.sequence() == sequence.0
                })
        }
    };
    let damaged = || OpenError::Damaged("the head does not fit the last entry".into());
    Ok(if fits { Ok(()) } else { Err(damaged()) })
}
