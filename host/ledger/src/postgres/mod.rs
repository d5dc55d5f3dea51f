//! The shared store: one PostgreSQL database, several replicas.
//!
//! Each replica appends to a log of its own, under an incarnation with a lease
//! that it renews while it lives; executions are everyone's. [`store`] is the
//! writer's side, [`read`] what a group reads at once and [`write`] what it
//! writes at once, so that a group costs a constant number of round trips;
//! [`watch`] finds out which incarnations are gone. [`readers`] are the
//! connections of everyone else. The rules are those of
//! `docs/spec/executions.md` §5.
//!
//! The writer is a thread that commits one group after the other and waits for
//! each, so the store drives its connection with a runtime of its own on that
//! very thread: nothing here needs the host's runtime, and a store that stalls
//! cannot stall it. Statements are never named and no session keeps a state, so
//! that a pooler may hand out connections for one transaction at a time.

mod address;
mod answers;
mod columns;
mod connect;
mod doubt;
mod ends;
mod open;
mod read;
mod readers;
mod reconnect;
mod schema;
mod store;
mod sweep;
mod tls;
mod watch;
mod write;

pub use address::{DatabaseUrl, MalformedDatabaseUrl};
pub(crate) use open::open;

use std::time::Duration;

use tokio_postgres::error::SqlState;

use crate::store::StoreError;

/// How long one round trip may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the shared database is, and how long a replica that says nothing is
/// waited for.
#[derive(Clone, Debug)]
pub struct Postgres {
    /// The database.
    pub database: DatabaseUrl,
    /// How long an incarnation may send after it renewed its lease last; at
    /// least 1 s. All replicas of a database should have the same. Default 15 s.
    pub lease: Duration,
    /// Whether a database with standbys of which none is synchronous is taken.
    /// A failover then loses executions that were acknowledged, so identifiers
    /// that were used become fresh. Default false.
    pub unsynchronous_standbys: bool,
}

impl Postgres {
    /// The defaults for a database.
    #[must_use]
    pub fn new(database: DatabaseUrl) -> Self {
        Self {
            database,
            lease: Duration::from_secs(15),
            unsynchronous_standbys: false,
        }
    }

    /// How long a statement waits for a lock.
    fn lock_timeout(&self) -> Duration {
        self.lease / 6
    }

    /// How long a transaction of a replica that was paused holds its locks.
    fn idle_timeout(&self) -> Duration {
        self.lease / 4
    }

    /// How long one round trip may take; then the connection is given up.
    fn patience(&self) -> Duration {
        PATIENCE
    }

    /// How often the lease is renewed, and others' are looked at.
    fn heartbeat(&self) -> Duration {
        self.lease / 15
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(code) = error.code() else {
            return Self::Failed(error.to_string());
        };
        // The message of the database may repeat values; its code does not.
        let detail = code.code().to_owned();
        match *code {
            SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::LOCK_NOT_AVAILABLE
            | SqlState::QUERY_CANCELED
            | SqlState::UNIQUE_VIOLATION => Self::Rival(detail),
            SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => Self::Damaged(detail),
            _ if matches!(detail.get(..2), Some("22" | "23" | "54")) => Self::Refused(detail),
            _ => Self::Failed(detail),
        }
    }
}
