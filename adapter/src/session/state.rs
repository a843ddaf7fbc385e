//! The state of a session.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::session::record::{DeferredCall, ToolCallRecord};
use crate::session::snapshot::{SessionStatus, Usage};
use crate::session::step::{Attempt, Step, StepExecution};

/// Everything about a session that is not rows of messages, entries or past records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionState {
    /// Random; keeps the idempotency keys of equally named sessions apart.
    pub(crate) key: Uuid,
    pub(crate) turns_started: u64,
    pub(crate) turn: Option<Turn>,
    /// Accepted messages whose turns have not begun, oldest first.
    pub(crate) queue: VecDeque<String>,
    pub(crate) usage: Usage,
    pub(crate) last_turn_error: Option<String>,
}

/// A turn that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) steps_started: u64,
    pub(crate) current: StepExecution,
    pub(crate) suspension: Option<Suspension>,
    /// Final records of this turn's calls, in order.
    pub(crate) records: Vec<ToolCallRecord>,
}

/// What a deferral left behind, besides the stored transcript entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Suspension {
    pub(crate) claude_session_id: String,
    pub(crate) tool_use_id: String,
    /// How many entries of this turn are stored.
    pub(crate) entries: usize,
}

impl SessionState {
    pub(crate) fn new(key: Uuid) -> Self {
        Self {
            key,
            turns_started: 0,
            turn: None,
            queue: VecDeque::new(),
            usage: Usage::default(),
            last_turn_error: None,
        }
    }

    pub(crate) fn status(&self) -> SessionStatus {
        match &self.turn {
            None => SessionStatus::Idle,
            Some(turn) if turn.pending_approval().is_some() => SessionStatus::Waiting,
            Some(_) => SessionStatus::Running,
        }
    }

    /// Whether a worker has an attempt.
    pub(crate) fn is_handed_out(&self) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| matches!(turn.current.attempt, Attempt::HandedOut { .. }))
    }

    /// When the next attempt may start (milliseconds of the Unix epoch), if one may.
    pub(crate) fn due_at(&self) -> Option<u64> {
        let turn = self.turn.as_ref()?;
        match (&turn.current.step, turn.current.attempt) {
            (Step::AwaitToolApproval(_), _) | (_, Attempt::HandedOut { .. }) => None,
            (_, Attempt::Due { not_before, .. }) => Some(not_before),
        }
    }
}

impl Turn {
    /// The call that waits for a person, with the id of its interrupt.
    pub(crate) fn pending_approval(&self) -> Option<(&str, &DeferredCall)> {
        match &self.current.step {
            Step::AwaitToolApproval(call) => Some((&self.current.id, call)),
            Step::RunModel | Step::Call(_) | Step::ResumeTurn => None,
        }
    }

    /// The record that the resumed segment has to deliver.
    pub(crate) fn record_to_deliver(&self) -> Option<&ToolCallRecord> {
        let suspension = self.suspension.as_ref()?;
        self.records
            .iter()
            .find(|record| record.call.tool_use_id == suspension.tool_use_id)
    }

    /// The key under which all attempts of the current call run.
    pub(crate) fn idempotency_key(&self, session_key: Uuid) -> String {
        Uuid::new_v5(&session_key, self.current.id.as_bytes()).to_string()
    }
}
