//! Copies a database while its writer goes on.
//!
//! The copy is of one moment: the source is read in one transaction, so that
//! nothing that is committed meanwhile makes it begin anew. For as long as that
//! takes the WAL cannot start again, and grows; the writer is told not to wait
//! for it (`LongRead`).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::error::BackupError;
use crate::sqlite::connect::reading;

/// Pages that are copied between two looks at the progress: 1 MiB.
const PAGES_AT_ONCE: i32 = 256;

/// How many long reads there are just now.
#[derive(Clone, Debug, Default)]
pub(crate) struct LongReads(Arc<AtomicUsize>);

/// One of them, until it is dropped.
pub(super) struct LongRead(Arc<AtomicUsize>);

impl LongReads {
    pub(super) fn begin(&self) -> LongRead {
        self.0.fetch_add(1, Ordering::SeqCst);
        LongRead(Arc::clone(&self.0))
    }

    pub(super) fn any(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

impl Drop for LongRead {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Copies the database at `from` into a new file `to`, which appears whole or
/// not at all. Answers with its size in bytes.
pub(super) fn backup(from: &Path, to: &Path, long: &LongReads) -> Result<u64, BackupError> {
    let _long = long.begin();
    let file = |source: io::Error| BackupError::File {
        path: to.to_owned(),
        source,
    };
    if to.exists() {
        return Err(file(io::ErrorKind::AlreadyExists.into()));
    }
    let part = beside(to);
    let copied = owners_new(&part)
        .map_err(file)
        .and_then(|()| copy(from, &part))
        .and_then(|()| keep(&part, to).map_err(file));
    if copied.is_err() {
        // What is left of it would be no backup.
        drop(fs::remove_file(&part));
    }
    copied
}

fn beside(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// A backup holds what the database holds: it is its owner's alone.
fn owners_new(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let source = reading(from)?;
    // Fixes the moment: the first read of a transaction does.
    source.execute_batch("BEGIN")?;
    source.query_row("SELECT one FROM ledger", [], |_| Ok(()))?;
    let mut target = Connection::open(to)?;
    // It is synced once, at the end.
    target.pragma_update(None, "synchronous", "OFF")?;
    {
        let copying = Backup::new(&source, &mut target)?;
        loop {
            match copying.step(PAGES_AT_ONCE)? {
                StepResult::Done => break,
                StepResult::More => {}
                // Only a checkpoint may be in the way, and only for a moment.
                _ => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        }
    }
    target.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Makes it durable under its name; answers with its size.
fn keep(part: &Path, to: &Path) -> io::Result<u64> {
    let file = File::open(part)?;
    file.sync_all()?;
    let bytes = file.metadata()?.len();
    fs::rename(part, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(bytes)
}
