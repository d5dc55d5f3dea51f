//! Opens connections, and asserts what durability rests on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::OpenError;

/// How long a statement waits for a lock. There is one writer, so only the
/// start of the WAL can make a reader wait, and only for a moment.
pub(super) const BUSY: Duration = Duration::from_millis(500);

/// A writer's connection, with the count of pages in its WAL.
pub(super) struct Writing {
    pub(super) connection: Connection,
    pub(super) wal_pages: Arc<AtomicU64>,
}

fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> OpenError + '_ {
    |error| OpenError::Database {
        database: path.display().to_string(),
        detail: error.to_string(),
    }
}

/// Opens the one connection that writes.
pub(super) fn writing(path: &Path, max_pages: Option<u32>) -> Result<Writing, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed(path))?;
    settings(&connection, max_pages).map_err(failed(path))?;
    assert_durable(&connection, path)?;
    as_built(&connection).map_err(failed(path))?;
    let wal_pages = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&wal_pages);
    // In place of SQLite's own hook, whose checkpoints would stall a commit.
    connection
        .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            counted.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
        .map_err(failed(path))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(Writing {
        connection,
        wal_pages,
    })
}

fn settings(connection: &Connection, max_pages: Option<u32>) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    stable_plans(connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Only Apple's systems have these; there a plain sync reaches no disk.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    if let Some(pages) = max_pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

fn assert_durable(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let value = |what: &str| {
        connection.pragma_query_value(None, what, |row| {
            row.get_ref(0).map(|value| match value {
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                other => other.as_str().unwrap_or_default().to_owned(),
            })
        })
    };
    for (what, wanted) in [
        ("journal_mode", "wal"),
        ("synchronous", "2"),
        ("foreign_keys", "1"),
    ] {
        let found: String = value(what).map_err(failed(path))?;
        if found != wanted {
            return Err(OpenError::Durability {
                what,
                wanted,
                found,
            });
        }
    }
    Ok(())
}

/// In the builds that measure what the log and what durability cost, there is no
/// log and nothing waits for the disk; in every other one this does nothing.
fn as_built(connection: &Connection) -> rusqlite::Result<()> {
    if cfg!(countersign_bench = "without-log") {
        tracing::error!("this build writes no log: it is for a benchmark alone");
    }
    if cfg!(countersign_bench = "without-durability") {
        tracing::error!("this build never waits for the disk: it is for a benchmark alone");
        connection.pragma_update(None, "synchronous", "OFF")?;
    }
    Ok(())
}

/// Plans each statement without what is bound to it. Otherwise SQLite prepares
/// a join again each time that something else is bound, which costs more than
/// the join.
fn stable_plans(connection: &Connection) -> rusqlite::Result<()> {
    let stable = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    debug_assert!(stable, "SQLite has known this since 3.20");
    Ok(())
}

/// Opens a connection that only reads.
pub(super) fn reading(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    stable_plans(&connection)?;
    as_built(&connection)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cache_size", -4_096)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn a_join_is_prepared_once_whatever_is_bound_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let writing = writing(&path, None).unwrap().connection;
        let tables = "CREATE TABLE a (number INTEGER PRIMARY KEY, name TEXT UNIQUE); \
                      CREATE TABLE b (number INTEGER PRIMARY KEY, a INTEGER);";
        writing.execute_batch(tables).unwrap();
        for connection in [&writing, &reading(&path).unwrap()] {
            let join = "SELECT b.number FROM b JOIN a ON a.number = b.a WHERE a.name = ?1";
            for name in ["alice", "bob", "carol"] {
                let mut statement = connection.prepare_cached(join).unwrap();
                assert!(!statement.exists([name]).unwrap());
                assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
            }
        }
    }
}
