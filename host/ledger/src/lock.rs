//! Locks that one process holds while it writes a log.
//!
//! For SQLite it stands beside the database, for one replica of PostgreSQL beside
//! its anchor: there it keeps two processes of one machine from being the same
//! replica, and no lease depends on it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::OpenError;

/// Takes the lock beside `path`, which keeps every other process out.
pub(crate) fn lock(path: &Path) -> Result<File, OpenError> {
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
pub(crate) fn owners_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
