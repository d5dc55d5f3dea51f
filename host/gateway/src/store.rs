//! Opens the ledger that a configuration names.
//!
//! Used by a gateway that starts, and by the command line on the store of one
//! that is stopped. Where the database's URL is kept is read here, at the last
//! moment, and nobody else sees it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use countersign_evidence::key::SigningKey;
use countersign_ledger::{
    AnswerBounds, DatabaseUrl, Ledger, MalformedDatabaseUrl, OpenError, Options, Postgres, Salts,
};
use thiserror::Error;

use crate::config::{Database, Store, UrlFrom};
use crate::environment::Environment;

/// Why there is no ledger.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The ledger cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file with the database's URL cannot be read.
    #[error("cannot read the database's URL from `{}`: {source}", path.display())]
    UrlFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The variable with the database's URL is not set.
    #[error("the variable `{0}`, which should hold the database's URL, is not set")]
    UrlVariable(String),
    /// The URL is none.
    #[error(transparent)]
    Url(#[from] MalformedDatabaseUrl),
}

/// Opens the ledger, as an incarnation of its own.
///
/// # Errors
/// [`StoreError`].
pub fn open(
    store: &Store,
    environment: &Environment,
    key: SigningKey,
    answers: AnswerBounds,
) -> Result<Ledger, StoreError> {
    let clock = environment.clock.clone();
    match &store.database {
        Database::Sqlite(path) => {
            let mut options = Options::new(path.clone(), store.anchor.clone());
            options.answers = answers;
            options.blind = salts(store, environment);
            options.probe.clone_from(&environment.probe);
            Ok(Ledger::open_sqlite(options, clock, key)?)
        }
        Database::Postgres(shared) => {
            let mut postgres = Postgres::new(url(&shared.url, environment)?);
            postgres.lease = shared.lease;
            postgres.unsynchronous_standbys = shared.unsynchronous_standbys;
            let mut options = Options::shared(store.anchor.clone());
            options.answers = answers;
            options.blind = salts(store, environment);
            options.probe.clone_from(&environment.probe);
            Ok(Ledger::open_postgres(postgres, options, clock, key)?)
        }
    }
}

/// Where salts come from, if entries are blinded.
fn salts(store: &Store, environment: &Environment) -> Option<Salts> {
    let environment = environment.clone();
    let salt: Salts = Arc::new(move || environment.bytes().ok());
    store.blind.then_some(salt)
}

fn url(from: &UrlFrom, environment: &Environment) -> Result<DatabaseUrl, StoreError> {
    let text = match from {
        UrlFrom::Text(url) => return Ok((**url).clone()),
        UrlFrom::File(path) => fs::read_to_string(path).map_err(|source| StoreError::UrlFile {
            path: path.clone(),
            source,
        })?,
        UrlFrom::Variable(name) => {
            let value = (environment.variable)(name);
            value.ok_or_else(|| StoreError::UrlVariable(name.clone()))?
        }
    };
    Ok(text.trim().parse()?)
}
