//! Sessions whose stored state cannot be read. Workers leave them alone, so that nothing of them
//! is overwritten and the other sessions go on.

use rusqlite::{OptionalExtension as _, Transaction};

use crate::engine::contract::EngineError;
use crate::engine::embedded::rows::{SessionRows, next_change};

/// Sets a session aside, with the reason for whoever looks at it. Its state stays as it is.
///
/// Whoever had an attempt of it can commit it no longer.
pub(crate) fn set_aside(
    transaction: &Transaction<'_>,
    session_id: &str,
    reason: &str,
) -> Result<(), EngineError> {
    transaction.execute(
        "INSERT INTO set_aside (session_id, reason) VALUES (?1, ?2)
         ON CONFLICT (session_id) DO UPDATE SET reason = ?2",
        (session_id, reason),
    )?;
    transaction.execute(
        "UPDATE session SET owner = NULL, epoch = epoch + 1, revision = revision + 1, change = ?2
         WHERE session_id = ?1",
        (session_id, next_change(transaction)?),
    )?;
    Ok(())
}

/// Why the session is set aside, if it is.
pub(crate) fn reason(
    transaction: &Transaction<'_>,
    session_id: &str,
) -> Result<Option<String>, EngineError> {
    Ok(transaction
        .prepare_cached("SELECT reason FROM set_aside WHERE session_id = ?1")?
        .query_row([session_id], |row| row.get(0))
        .optional()?)
}

/// Gives the session back to the workers. Whether it was set aside.
pub(crate) fn take_up_again(
    transaction: &Transaction<'_>,
    session_id: &str,
) -> Result<bool, EngineError> {
    let rows = SessionRows::new(transaction, session_id);
    let mut row = rows.load()?;
    let removed =
        transaction.execute("DELETE FROM set_aside WHERE session_id = ?1", [session_id])?;
    if removed == 0 {
        return Ok(false);
    }
    // Whoever had an attempt in hand lost it: the next worker ends it as interrupted.
    row.owner = row.state.is_handed_out().then(|| "lost".to_owned());
    rows.save(&row)?;
    Ok(true)
}
