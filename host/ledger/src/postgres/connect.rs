//! Opens connections, and asserts what durability rests on.

use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage};

use crate::error::OpenError;
use crate::postgres::Postgres;
use crate::postgres::tls::Verified;
use crate::store::StoreError;

/// A value with its type, so that a statement needs no round trip of its own to
/// be prepared.
pub(super) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// Opens connections to one database.
#[derive(Clone)]
pub(super) struct Connector {
    postgres: Postgres,
    tls: Option<Verified>,
}

impl Connector {
    pub(super) fn new(postgres: Postgres) -> Result<Self, OpenError> {
        let tls = Verified::by(&postgres.database.tls).map_err(|detail| OpenError::Database {
            database: postgres.database.to_string(),
            detail: format!("TLS cannot be set up: {detail}"),
        })?;
        Ok(Self { postgres, tls })
    }

    pub(super) fn postgres(&self) -> &Postgres {
        &self.postgres
    }

    /// Opens one; the task that carries it ends with it.
    pub(super) async fn connect(&self) -> Result<Client, StoreError> {
        let mut config = self.postgres.database.config.clone();
        config.connect_timeout(self.postgres.patience());
        let opened = async {
            Ok::<_, tokio_postgres::Error>(match &self.tls {
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(carry(connection));
                    client
                }
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    tokio::spawn(carry(connection));
                    client
                }
            })
        };
        in_time(self.postgres.patience().saturating_mul(2), opened).await
    }

    /// How each transaction begins. Everything is set for this transaction
    /// alone: a session may be another one in the next.
    pub(super) fn begin(&self) -> String {
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; \
             SET LOCAL lock_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; \
             SET LOCAL statement_timeout = {}; \
             SET LOCAL synchronous_commit = {}",
            self.postgres.lock_timeout().as_millis(),
            self.postgres.idle_timeout().as_millis(),
            self.postgres.patience().as_millis(),
            "on",
        )
    }

    /// What an acknowledged commit rests on; asked of each connection, since
    /// behind it there may be another server by now.
    pub(super) async fn assert_durable(&self, client: &Client) -> Result<(), NotDurable> {
        for (what, wanted) in [("fsync", "on"), ("full_page_writes", "on")] {
            let found = show(client, what).await?;
            if found != wanted {
                return Err(NotDurable::Setting {
                    what,
                    wanted,
                    found,
                });
            }
        }
        if self.postgres.unsynchronous_standbys {
            return Ok(());
        }
        // A backup that is being taken is no standby.
        let sql = "SELECT count(*) FROM pg_stat_replication \
                   WHERE state IS DISTINCT FROM 'backup'";
        let rows = client
            .query_typed(sql, &[])
            .await
            .map_err(StoreError::from)?;
        let standbys: i64 = rows.first().map_or(0, |row| row.get(0));
        let names = show(client, "synchronous_standby_names").await?;
        if standbys > 0 && names.trim().is_empty() {
            return Err(NotDurable::Setting {
                what: "synchronous_standby_names",
                wanted: "the name of a standby, since there are standbys",
                found: names,
            });
        }
        Ok(())
    }
}

/// Why a server is not taken.
pub(super) enum NotDurable {
    Setting {
        what: &'static str,
        wanted: &'static str,
        found: String,
    },
    Store(StoreError),
}

impl From<StoreError> for NotDurable {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl NotDurable {
    pub(super) fn at_open(self, open: impl FnOnce(&StoreError) -> OpenError) -> OpenError {
        match self {
            Self::Setting {
                what,
                wanted,
                found,
            } => OpenError::Durability {
                what,
                wanted,
                found,
            },
            Self::Store(error) => open(&error),
        }
    }

    pub(super) fn at_reopen(self) -> StoreError {
        match self {
            Self::Setting { what, found, .. } => {
                StoreError::Failed(format!("the server has `{what}` = `{found}`"))
            }
            Self::Store(error) => error,
        }
    }
}

async fn show(client: &Client, what: &str) -> Result<String, StoreError> {
    let said = client.simple_query(&format!("SHOW {what}")).await?;
    let value = said.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(value.unwrap_or_default().to_owned())
}

async fn carry<S, T>(connection: tokio_postgres::Connection<S, T>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    if let Err(error) = connection.await {
        tracing::warn!(%error, "a connection to the database ended");
    }
}

/// Waits for the database at most `patience`.
pub(super) async fn in_time<T, E: Into<StoreError>>(
    patience: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(patience, work).await {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(StoreError::Failed("the database does not answer".into())),
    }
}

/// The one row of a statement that answers with one at most.
pub(super) fn one(rows: Vec<Row>) -> Option<Row> {
    rows.into_iter().next()
}
