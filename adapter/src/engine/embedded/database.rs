//! The database file: its schema, its version, and that it is ours.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use crate::engine::contract::EngineError;

/// The name of the database in the state directory.
pub(crate) const FILE_NAME: &str = "session.db";

/// Marks the file as this engine's.
const APPLICATION_ID: i32 = 0x5e55_10ab;

/// The migrations, oldest first; the file's version counts those that were applied.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE session (
        session_id TEXT PRIMARY KEY,
        revision INTEGER NOT NULL,
        -- the engine-wide count of changes at this session's newest one
        change INTEGER NOT NULL,
        state TEXT NOT NULL,
        -- when the next attempt may start, in milliseconds of the Unix epoch
        due_at INTEGER,
        -- the worker that has the current attempt
        owner TEXT,
        epoch INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX session_due ON session (due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX session_owner ON session (owner) WHERE owner IS NOT NULL;
    CREATE INDEX session_change ON session (change);

    CREATE TABLE message (
        session_id TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        role TEXT NOT NULL,
        text TEXT NOT NULL,
        is_prompt INTEGER NOT NULL,
        framework_item TEXT NOT NULL,
        PRIMARY KEY (session_id, sequence)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE suspended_entry (
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        entry TEXT NOT NULL,
        PRIMARY KEY (session_id, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE tool_call (
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        record TEXT NOT NULL,
        PRIMARY KEY (session_id, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE step_log (
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        step_execution_id TEXT NOT NULL,
        step_type TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        PRIMARY KEY (session_id, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE worker (
        worker TEXT PRIMARY KEY,
        seen_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE counter (change INTEGER NOT NULL) STRICT;
    INSERT INTO counter VALUES (0);
",
    "
    ALTER TABLE session ADD COLUMN flow_type TEXT NOT NULL DEFAULT 'ClaudeAgent';

    -- sessions whose stored state cannot be read
    CREATE TABLE set_aside (
        session_id TEXT PRIMARY KEY,
        reason TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
",
];

/// Opens the database of a state directory, making or migrating it as needed.
pub(crate) fn open(directory: &Path) -> Result<Connection, EngineError> {
    let path = directory.join(FILE_NAME);
    let refused = |reason: String| EngineError::StateDirectory {
        path: path.clone(),
        reason,
    };
    let mut connection = Connection::open(&path).map_err(|error| refused(error.to_string()))?;
    connection.busy_timeout(Duration::from_secs(30))?;
    configure(&connection).map_err(|error| refused(error.to_string()))?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| refused(error.to_string()))?;
    let application: i32 = transaction.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: usize = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let objects: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && (application != 0 || objects != 0) {
        return Err(refused("the file belongs to another program".to_owned()));
    }
    if version > MIGRATIONS.len() {
        return Err(refused(format!(
            "the file has schema version {version}, this program knows {}; use a newer program",
            MIGRATIONS.len()
        )));
    }
    for migration in &MIGRATIONS[version..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
    transaction.commit()?;
    Ok(connection)
}

/// Full synchronisation: the hand-out of an attempt must survive a loss of power too.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_first_version_is_brought_up_to_date_with_its_sessions() {
        let directory = tempfile::tempdir().unwrap();
        let old = Connection::open(directory.path().join(FILE_NAME)).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        old.pragma_update(None, "application_id", APPLICATION_ID)
            .unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        old.execute(
            "INSERT INTO session VALUES ('old', 1, 1, '{}', NULL, NULL, 0)",
            [],
        )
        .unwrap();
        drop(old);
        let migrated = open(directory.path()).unwrap();
        let (session, flow_type): (String, String) = migrated
            .query_row("SELECT session_id, flow_type FROM session", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(session, "old");
        assert_eq!(flow_type, crate::agent::definition::DEFAULT_FLOW_TYPE);
        let version: usize = migrated
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        assert_eq!(version, MIGRATIONS.len());
    }
}
