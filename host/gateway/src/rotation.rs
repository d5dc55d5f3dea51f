//! A new key for a log: an entry signed by the old one, then the file.
//!
//! 1. The store is opened, which no gateway may have.
//! 2. The new key is written beside the old one, as `KEY.next`; the old key
//!    signs the head.
//! 3. The statement that the new key follows is appended; it is durable now.
//! 4. `KEY.next` takes the place of the old key, which is gone then.
//!
//! Whatever breaks this off leaves `KEY.next`, and a gateway does not start
//! while it is there: the log may already have been promised to the new key.
//! Running it again goes on where it stopped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use countersign_evidence::key::{SigningKey, VerifyingKey};
use countersign_evidence::keyfile::{self, KeyFileError};
use countersign_evidence::{Draft, Entry, Kind};
use countersign_ledger::{AnswerBounds, InForce, Ledger, LedgerError, Selection};
use thiserror::Error;

use crate::config::Store;
use crate::environment::{Environment, NoRandomness};
use crate::store::{self, StoreError};

/// Entries that are read at once.
const PAGE: usize = 512;

/// Why there is no new key, or no key at all.
#[derive(Debug, Error)]
pub enum RotationError {
    /// A key cannot be read or written.
    #[error("the key `{}`: {source}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        source: KeyFileError,
    },
    /// A rotation was broken off.
    #[error(
        "`{}` is there, so a rotation of the log's key was broken off: finish it with `countersign key rotate`",
        next.display()
    )]
    Unfinished {
        /// The file of the new key.
        next: PathBuf,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] StoreError),
    /// The entry cannot be written.
    #[error("the ledger takes no entry: {0}")]
    Ledger(#[from] LedgerError),
    /// The new key cannot take the place of the old one.
    #[error("the new key cannot be put in place: {0}")]
    Place(#[source] io::Error),
    /// There is no randomness.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

/// Where the new key waits.
fn next_path(key: &Path) -> PathBuf {
    let mut next = key.as_os_str().to_owned();
    next.push(".next");
    PathBuf::from(next)
}

/// Reads a log's key.
///
/// # Errors
/// [`RotationError::Unfinished`] where a rotation was broken off, or what the
/// file says.
pub fn read(path: &Path) -> Result<SigningKey, RotationError> {
    let next = next_path(path);
    if next.exists() {
        return Err(RotationError::Unfinished { next });
    }
    load(path)
}

fn load(path: &Path) -> Result<SigningKey, RotationError> {
    keyfile::read(path).map_err(|source| RotationError::Key {
        path: path.to_owned(),
        source,
    })
}

/// Gives the log of a stopped gateway a new key; answers what verifiers need to
/// know of it.
///
/// # Errors
/// [`RotationError`]; `ledger-in-use` while a gateway has the store.
pub fn rotate(store: &Store, environment: &Environment) -> Result<VerifyingKey, RotationError> {
    let old = load(&store.key)?;
    // First of all, so that nothing is begun while a gateway runs.
    let (key, bounds) = (load(&store.key)?, AnswerBounds::default());
    let ledger = store::open(store, environment, key, bounds)?;
    let path = next_path(&store.key);
    let begun = path.exists();
    let next = if begun {
        load(&path)?
    } else {
        let next = SigningKey::from_seed(old.name().clone(), &environment.bytes()?);
        keyfile::create(&path, &next).map_err(|source| RotationError::Key {
            path: path.clone(),
            source,
        })?;
        next
    };
    let next = next.verifying_key();
    let rotation = old.rotate(&next);
    if !(begun && appended(&ledger, &next)?) {
        ledger.checkpoint().wait()?;
        let mut draft = Draft::new(Kind::KeyRotated, environment.now());
        draft.key = Some(rotation);
        ledger.append(draft, InForce::Unchanged).wait()?;
    }
    ledger.stop()?;
    fs::rename(&path, &store.key).map_err(RotationError::Place)?;
    let folder = store.key.parent().filter(|f| !f.as_os_str().is_empty());
    let folder = fs::File::open(folder.unwrap_or_else(|| Path::new(".")));
    folder
        .and_then(|folder| folder.sync_all())
        .map_err(RotationError::Place)?;
    Ok(next)
}

/// Whether the log says already that this key follows.
fn appended(ledger: &Ledger, next: &VerifyingKey) -> Result<bool, RotationError> {
    let next_text = next.to_string();
    let mut from = Some(0);
    while let Some(at) = from {
        let page = ledger.entries(&Selection::All, at, PAGE).wait()?;
        from = page.next;
        for stored in page.entries {
            let entry = Entry::parse(&stored.bytes).ok();
            let key = entry.and_then(|entry| entry.said().key.clone());
            if key.is_some_and(|key| key.next == next_text) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
