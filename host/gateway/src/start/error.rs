//! Why a gateway did not start.

use std::net::SocketAddr;

use countersign_evidence::keyfile::KeyFileError;
use countersign_ledger::LedgerError;
use thiserror::Error;

use crate::answers::AnswersKeyError;
use crate::environment::NoRandomness;
use crate::fetch::FetchError;
use crate::handles::TooFewHandles;
use crate::identity::IdentityError;
use crate::profiles::ProfilesError;
use crate::reload::ReloadError;
use crate::rotation::RotationError;
use crate::store::StoreError;
use crate::tls::TlsError;

/// Why a gateway did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A profile is not loaded.
    #[error(transparent)]
    Profiles(#[from] ProfilesError),
    /// Nobody could be served.
    #[error(transparent)]
    Handles(#[from] TooFewHandles),
    /// The policies or the approvals do not hold.
    #[error(transparent)]
    Basis(#[from] ReloadError),
    /// Agents cannot be told apart.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// TLS cannot be offered to agents.
    #[error(transparent)]
    Front(#[from] TlsError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The signing key cannot be used.
    #[error("the key `{}`: {source}", path.display())]
    Key {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: KeyFileError,
    },
    /// The signing key cannot be read, or is being replaced.
    #[error(transparent)]
    Rotation(#[from] RotationError),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Ledger(#[from] StoreError),
    /// The first entries cannot be written.
    #[error("the ledger takes no entries: {0}")]
    Entries(#[from] LedgerError),
    /// The archive cannot be written.
    #[error("the archive cannot be written: {0}")]
    Archive(#[source] std::io::Error),
    /// The key that seals answers cannot be used.
    #[error("the key `{}`: {source}", path.display())]
    AnswersKey {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: AnswersKeyError,
    },
    /// The collector of traces cannot be reached as it is configured.
    #[error("`telemetry.traces_url`: {0}")]
    Traces(#[from] FetchError),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The operator's socket cannot be made.
    #[error("{0}")]
    Operator(String),
    /// There is no randomness.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}
