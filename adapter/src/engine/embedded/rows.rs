//! Rows of a session, read and written within one transaction.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::engine::contract::EngineError;
use crate::segment::conversation::StoredTranscript;
use crate::session::event::{Effect, SessionEvent, StepLogEntry};
use crate::session::export::{ExportedMessage, SessionHistory};
use crate::session::message::{FrameworkItem, Message};
use crate::session::record::ToolCallRecord;
use crate::session::snapshot::{SnapshotMessage, SnapshotStep, SnapshotToolCall};
use crate::session::state::SessionState;

/// A session's row.
pub(crate) struct SessionRow {
    pub(crate) flow_type: String,
    pub(crate) state: SessionState,
    pub(crate) revision: u64,
    pub(crate) owner: Option<String>,
    pub(crate) epoch: u64,
}

/// A [`FrameworkItem::ClaudeTranscript`] whose entries are left as they are.
#[derive(Deserialize)]
struct StoredItem {
    session_id: String,
    entries: Vec<Box<RawValue>>,
}

/// Access to one session's rows.
pub(crate) struct SessionRows<'a> {
    transaction: &'a Transaction<'a>,
    session_id: &'a str,
}

impl<'a> SessionRows<'a> {
    pub(crate) fn new(transaction: &'a Transaction<'a>, session_id: &'a str) -> Self {
        Self {
            transaction,
            session_id,
        }
    }

    pub(crate) fn find(&self) -> Result<Option<SessionRow>, EngineError> {
        let row = self
            .transaction
            .prepare_cached(
                "SELECT state, revision, owner, epoch, flow_type FROM session WHERE session_id = ?1",
            )?
            .query_row([self.session_id], |row| {
                Ok(SessionRow {
                    state: json_column(row, 0)?,
                    revision: row.get(1)?,
                    owner: row.get(2)?,
                    epoch: row.get(3)?,
                    flow_type: row.get(4)?,
                })
            })
            .optional();
        row.map_err(|error| self.corrupt_or(error))
    }

    /// The count of the session's hand-outs, which tells a late commit; its state is not read.
    pub(crate) fn epoch(&self) -> Result<Option<u64>, EngineError> {
        Ok(self
            .transaction
            .prepare_cached("SELECT epoch FROM session WHERE session_id = ?1")?
            .query_row([self.session_id], |row| row.get(0))
            .optional()?)
    }

    pub(crate) fn load(&self) -> Result<SessionRow, EngineError> {
        self.find()?
            .ok_or_else(|| EngineError::UnknownSession(self.session_id.to_owned()))
    }

    pub(crate) fn save(&self, row: &SessionRow) -> Result<(), EngineError> {
        let change = next_change(self.transaction)?;
        self.transaction
            .prepare_cached(
                "INSERT INTO session (session_id, revision, change, state, due_at, owner, epoch,
                                      flow_type)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT (session_id) DO UPDATE SET revision = ?2, change = ?3, state = ?4,
                 due_at = ?5, owner = ?6, epoch = ?7",
            )?
            .execute(params![
                self.session_id,
                row.revision + 1,
                change,
                json_text(&row.state)?,
                row.state.due_at(),
                row.owner,
                row.epoch,
                row.flow_type,
            ])?;
        Ok(())
    }

    /// Writes what an event brought about and returns the live events it asks for.
    pub(crate) fn write(&self, effects: Vec<Effect>) -> Result<Vec<SessionEvent>, EngineError> {
        let mut events = Vec::new();
        for effect in effects {
            match effect {
                Effect::AppendMessage(message) => events.push(self.append_message(message)?),
                Effect::AppendSuspendedEntries(entries) => {
                    for entry in entries {
                        self.append("suspended_entry", "entry", &json_text(&entry)?)?;
                    }
                }
                Effect::ClearSuspendedEntries => {
                    self.transaction
                        .prepare_cached("DELETE FROM suspended_entry WHERE session_id = ?1")?
                        .execute([self.session_id])?;
                }
                Effect::ArchiveRecord(record) => {
                    self.append("tool_call", "record", &json_text(&record)?)?;
                }
                Effect::LogStep(entry) => {
                    self.transaction
                        .prepare_cached(
                            "INSERT INTO step_log SELECT ?1, coalesce(max(position), 0) + 1,
                             ?2, ?3, ?4, ?5 FROM step_log WHERE session_id = ?1",
                        )?
                        .execute(params![
                            self.session_id,
                            entry.step_execution_id,
                            json_text(&entry.step_type)?,
                            entry.attempt,
                            json_text(&entry.outcome)?,
                        ])?;
                }
                Effect::Publish(event) => events.push(event),
            }
        }
        Ok(events)
    }

    fn append_message(&self, message: Message) -> Result<SessionEvent, EngineError> {
        let is_prompt = matches!(message.framework_item, FrameworkItem::UserPrompt { .. });
        let sequence: u64 = self
            .transaction
            .prepare_cached(
                "INSERT INTO message SELECT ?1, coalesce(max(sequence), 0) + 1, ?2, ?3, ?4, ?5
                 FROM message WHERE session_id = ?1 RETURNING sequence",
            )?
            .query_row(
                params![
                    self.session_id,
                    json_text(&message.role)?,
                    message.text,
                    is_prompt,
                    json_text(&message.framework_item)?,
                ],
                |row| row.get(0),
            )?;
        Ok(SessionEvent::MessageCommitted {
            sequence,
            message_id: message.message_id,
        })
    }

    fn append(&self, table: &str, column: &str, value: &str) -> Result<(), EngineError> {
        self.transaction
            .prepare_cached(&format!(
                "INSERT INTO {table} (session_id, position, {column})
                 SELECT ?1, coalesce(max(position), 0) + 1, ?2 FROM {table} WHERE session_id = ?1"
            ))?
            .execute(params![self.session_id, value])?;
        Ok(())
    }

    /// The transcript of all completed turns, if one completed.
    pub(crate) fn transcript(&self) -> Result<Option<StoredTranscript>, EngineError> {
        let items: Vec<StoredItem> = self.column(
            "SELECT framework_item FROM message WHERE session_id = ?1 AND NOT is_prompt
             ORDER BY sequence",
        )?;
        let mut transcript: Option<StoredTranscript> = None;
        for item in items {
            let known = transcript.get_or_insert_with(|| StoredTranscript {
                claude_session_id: String::new(),
                entries: Vec::new(),
            });
            known.claude_session_id = item.session_id;
            known.entries.extend(item.entries);
        }
        Ok(transcript)
    }

    /// The prompts and notes that no completed turn has seen, oldest first.
    pub(crate) fn unseen_prompts(&self) -> Result<Vec<String>, EngineError> {
        let items: Vec<FrameworkItem> = self.column(
            "SELECT framework_item FROM message WHERE session_id = ?1 AND is_prompt
             AND sequence > coalesce((SELECT sequence FROM message
                                      WHERE session_id = ?1 AND NOT is_prompt
                                      ORDER BY sequence DESC LIMIT 1), 0)
             ORDER BY sequence",
        )?;
        Ok(items
            .into_iter()
            .filter_map(|item| match item {
                FrameworkItem::UserPrompt { text } => Some(text),
                FrameworkItem::ClaudeTranscript { .. } => None,
            })
            .collect())
    }

    pub(crate) fn suspended_entries(&self) -> Result<Vec<Value>, EngineError> {
        self.column("SELECT entry FROM suspended_entry WHERE session_id = ?1 ORDER BY position")
    }

    /// All rows of the session, for its export.
    pub(crate) fn history(&self) -> Result<SessionHistory, EngineError> {
        Ok(SessionHistory {
            messages: self.rows(
                "SELECT sequence, role, text, framework_item FROM message
                 WHERE session_id = ?1 ORDER BY sequence",
                |row| {
                    Ok(ExportedMessage {
                        sequence: row.get(0)?,
                        role: json_column(row, 1)?,
                        text: row.get(2)?,
                        framework_item: json_column(row, 3)?,
                    })
                },
            )?,
            suspended_entries: self.suspended_entries()?,
            tool_calls: self.records()?,
            steps: self.rows(
                "SELECT step_execution_id, step_type, attempt, outcome FROM step_log
                 WHERE session_id = ?1 ORDER BY position",
                |row| {
                    Ok(StepLogEntry {
                        step_execution_id: row.get(0)?,
                        step_type: json_column(row, 1)?,
                        attempt: row.get(2)?,
                        outcome: json_column(row, 3)?,
                    })
                },
            )?,
        })
    }

    pub(crate) fn messages(&self) -> Result<Vec<SnapshotMessage>, EngineError> {
        self.rows(
            "SELECT sequence, role, text FROM message WHERE session_id = ?1 ORDER BY sequence",
            |row| {
                Ok(SnapshotMessage {
                    sequence: row.get(0)?,
                    role: json_column(row, 1)?,
                    text: row.get(2)?,
                })
            },
        )
    }

    pub(crate) fn archived_calls(&self) -> Result<Vec<SnapshotToolCall>, EngineError> {
        let records = self.records()?;
        Ok(records.into_iter().map(SnapshotToolCall::from).collect())
    }

    fn records(&self) -> Result<Vec<ToolCallRecord>, EngineError> {
        self.column("SELECT record FROM tool_call WHERE session_id = ?1 ORDER BY position")
    }

    pub(crate) fn steps(&self) -> Result<Vec<SnapshotStep>, EngineError> {
        self.rows(
            "SELECT step_type, attempt, outcome FROM step_log WHERE session_id = ?1
             ORDER BY position",
            |row| {
                Ok(SnapshotStep {
                    step_type: json_column(row, 0)?,
                    attempt: row.get(1)?,
                    outcome: json_column(row, 2)?,
                })
            },
        )
    }

    fn column<T: DeserializeOwned>(&self, sql: &str) -> Result<Vec<T>, EngineError> {
        self.rows(sql, |row| json_column(row, 0))
    }

    fn rows<T>(
        &self,
        sql: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, EngineError> {
        let mut statement = self.transaction.prepare_cached(sql)?;
        let rows = statement.query_map([self.session_id], read)?;
        rows.collect::<rusqlite::Result<_>>()
            .map_err(|error| self.corrupt_or(error))
    }

    fn corrupt_or(&self, error: rusqlite::Error) -> EngineError {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => EngineError::Corrupt {
                session_id: self.session_id.to_owned(),
                reason: error.to_string(),
            },
            other => EngineError::Database(other),
        }
    }
}

/// Counts a change of the engine's sessions.
pub(crate) fn next_change(transaction: &Transaction<'_>) -> Result<u64, EngineError> {
    Ok(transaction
        .prepare_cached("UPDATE counter SET change = change + 1 RETURNING change")?
        .query_row([], |row| row.get(0))?)
}

fn json_column<T: DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
    })
}

fn json_text(value: &impl Serialize) -> Result<String, EngineError> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)).into())
}
