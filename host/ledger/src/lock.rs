//! Locks that one process holds while it writes a log.
//!
//! For SQLite it stands beside the database, by whatever link that is named; for
//! one replica of PostgreSQL beside its anchor, where it keeps two processes of one
//! machine from being the same replica, and no lease depends on it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::OpenError;

/// Links that are followed, one after the other.
const LINKS: usize = 40;

/// Takes the lock beside what `path` leads to, which keeps every other process out
/// that comes by another name.
pub(crate) fn lock_target(path: &Path) -> Result<File, OpenError> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = std::fs::read_link(&target) else {
            break;
        };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    lock(&target)
}

/// Takes the lock beside `path` itself, which keeps every other process out. An
/// anchor that is a link is replaced, and not what it leads to.
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_database_has_one_lock_by_whatever_name_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("real")).unwrap();
        symlink(at("real"), at("folder")).unwrap();
        symlink("real/ledger.db", at("link")).unwrap();
        symlink("link", at("link to a link")).unwrap();
        let names = [
            "real/ledger.db",
            "folder/ledger.db",
            "link",
            "link to a link",
        ];
        // Before there is a database, and with one.
        for _ in 0..2 {
            for first in names {
                let held = lock_target(&at(first)).unwrap();
                for second in names {
                    let said = lock_target(&at(second));
                    assert!(
                        matches!(said, Err(OpenError::InUse { .. })),
                        "{first}, {second}"
                    );
                }
                drop(held);
            }
            std::fs::write(at("real/ledger.db"), "").unwrap();
        }
        symlink("itself", at("itself")).unwrap();
        assert!(lock_target(&at("itself")).is_ok(), "it ends");
    }
}
