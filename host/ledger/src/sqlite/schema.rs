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
        call_id     TEXT, -- NULL too where the execution is that call's
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
    // 3: settled answers, kept for a while; tasks, found by their agents.
    "
    CREATE TABLE answers (
        execution  INTEGER PRIMARY KEY REFERENCES executions (number),
        expires_us INTEGER NOT NULL,
        bytes      BLOB    NOT NULL
    ) STRICT;
    CREATE INDEX answers_expiry ON answers (expires_us);

    CREATE TABLE answers_kept (
        one   INTEGER PRIMARY KEY CHECK (one = 1),
        count INTEGER NOT NULL,
        bytes INTEGER NOT NULL
    ) STRICT;
    INSERT INTO answers_kept (one, count, bytes) VALUES (1, 0, 0);

    CREATE INDEX executions_task ON executions (agent, task) WHERE task IS NOT NULL;
    ",
    // 4: salts of executions that are blinded; those that are there are not.
    "
    ALTER TABLE executions ADD COLUMN salt BLOB CHECK (salt IS NULL OR length(salt) = 32);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn first_version() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(MIGRATIONS[0]).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        connection
            .execute_batch(
                "INSERT INTO ledger (one, log_id, head) VALUES (1, 'log', x'00');
                 INSERT INTO incarnations (started_us) VALUES (1);
                 INSERT INTO agents (method, issuer, subject, held) VALUES ('t', '', 'a', 500);",
            )
            .unwrap();
        for number in 1..=500 {
            connection
                .execute(
                    "INSERT INTO executions VALUES (?1, 1, 'e' || ?1, 'c' || ?1, 'exact@1.0.0', \
                     x'00', x'01', 's', x'02', 't', NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, \
                     'settled', 'succeeded', 'response-received', 1, 1, NULL, x'', NULL, NULL, \
                     2, 1, x'03', 1, x'03', 5, 6)",
                    [number],
                )
                .unwrap();
            connection
                .execute(
                    "INSERT INTO entries VALUES (?1, x'03', 5, ?1, 1, 'c' || ?1, NULL, x'7b7d')",
                    [number],
                )
                .unwrap();
        }
        connection
    }

    /// The columns that executions had in the first version.
    const FIRST_WIDTH: usize = 34;

    fn rows(connection: &Connection) -> Vec<String> {
        let mut all = Vec::new();
        for table in ["ledger", "incarnations", "agents", "executions", "entries"] {
            let mut statement = connection
                .prepare(&format!("SELECT * FROM {table} ORDER BY 1"))
                .unwrap();
            // What a later version added is empty in rows of an older one.
            let width = statement.column_count();
            let mut found = statement.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                let mut values: Vec<_> = (0..width)
                    .map(|column| format!("{:?}", row.get_ref(column)))
                    .collect();
                if table == "executions" {
                    assert!(values.get(FIRST_WIDTH).is_none_or(|v| v == "Ok(Null)"));
                    values.truncate(FIRST_WIDTH);
                }
                all.push(format!("{table}: {}", values.join(" ")));
            }
        }
        all
    }

    #[test]
    fn an_upgrade_keeps_every_row() {
        let mut connection = first_version();
        let before = rows(&connection);
        assert!(before.len() > 1_000);
        migrate(&mut connection).unwrap();
        assert_eq!(version(&connection).unwrap(), newest());
        assert_eq!(rows(&connection), before);
        migrate(&mut connection).unwrap();
        assert_eq!(
            rows(&connection),
            before,
            "what is up to date is left alone"
        );
    }

    #[test]
    fn an_upgrade_that_fails_leaves_the_older_version_with_every_row() {
        let mut connection = first_version();
        let before = rows(&connection);
        // The last statement of the migration meets a table in its way.
        connection
            .execute_batch("CREATE TABLE retained (x INTEGER)")
            .unwrap();
        assert!(migrate(&mut connection).is_err());
        assert_eq!(version(&connection).unwrap(), 1);
        assert_eq!(rows(&connection), before);
        connection.execute_batch("DROP TABLE retained").unwrap();
        migrate(&mut connection).unwrap();
        assert_eq!(
            (version(&connection).unwrap(), rows(&connection)),
            (newest(), before)
        );
    }
}
