//! The tables, and how a database of an older version becomes one of this.
//!
//! Each migration runs in a transaction of its own together with the version
//! that it leads to; none ever deletes or rewrites a row of `executions` or
//! `entries`. Digests are kept as their 32 bytes.

use rusqlite::{Connection, TransactionBehavior};

/// The migrations, in order; the version of a database is how many it has had.
pub(super) const MIGRATIONS: &[&str] = &[
    // 1: executions and their evidence.
    "
    CREATE TABLE ledger (
        one           INTEGER PRIMARY KEY CHECK (one = 1),
        log_id        TEXT    NOT NULL,
        head          BLOB    NOT NULL,
        policy_epoch  INTEGER NOT NULL DEFAULT 0,
        catalog_epoch INTEGER NOT NULL DEFAULT 0,
        anchored      INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE incarnations (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        started_us INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE agents (
        number  INTEGER PRIMARY KEY,
        method  TEXT    NOT NULL,
        issuer  TEXT    NOT NULL,
        subject TEXT    NOT NULL,
        held    INTEGER NOT NULL DEFAULT 0,
        UNIQUE (method, issuer, subject)
    ) STRICT;

    CREATE TABLE executions (
        number            INTEGER PRIMARY KEY,
        agent             INTEGER NOT NULL REFERENCES agents (number),
        execution_id      TEXT,
        call_id           TEXT    NOT NULL UNIQUE,
        profile           TEXT    NOT NULL,
        component         BLOB    NOT NULL,
        binding           BLOB    NOT NULL,
        server            TEXT    NOT NULL,
        server_digest     BLOB    NOT NULL,
        tool              TEXT    NOT NULL,
        client_digest     BLOB,
        workflow_id       TEXT,
        represented_user  TEXT,
        authority         TEXT,
        policy_digest     BLOB,
        catalog           BLOB,
        policy_epoch      INTEGER NOT NULL,
        catalog_epoch     INTEGER NOT NULL,
        state             TEXT    NOT NULL,
        outcome           TEXT,
        boundary          TEXT    NOT NULL,
        owner             INTEGER NOT NULL REFERENCES incarnations (number),
        fence             INTEGER NOT NULL,
        lease_expires_us  INTEGER,
        claimed           BLOB    NOT NULL,
        issued            BLOB,
        task              TEXT,
        chain_length      INTEGER NOT NULL,
        last_sequence     INTEGER NOT NULL,
        last_hash         BLOB    NOT NULL,
        terminal_sequence INTEGER,
        terminal_hash     BLOB,
        reserved_us       INTEGER NOT NULL,
        changed_us        INTEGER NOT NULL,
        CHECK ((state = 'settled') = (outcome IS NOT NULL))
    ) STRICT;

    CREATE UNIQUE INDEX executions_key ON executions (agent, execution_id)
        WHERE execution_id IS NOT NULL;
    CREATE INDEX executions_open ON executions (state, number) WHERE state <> 'settled';

    CREATE TABLE entries (
        sequence    INTEGER PRIMARY KEY,
        hash        BLOB    NOT NULL,
        time_us     INTEGER NOT NULL,
        execution   INTEGER REFERENCES executions (number),
        agent       INTEGER REFERENCES agents (number),
        call_id     TEXT,
        workflow_id TEXT,
        bytes       BLOB    NOT NULL
    ) STRICT;

    CREATE INDEX entries_execution ON entries (execution, sequence)
        WHERE execution IS NOT NULL;
    CREATE INDEX entries_agent ON entries (agent, sequence) WHERE agent IS NOT NULL;
    CREATE INDEX entries_call ON entries (call_id, sequence) WHERE call_id IS NOT NULL;
    CREATE INDEX entries_workflow ON entries (workflow_id, sequence)
        WHERE workflow_id IS NOT NULL;

    CREATE TABLE checkpoints (
        size INTEGER PRIMARY KEY,
        text TEXT NOT NULL
    ) STRICT;
    ",
    // 2: rounds, whose states are bound to the agent that received them, and
    // whose last answer is given again.
    "
    CREATE INDEX executions_issued ON executions (agent, issued) WHERE issued IS NOT NULL;

    CREATE TABLE retained (
        execution INTEGER PRIMARY KEY REFERENCES executions (number),
        bytes     BLOB    NOT NULL
    ) STRICT;
    ",
];

/// The version of a database that has had every migration.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The version of a database; 0 for one without tables.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a database of an older version up to this one.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let from = usize::try_from(version(connection)?).unwrap_or(usize::MAX);
    for (done, migration) in MIGRATIONS.iter().enumerate().skip(from) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(migration)?;
        let version = i64::try_from(done).unwrap_or(i64::MAX).saturating_add(1);
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}
