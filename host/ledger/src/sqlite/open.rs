//! Opens a ledger: lock, connect, migrate, compare, begin, recover.
//!
//! 1. The lock beside the database keeps every other process out.
//! 2. The connection is opened and what durability rests on is asserted.
//! 3. Migrations run.
//! 4. The head must fit the last entry, and the log must be that of the key.
//! 5. The anchor is compared; behind it, the ledger is opened for reading only.
//! 6. A new incarnation begins, with its entry.
//! 7. What earlier incarnations left in flight is blocked, each with its entry.
//! 8. The anchor is written.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use countersign_evidence::{Draft, Entry, Head, Kind, LogId, Time};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::anchor::Anchor;
use crate::attempt::{Epochs, Position};
use crate::error::OpenError;
use crate::identity::Incarnation;
use crate::options::{Clock, Options};
use crate::plan::Plan;
use crate::request::InForce;
use crate::sqlite::backup::LongReads;
use crate::sqlite::columns::{Count, Raw};
use crate::sqlite::connect::{Writing, writing};
use crate::sqlite::reads::Reads;
use crate::sqlite::store::{Store, base};
use crate::sqlite::{rows, schema};
use crate::store::StoreError;

/// Rows that recovery blocks in one transaction.
const RECOVERED_AT_ONCE: usize = 256;

/// A ledger that is open.
pub(crate) struct Opened {
    pub(crate) store: Store,
    pub(crate) reads: Reads,
    pub(crate) log_id: LogId,
    pub(crate) incarnation: Incarnation,
    pub(crate) rolled_back: bool,
}

/// Opens the ledger at `options.path` for the log `log_id`.
pub(crate) fn open(
    options: &Options,
    clock: &dyn Clock,
    log_id: &LogId,
) -> Result<Opened, OpenError> {
    let lock = lock(&options.path)?;
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
        path: options.path.clone(),
        detail: error.to_string(),
    };
    let (found, known) = (schema::version(&connection).map_err(sql)?, schema::newest());
    if found > known {
        return Err(OpenError::TooNew { found, known });
    }
    schema::migrate(&mut connection).map_err(sql)?;
    let (head, anchored) = begin_log(&connection, log_id).map_err(sql)??;
    check_end(&connection, &head).map_err(sql)??;
    let rolled_back = behind_anchor(&connection, options, &head, anchored)?;
    let mut store = Store {
        connection: Some(connection),
        wal_pages,
        log_id: log_id.clone(),
        incarnation: Incarnation::new(0),
        path: options.path.clone(),
        max_pages: options.max_pages,
        agents: HashMap::new(),
        answers: options.answers,
        long: LongReads::default(),
        _lock: lock,
    };
    if !rolled_back {
        begin(&mut store, options, clock)?;
    }
    let reads = Reads::new(options.path.clone(), log_id.clone(), store.long.clone());
    let incarnation = store.incarnation;
    Ok(Opened {
        store,
        reads,
        log_id: log_id.clone(),
        incarnation,
        rolled_back,
    })
}

fn begin(store: &mut Store, options: &Options, clock: &dyn Clock) -> Result<(), OpenError> {
    let failed = |error: StoreError| match error {
        StoreError::Damaged(detail) => OpenError::Damaged(detail),
        other => OpenError::Database {
            path: options.path.clone(),
            detail: other.to_string(),
        },
    };
    // Before anything is admitted, so that a missing anchor is never taken for
    // that of a new ledger.
    write_anchor(store, options)?;
    begin_incarnation(store, clock, &[]).map_err(failed)?;
    while recover(store, clock).map_err(failed)? {}
    write_anchor(store, options)
}

/// Accepts that the database is behind its anchor. The entry that says so is
/// durable before the anchor moves: after a crash in between it has to be
/// accepted again.
pub(crate) fn accept(
    store: &mut Store,
    options: &Options,
    clock: &dyn Clock,
    mut draft: Draft,
    then: &[(Draft, InForce)],
) -> Result<(Position, Epochs), OpenError> {
    let failed = |error: StoreError| OpenError::Damaged(error.to_string());
    if let Some(resolution) = &mut draft.resolution {
        resolution.reason = format!("{} [{}]", resolution.reason, lost(&options.anchor));
    }
    draft.kind = Kind::Rollback;
    let accepted = begin_incarnation(store, clock, &[(draft, InForce::Unchanged)]);
    let (place, _) = accepted
        .map_err(failed)?
        .ok_or_else(|| OpenError::Damaged("the entry of a rollback has no place".to_owned()))?;
    while recover(store, clock).map_err(failed)? {}
    let epochs = append_all(store, clock, then).map_err(failed)?;
    write_anchor(store, options)?;
    Ok((place, epochs))
}

/// What the anchor knew of the log, for the entry that gives it up.
fn lost(path: &Path) -> String {
    match Anchor::read(path) {
        Ok(Some(anchor)) => format!(
            "the anchor named {} entries of log {}, the last {}",
            anchor.size,
            anchor.log_id,
            anchor
                .last
                .map_or_else(|| "none".to_owned(), |last| last.to_string())
        ),
        Ok(None) => "there was no anchor".to_owned(),
        Err(_) => "the anchor could not be read".to_owned(),
    }
}

fn append_all(
    store: &mut Store,
    clock: &dyn Clock,
    drafts: &[(Draft, InForce)],
) -> Result<Epochs, StoreError> {
    let base = store.begin()?;
    let mut epochs = base.epochs;
    let rows = store.rows()?;
    let mut plan = Plan::new(&rows, base, clock.wall_us(), store.incarnation, 0);
    for (draft, in_force) in drafts {
        let appended = plan.append(draft, *in_force);
        (_, epochs) = appended.map_err(|error| StoreError::Damaged(error.to_string()))?;
    }
    let batch = plan.into_batch();
    store.write(&batch)?;
    store.commit()?;
    Ok(epochs)
}

fn lock(path: &Path) -> Result<File, OpenError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let path = PathBuf::from(beside);
    let file = |what, source| OpenError::File {
        what,
        path: path.clone(),
        source,
    };
    let lock = owners_file(&path).map_err(|source| file("open", source))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path }),
        Err(TryLockError::Error(source)) => Err(file("lock", source)),
    }
}

/// Opens a file, creating it for its owner alone where there is none. SQLite
/// gives its WAL the permissions of the database.
fn owners_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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

/// Whether the database lacks what the anchor names. A ledger that was anchored
/// once and has no anchor now cannot tell, and counts as rolled back.
fn behind_anchor(
    connection: &Connection,
    options: &Options,
    head: &Head,
    anchored: bool,
) -> Result<bool, OpenError> {
    let anchor = Anchor::read(&options.anchor).map_err(|source| OpenError::File {
        what: "read the anchor",
        path: options.anchor.clone(),
        source,
    })?;
    let Some(anchor) = anchor else {
        return Ok(anchored);
    };
    if &anchor.log_id != head.log_id() {
        return Ok(true);
    }
    let Some(last) = anchor.size.checked_sub(1) else {
        return Ok(false);
    };
    let found: Option<Raw> = connection
        .query_row(
            "SELECT hash FROM entries WHERE sequence = ?1",
            params![Count(last)],
            |row| row.get(0),
        )
        .optional()
        .map_err(|error| OpenError::Database {
            path: options.path.clone(),
            detail: error.to_string(),
        })?;
    Ok(found.map(|found| found.0) != anchor.last)
}

/// Begins an incarnation with its entry, and with others before it; answers
/// where the first of these stands.
fn begin_incarnation(
    store: &mut Store,
    clock: &dyn Clock,
    before: &[(Draft, InForce)],
) -> Result<Option<(Position, Epochs)>, StoreError> {
    let base = store.begin()?;
    let now_us = clock.wall_us();
    let connection = store.connection()?;
    connection.execute(
        "INSERT INTO incarnations (started_us) VALUES (?1)",
        params![now_us],
    )?;
    let incarnation = Incarnation::new(connection.last_insert_rowid());
    connection.execute("UPDATE ledger SET anchored = 1", [])?;
    let rows = store.rows()?;
    let mut plan = Plan::new(&rows, base, now_us, incarnation, 0);
    let mut first = None;
    for (draft, in_force) in before {
        let appended = plan.append(draft, *in_force);
        let appended = appended.map_err(|error| StoreError::Damaged(error.to_string()))?;
        first.get_or_insert(appended);
    }
    let mut draft = Draft::new(Kind::Start, Time::from_micros(now_us));
    draft.incarnation = Some(incarnation.get().to_string());
    plan.append(&draft, InForce::Unchanged)
        .map_err(|error| StoreError::Damaged(error.to_string()))?;
    let batch = plan.into_batch();
    store.write(&batch)?;
    store.commit()?;
    store.incarnation = incarnation;
    Ok(first)
}

/// Blocks some rows that earlier incarnations left in flight; says whether
/// there may be more.
fn recover(store: &mut Store, clock: &dyn Clock) -> Result<bool, StoreError> {
    let base = store.begin()?;
    let rows = store.rows()?;
    let lost = rows::in_state(
        store.connection()?,
        &store.log_id,
        "in-flight",
        0,
        RECOVERED_AT_ONCE,
    )?;
    if lost.is_empty() {
        store.rollback()?;
        return Ok(false);
    }
    let mut plan = Plan::new(&rows, base, clock.wall_us(), store.incarnation, 0);
    for row in lost {
        plan.owner_lost(row)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
    }
    let batch = plan.into_batch();
    store.write(&batch)?;
    store.commit()?;
    Ok(true)
}

fn write_anchor(store: &Store, options: &Options) -> Result<(), OpenError> {
    let failed = |error: StoreError| OpenError::Damaged(error.to_string());
    let connection = store.connection().map_err(failed)?;
    let base = base(connection, &store.log_id).map_err(failed)?;
    Anchor::of(&base.head)
        .write(&options.anchor)
        .map_err(|source| OpenError::File {
            what: "write the anchor",
            path: options.anchor.clone(),
            source,
        })
}
