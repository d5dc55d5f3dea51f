//! A folder, and a key in it, that belong to this user and to nobody else.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Warning;

/// Bytes of the key, and of a block of the hash that it is used with.
const KEY_BYTES: usize = 64;
/// The file of the key.
const KEY_FILE: &str = "key";
/// Permission bits of anybody but the owner.
const OTHERS: u32 = 0o077;

/// A folder that was found to be the owner's alone.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

/// The key of the folder's files.
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    #[cfg(test)]
    pub(super) fn of(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> [u8; KEY_BYTES] {
        self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Folder {
    /// Makes the folder where it does not exist, and checks whose it is.
    pub(super) fn open(path: &Path) -> Result<Self, Warning> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| unusable(path, &error))?;
        // Not followed: a link could be turned elsewhere after the check.
        let metadata = fs::symlink_metadata(path).map_err(|error| unusable(path, &error))?;
        if !metadata.is_dir() || !is_private(&metadata) {
            return Err(Warning::Shared(path.display().to_string()));
        }
        Ok(Self(path.to_path_buf()))
    }

    /// The folder's key; made where there is none.
    pub(super) fn key(&self, random: fn(&mut [u8]) -> bool) -> Result<Key, Warning> {
        if let Some(key) = self.read_key()? {
            return Ok(key);
        }
        let mut bytes = [0; KEY_BYTES];
        if !random(&mut bytes) {
            return Err(Warning::NoRandomness);
        }
        self.write_key(&bytes)?;
        // Another process may have been first; its key is the key then.
        self.read_key()?
            .ok_or_else(|| Warning::Shared(self.0.join(KEY_FILE).display().to_string()))
    }

    fn read_key(&self) -> Result<Option<Key>, Warning> {
        let Some(bytes) = self.read(KEY_FILE, u64::try_from(KEY_BYTES).unwrap_or(u64::MAX))? else {
            return Ok(None);
        };
        let path = self.0.join(KEY_FILE);
        match bytes.try_into() {
            Ok(bytes) => Ok(Some(Key(bytes))),
            Err(_) => Err(Warning::Unusable(
                path.display().to_string(),
                "it is no key".into(),
            )),
        }
    }

    /// Appears whole or not at all, and never replaces a key.
    fn write_key(&self, bytes: &[u8]) -> Result<(), Warning> {
        let (path, draft) = (self.0.join(KEY_FILE), self.draft(KEY_FILE));
        write_new(&draft, bytes).map_err(|error| unusable(&draft, &error))?;
        let linked = fs::hard_link(&draft, &path);
        let removed = fs::remove_file(&draft);
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(unusable(&path, &error))
            }
            _ => removed.map_err(|error| unusable(&draft, &error)),
        }
    }

    /// A file of the folder, whole, if it is there, private and not too large.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, Warning> {
        let path = self.0.join(name);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(NO_FOLLOW)
            .open(&path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error)),
        };
        // Of the open file, so that what is checked is what is read.
        let metadata = file.metadata().map_err(|error| unusable(&path, &error))?;
        if !metadata.is_file() || !is_private(&metadata) {
            return Err(Warning::Shared(path.display().to_string()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(most)).unwrap_or(0));
        let read = (&mut file)
            .take(most.saturating_add(1))
            .read_to_end(&mut bytes);
        read.map_err(|error| unusable(&path, &error))?;
        if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > most) {
            return Err(Warning::Unusable(
                path.display().to_string(),
                "it is too large".into(),
            ));
        }
        Ok(Some(bytes))
    }

    /// Replaces a file of the folder, which appears whole or not at all.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Warning> {
        let (path, draft) = (self.0.join(name), self.draft(name));
        write_new(&draft, bytes)
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(|error| unusable(&path, &error))
    }

    /// No two processes, nor two threads of one, write the same draft.
    fn draft(&self, name: &str) -> PathBuf {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let process = rustix::process::getpid().as_raw_nonzero();
        let count = DRAFTS.fetch_add(1, Ordering::Relaxed);
        self.0.join(format!(".{name}.{process}.{count}"))
    }
}

/// `O_NOFOLLOW`: a link in the folder is not one of ours.
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Replaces a draft that an earlier process of the same number left behind.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)
}

fn is_private(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & OTHERS == 0
}

fn unusable(path: &Path, error: &io::Error) -> Warning {
    Warning::Unusable(path.display().to_string(), error.kind().to_string())
}
