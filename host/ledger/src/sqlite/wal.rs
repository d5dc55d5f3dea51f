//! Keeps the WAL short, without stalling a commit for long.
//!
//! The thread of [`Backfill`] writes back what it can while commits go on; the
//! writer starts the WAL again at its bound, when little is left to write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use crate::sqlite::backfill::Backfill;
use crate::sqlite::backup::LongReads;
use crate::sqlite::connect::BUSY;
use crate::store::StoreError;

/// SQLite's page, in bytes; the WAL holds whole ones.
const PAGE_BYTES: u64 = 4_096;

/// What the writer knows of the WAL.
pub(super) struct Wal {
    /// As of the last commit.
    pub(super) pages: Arc<AtomicU64>,
    /// At which length it is started again, in bytes.
    pub(super) bound: u64,
    pub(super) backfill: Backfill,
    /// While one goes on, the WAL cannot start again.
    pub(super) long: LongReads,
}

impl Wal {
    /// Wakes the thread that writes back, and starts the WAL again where it has
    /// reached its bound.
    pub(super) fn keep_short(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let bytes = self
            .pages
            .load(Ordering::Relaxed)
            .saturating_mul(PAGE_BYTES);
        self.backfill.wal_grew(bytes, self.bound);
        if bytes < self.bound {
            return Ok(());
        }
        // At twice its bound the writer waits rather than let it grow. Not for one
        // who reads long, since that wait would be for nothing.
        let wait = bytes >= self.bound.saturating_mul(2) && !self.long.any();
        match self.backfill.turn(wait) {
            Some(_turn) => reset(connection, &self.pages, wait),
            None => Ok(()),
        }
    }
}

/// Writes the WAL back and starts it again from its beginning. Does not wait for
/// whoever reads or writes back just then, unless `wait` says so.
fn reset(connection: &Connection, pages: &AtomicU64, wait: bool) -> Result<(), StoreError> {
    connection.busy_timeout(if wait { BUSY } else { Duration::ZERO })?;
    let reset = connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::RESTART);
    connection.busy_timeout(BUSY)?;
    match reset {
        Ok(_) => {
            pages.store(0, Ordering::Relaxed);
            Ok(())
        }
        Err(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
            _ => Err(error.into()),
        },
    }
}
