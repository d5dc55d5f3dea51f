//! Replaces what a file holds: whole or not at all, durably, and with nothing else
//! about the file changed.
//!
//! 1. Links are followed: the file that they lead to is replaced, and they stay.
//! 2. The new content is written beside it under a name that nobody can guess, in a
//!    file that is not there yet.
//! 3. It gets the owner, the group and the mode of what it replaces. Who may not give
//!    it these replaces nothing: a service would lose its file.
//! 4. It takes its place, and the folder is synced.
//!
//! Who changes a file by what it holds takes [`lock`] before reading it.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Links that are followed.
const MOST_LINKS: usize = 40;
/// A file that its owner alone can read and write.
pub const PRIVATE: u32 = 0o600;
/// A file that everybody can read, as far as the process's mask lets them.
pub const PUBLIC: u32 = 0o666;

/// What is to replace a file. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct Replacement {
    file: NamedTempFile,
    target: PathBuf,
}

impl Replacement {
    /// Begins to replace what `path` leads to, a regular file or nothing yet; a file
    /// that is made gets `mode`.
    ///
    /// # Errors
    /// What the file system says; what is no regular file; an owner that the new file
    /// cannot be given.
    pub fn of(path: &Path, mode: u32) -> io::Result<Self> {
        let target = resolved(path)?;
        let before = match fs::metadata(&target) {
            Ok(before) if before.is_file() => Some(before),
            Ok(_) => return Err(io::Error::other("it is no regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mode = if before.is_some() { PRIVATE } else { mode };
        let file = tempfile::Builder::new()
            .prefix(".countersign-")
            .suffix(".new")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder(&target))?;
        if let Some(before) = before {
            made_like(file.as_file(), &before)?;
        }
        Ok(Self { file, target })
    }

    /// Puts it in the file's place, durably.
    ///
    /// # Errors
    /// What the file system says; where the folder cannot be synced, the file may be
    /// the new one all the same.
    pub fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file
            .persist(&self.target)
            .map_err(|error| error.error)?;
        File::open(folder(&self.target))?.sync_all()
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Replaces what a file holds; see [`Replacement::of`].
///
/// # Errors
/// Those of [`Replacement`].
pub fn replace(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::of(path, mode)?;
    replacement.write_all(bytes)?;
    replacement.finish()
}

/// Waits until nobody else changes a file of the folder that `path` leads to, and keeps
/// others waiting until what is given back is dropped.
///
/// # Errors
/// What the file system says.
pub fn lock(path: &Path) -> io::Result<File> {
    let folder = File::open(folder(&resolved(path)?))?;
    folder.lock()?;
    Ok(folder)
}

/// Gives a file the owner, the group and the mode of another.
fn made_like(file: &File, before: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let (owner, group) = (before.uid(), before.gid());
    if (new.uid(), new.gid()) != (owner, group) {
        fchown(file, Some(owner), Some(group)).map_err(|error| {
            let why = format!(
                "it belongs to user {owner} and group {group}, which the new file cannot be given: {error}"
            );
            io::Error::new(error.kind(), why)
        })?;
    }
    file.set_permissions(Permissions::from_mode(before.mode() & 0o7777))
}

/// What links lead to, be it there or not.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => path = folder(&path).join(fs::read_link(&path)?),
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("its links lead nowhere"))
}

fn folder(path: &Path) -> PathBuf {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new(".")).to_owned()
}
