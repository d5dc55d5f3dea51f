//! A new key for a log: an entry signed by the old one, then the file.
//!
//! 1. The store is opened, which no gateway may have.
//! 2. The new key is written beside the old one, as `KEY.next`; the old key
//!    signs the head.
//! 3. The statement that the new key follows is appended; it is durable now.
//! 4. What `KEY.next` holds takes the place of the old key, which is gone then; its
//!    owner and mode stay. Then `KEY.next` is removed.
//!
//! Whatever breaks this off leaves `KEY.next`, and a gateway does not start
//! while it is there: the log may already have been promised to the new key.
//! Running it again goes on where it stopped; where the store was rolled back
//! meanwhile, after that was accepted, for which the old key still serves.
//!
//! A key in a variable is the operator's to exchange: the next one is in another
//! variable while the statement is appended. The ledger is not opened with the old
//! one afterwards.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use countersign_evidence::key::{MalformedKey, SigningKey, VerifyingKey};
use countersign_evidence::keyfile::{self, KeyFileError};
use countersign_evidence::{Draft, Kind};
use countersign_ledger::{AnswerBounds, InForce, Ledger, LedgerError, OpenError};
use thiserror::Error;

use crate::config::{KeyFrom, Store};
use crate::environment::{Environment, NoRandomness};
use crate::replace::{PRIVATE, Replacement};
use crate::store::{self, StoreError};

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
    /// The variable with a key is not set.
    #[error("the variable `{0}`, which should hold the log's key, is not set")]
    Variable(String),
    /// The variable with a key holds none.
    #[error("the variable `{name}` holds no key of a log: {source}")]
    NoKey {
        /// The variable.
        name: String,
        /// Why; it repeats nothing of what is there.
        source: MalformedKey,
    },
    /// The next key is in a variable and the present one in a file, or the other
    /// way round.
    #[error(
        "a key in a file is followed by one that is made, and a key in a variable by one in the variable that `--next-variable` names"
    )]
    Kinds,
    /// The next key is of another log, or is the present one.
    #[error("the next key has to be another key of the same log")]
    Next,
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
/// file or the variable says.
pub fn read(from: &KeyFrom, environment: &Environment) -> Result<SigningKey, RotationError> {
    let path = match from {
        KeyFrom::File(path) => path,
        KeyFrom::Variable(name) => return variable(name, environment),
    };
    let next = next_path(path);
    if next.exists() {
        return Err(RotationError::Unfinished { next });
    }
    load(path)
}

/// Reads the key that is in place, though another may wait beside it.
///
/// # Errors
/// What the file or the variable says.
pub(crate) fn in_place(
    from: &KeyFrom,
    environment: &Environment,
) -> Result<SigningKey, RotationError> {
    match from {
        KeyFrom::File(path) => load(path),
        KeyFrom::Variable(name) => variable(name, environment),
    }
}

/// Reads a key from a variable, which holds what a key file holds.
fn variable(name: &str, environment: &Environment) -> Result<SigningKey, RotationError> {
    let text = (environment.variable)(name);
    let text = text.ok_or_else(|| RotationError::Variable(name.to_owned()))?;
    SigningKey::parse_secret(text.trim_end()).map_err(|source| RotationError::NoKey {
        name: name.to_owned(),
        source,
    })
}

fn load(path: &Path) -> Result<SigningKey, RotationError> {
    keyfile::read(path).map_err(|source| RotationError::Key {
        path: path.to_owned(),
        source,
    })
}

/// Writes another key for the log of the present one into a new file.
///
/// # Errors
/// [`RotationError`].
pub fn next(
    store: &Store,
    file: &Path,
    environment: &Environment,
) -> Result<VerifyingKey, RotationError> {
    let present = read(&store.key, environment)?;
    made(&present, file, environment).map(|next| next.verifying_key())
}

fn made(
    present: &SigningKey,
    file: &Path,
    environment: &Environment,
) -> Result<SigningKey, RotationError> {
    let next = SigningKey::from_seed(present.name().clone(), &environment.bytes()?);
    keyfile::create(file, &next).map_err(|source| RotationError::Key {
        path: file.to_owned(),
        source,
    })?;
    Ok(next)
}

/// Gives the log of a stopped gateway a new key; answers what verifiers need to
/// know of it. `next` is the variable with the next key, where the present one is
/// in a variable too.
///
/// # Errors
/// [`RotationError`]; `ledger-in-use` while a gateway has the store.
pub fn rotate(
    store: &Store,
    next: Option<&str>,
    environment: &Environment,
) -> Result<VerifyingKey, RotationError> {
    match (&store.key, next) {
        (KeyFrom::File(path), None) => in_files(store, path, environment),
        (KeyFrom::Variable(name), Some(next)) => in_variables(store, name, next, environment),
        _ => Err(RotationError::Kinds),
    }
}

fn in_variables(
    store: &Store,
    name: &str,
    next: &str,
    environment: &Environment,
) -> Result<VerifyingKey, RotationError> {
    let read = |name| variable(name, environment);
    let (old, new) = (read(name)?, read(next)?);
    let verifying = new.verifying_key();
    if new.name() != old.name() || verifying == old.verifying_key() {
        return Err(RotationError::Next);
    }
    let bounds = AnswerBounds::default();
    let ledger = store::open(store, environment, read(name)?, bounds)?;
    append(&ledger, &old, &verifying, environment)?;
    // From here on the ledger is not opened any more with the old one.
    ledger.stop()?;
    Ok(verifying)
}

fn append(
    ledger: &Ledger,
    old: &SigningKey,
    next: &VerifyingKey,
    environment: &Environment,
) -> Result<(), RotationError> {
    ledger.checkpoint().wait()?;
    let mut draft = Draft::new(Kind::KeyRotated, environment.now());
    draft.key = Some(old.rotate(next));
    ledger.append(draft, InForce::Unchanged).wait()?;
    Ok(())
}

fn in_files(
    store: &Store,
    file: &Path,
    environment: &Environment,
) -> Result<VerifyingKey, RotationError> {
    let (old, bounds) = (load(file)?, AnswerBounds::default());
    let path = next_path(file);
    if path.exists() && load(&path)?.verifying_key() == old.verifying_key() {
        // It is in place, and what is left is its copy.
        store::open(store, environment, load(file)?, bounds)?.stop()?;
        fs::remove_file(&path).map_err(RotationError::Place)?;
        return Ok(old.verifying_key());
    }
    // First of all, so that nothing is begun while a gateway runs.
    let ledger = match store::open(store, environment, load(file)?, bounds) {
        Ok(ledger) => ledger,
        // The statement is there already, and what is left is the file.
        Err(StoreError::Open(OpenError::OtherKey { .. })) if path.exists() => {
            let next = load(&path)?;
            let verifying = next.verifying_key();
            store::open(store, environment, next, bounds)?.stop()?;
            put_in_place(&path, file)?;
            return Ok(verifying);
        }
        Err(error) => return Err(error.into()),
    };
    // A key that was begun would keep everybody from accepting the rollback.
    if ledger.rolled_back() {
        return Err(LedgerError::RolledBack.into());
    }
    let next = if path.exists() {
        load(&path)?
    } else {
        made(&old, &path, environment)?
    };
    let next = next.verifying_key();
    append(&ledger, &old, &next, environment)?;
    ledger.stop()?;
    put_in_place(&path, file)?;
    Ok(next)
}

/// Replaces the old key, durably, by what its file holds: whoever could read the old
/// one, and nobody else, can read the new one.
fn put_in_place(next: &Path, file: &Path) -> Result<(), RotationError> {
    let key = load(next)?;
    let mut replacement = Replacement::of(file, PRIVATE).map_err(RotationError::Place)?;
    let written = replacement
        .write_all(key.to_secret_text().as_bytes())
        .and_then(|()| replacement.write_all(b"\n"))
        .and_then(|()| replacement.finish());
    written.map_err(RotationError::Place)?;
    fs::remove_file(next).map_err(RotationError::Place)
}
