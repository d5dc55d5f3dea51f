//! The one place of this crate that touches a file: the signing key's.
//!
//! A key that others can read is no key, so a file with wider permissions than
//! its owner's is refused, not mended: whoever opened it may have copied it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::key::{MalformedKey, SigningKey};

/// Files that were begun beside a key and broke off, until one is taken away.
const MOST_LEFT: u32 = 1_000;

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be opened, read or written.
    #[error("the key file cannot be used: {0}")]
    Io(#[from] io::Error),
    /// Others than its owner can get at it.
    #[error(
        "the key file is open to others than its owner (mode {mode:04o}): make a new key, and keep it with mode 0600"
    )]
    Permissions {
        /// Its permission bits.
        mode: u32,
    },
    /// It holds no key.
    #[error("the key file holds no key: {0}")]
    Malformed(#[from] MalformedKey),
}

/// Reads the key in the file at `path`.
///
/// # Errors
/// A file that cannot be read, that others than its owner can read or write,
/// or that holds no key.
pub fn read(path: &Path) -> Result<SigningKey, KeyFileError> {
    let file = File::open(path)?;
    // Asked of the open file, so that it cannot be exchanged in between.
    check_mode(&file)?;
    let mut text = Zeroizing::new(String::with_capacity(4_096));
    file.take(4_096).read_to_string(&mut text)?;
    Ok(SigningKey::parse_secret(
        text.strip_suffix('\n').unwrap_or(&text),
    )?)
}

/// Writes a key into a new file at `path`, as [`create_text`] does: what a log is
/// told to go on under must not be lost.
///
/// # Errors
/// A file that is there already, or that cannot be written.
pub fn create(path: &Path, key: &SigningKey) -> Result<(), KeyFileError> {
    Ok(create_text(path, &key.to_secret_text())?)
}

/// Writes a secret and a line end into a new file at `path`, which its owner alone
/// can read, and makes it durable, its name too. Whatever breaks this off leaves no
/// file of that name, or the whole one: the text is written beside it, as
/// `PATH.N.new`, and gets its name last.
///
/// # Errors
/// A file that is there already, or that cannot be written.
pub fn create_text(path: &Path, text: &str) -> io::Result<()> {
    let (beside, mut file) = beside(path)?;
    let named = file
        .write_all(text.as_bytes())
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all())
        // Unlike renaming this replaces nothing.
        .and_then(|()| fs::hard_link(&beside, path));
    let removed = fs::remove_file(&beside);
    named?;
    removed?;
    sync_folder(path)
}

/// A new file beside `path`. What an earlier one left hinders nobody.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for number in 0..MOST_LEFT {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}.new"));
        let name = PathBuf::from(name);
        match options.open(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(unix)]
fn sync_folder(of: &Path) -> io::Result<()> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)]
fn sync_folder(_of: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn check_mode(file: &File) -> Result<(), KeyFileError> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = file.metadata()?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        Ok(())
    } else {
        Err(KeyFileError::Permissions { mode })
    }
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps)]
fn check_mode(_file: &File) -> Result<(), KeyFileError> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::LogId;

    #[test]
    fn a_key_file_is_its_owners_alone_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.key");
        let key = SigningKey::from_seed(LogId::new("log.example/1").unwrap(), &[7; 32]);
        create(&path, &key).unwrap();
        assert_eq!(read(&path).unwrap().verifying_key(), key.verifying_key());
        assert!(
            matches!(create(&path, &key), Err(KeyFileError::Io(_))),
            "never overwritten"
        );
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(
                matches!(read(&path), Err(KeyFileError::Permissions { mode: found }) if found == mode)
            );
        }
    }

    #[test]
    #[ignore = "run by the test of what it leaves"]
    fn makes_a_key_here() {
        let key = SigningKey::from_seed(LogId::new("log.example/1").unwrap(), &[7; 32]);
        let _ = create(Path::new("log.key"), &key);
    }

    #[test]
    fn who_is_cut_off_while_it_writes_a_key_leaves_none_and_can_make_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.key");
        for _ in 0..3 {
            // It is killed at the first byte that it writes into any file, as where
            // the machine stops.
            let limited = std::process::Command::new("sh")
                .args(["-c", "ulimit -f 0; exec \"$0\" --ignored --exact \"$1\""])
                .arg(std::env::current_exe().unwrap())
                .arg("keyfile::tests::makes_a_key_here")
                .current_dir(folder.path())
                .output()
                .unwrap();
            assert_eq!(limited.status.code(), None, "{limited:?}");
            assert!(!path.exists(), "a part of a key");
        }
        let key = SigningKey::from_seed(LogId::new("log.example/1").unwrap(), &[7; 32]);
        create(&path, &key).unwrap();
        assert_eq!(read(&path).unwrap().verifying_key(), key.verifying_key());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }
}
