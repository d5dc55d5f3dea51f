//! Writes the WAL back into the database beside the writer.
//!
//! Left to SQLite, a commit would stall while thousands of pages are written
//! back; left to another thread alone, the WAL would grow without end. So this
//! thread writes back what it can while commits go on, and the writer starts
//! the WAL again at its bound, when little is left to write.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use crate::sqlite::connect::reading;
use crate::store::StoreError;

/// Wakes the thread that writes back.
pub(crate) struct Backfill {
    wake: Option<SyncSender<()>>,
    /// The size of the WAL at which the thread was woken last.
    woken_at: u64,
    /// Held while pages are written back: two checkpoints at a time exclude each
    /// other, and SQLite waits for none of them.
    writing: Arc<Mutex<()>>,
}

impl Backfill {
    /// Starts the thread; it ends when this value is dropped. `sync_failed` is
    /// called where a sync of the database fails.
    pub(crate) fn start(path: &Path, sync_failed: impl Fn() + Send + 'static) -> Self {
        let (wake, woken) = sync_channel(1);
        let path = path.to_owned();
        let writing = Arc::<Mutex<()>>::default();
        let turn = Arc::clone(&writing);
        let thread = std::thread::Builder::new().name("ledger-backfill".into());
        // Without the thread the writer does all of the work itself.
        let wake = thread
            .spawn(move || run(&path, &woken, &turn, sync_failed))
            .ok()
            .map(|_| wake);
        Self {
            wake,
            woken_at: 0,
            writing,
        }
    }

    /// The writer's turn: waits for the thread where `wait` says so; otherwise
    /// `None` while it is busy.
    pub(crate) fn turn(&self, wait: bool) -> Option<MutexGuard<'_, ()>> {
        if wait {
            return Some(self.writing.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.writing.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Wakes the thread each time the WAL has grown by a quarter of its bound.
    pub(crate) fn wal_grew(&mut self, bytes: u64, bound: u64) {
        if bytes < self.woken_at {
            self.woken_at = 0;
        }
        if bytes.saturating_sub(self.woken_at) < bound / 4 {
            return;
        }
        if let Some(wake) = &self.wake {
            match wake.try_send(()) {
                Ok(()) => self.woken_at = bytes,
                Err(TrySendError::Full(())) => {}
                Err(TrySendError::Disconnected(())) => self.wake = None,
            }
        }
    }
}

fn run(path: &Path, woken: &Receiver<()>, turn: &Mutex<()>, sync_failed: impl Fn()) {
    let mut connection: Option<Connection> = None;
    while woken.recv().is_ok() {
        let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let written = write_back(path, &mut connection);
        drop(turn);
        if let Err(error) = written {
            tracing::warn!(%error, "the WAL was not written back");
            connection = None;
            if matches!(error, StoreError::Sync(_)) {
                sync_failed();
            }
        }
    }
}

fn write_back(path: &Path, connection: &mut Option<Connection>) -> Result<(), StoreError> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(reading(path)?),
    };
    connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE)?;
    Ok(())
}
