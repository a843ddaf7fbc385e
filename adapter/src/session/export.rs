//! Everything a session is, in a form that a worker in another language can go on from.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::session::event::{Effect, StepLogEntry};
use crate::session::message::{FrameworkItem, Message, MessageRole};
use crate::session::record::{DeferredCall, ToolCallRecord};
use crate::session::snapshot::{PendingInterrupt, Usage};
use crate::session::state::{SessionState, Suspension, Turn};
use crate::session::step::{Attempt, Step, StepExecution, StepType};

/// The version of the form that this crate writes and reads.
const VERSION: u32 = 1;

/// An exported session cannot be gone on from.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidExport(String);

impl InvalidExport {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// A whole session, to be moved to another state directory, machine or language.
///
/// Its JSON form is described in `docs/exported-sessions.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedSession {
    version: u32,
    session_id: String,
    session_key: Uuid,
    messages: Vec<ExportedMessage>,
    queue: Vec<String>,
    turns_started: u64,
    turn: Option<ExportedTurn>,
    pending_interrupts: Vec<PendingInterrupt>,
    tool_calls: Vec<ToolCallRecord>,
    steps: Vec<StepLogEntry>,
    usage: Usage,
    last_turn_error: Option<String>,
}

/// A stored message with its `framework_item`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportedMessage {
    pub(crate) sequence: u64,
    pub(crate) role: MessageRole,
    pub(crate) text: String,
    pub(crate) framework_item: FrameworkItem,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedTurn {
    turn_id: String,
    steps_started: u64,
    step: ExportedStep,
    run_state: Option<FrameworkRunState>,
    suspended_tool_call_id: Option<String>,
    tool_calls: Vec<ToolCallRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedStep {
    step_execution_id: String,
    #[serde(rename = "type")]
    step_type: StepType,
    call: Option<DeferredCall>,
    attempt: u32,
    attempt_state: AttemptState,
    /// Milliseconds of the Unix epoch.
    not_before: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AttemptState {
    Due,
    HandedOut,
    HandlerEntered,
}

/// The entries of a suspended turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameworkRunState {
    version: u32,
    session_id: String,
    turn_entries: Vec<Value>,
}

/// What a session has in rows.
pub(crate) struct SessionHistory {
    pub(crate) messages: Vec<ExportedMessage>,
    pub(crate) suspended_entries: Vec<Value>,
    pub(crate) tool_calls: Vec<ToolCallRecord>,
    pub(crate) steps: Vec<StepLogEntry>,
}

impl ExportedSession {
    pub(crate) fn new(session_id: &str, state: SessionState, history: SessionHistory) -> Self {
        let SessionHistory {
            messages,
            suspended_entries,
            tool_calls,
            steps,
        } = history;
        Self {
            version: VERSION,
            session_id: session_id.to_owned(),
            session_key: state.key,
            messages,
            queue: state.queue.into(),
            turns_started: state.turns_started,
            pending_interrupts: state.turn.iter().filter_map(PendingInterrupt::of).collect(),
            turn: state
                .turn
                .map(|turn| ExportedTurn::new(turn, suspended_entries)),
            tool_calls,
            steps,
            usage: state.usage,
            last_turn_error: state.last_turn_error,
        }
    }

    /// The id under which the session is imported.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// The session's state, and what has to be written with it.
    pub(crate) fn into_state(self) -> Result<(SessionState, Vec<Effect>), InvalidExport> {
        self.check()?;
        let mut effects: Vec<Effect> = self.messages.into_iter().map(append_message).collect();
        effects.extend(self.tool_calls.into_iter().map(Effect::ArchiveRecord));
        effects.extend(self.steps.into_iter().map(Effect::LogStep));
        let turn = match self.turn {
            Some(turn) => {
                let (turn, entries) = turn.into_turn()?;
                effects.push(Effect::AppendSuspendedEntries(entries));
                Some(turn)
            }
            None => None,
        };
        let interrupts: Vec<_> = turn.iter().filter_map(PendingInterrupt::of).collect();
        if interrupts != self.pending_interrupts {
            return Err(InvalidExport::new(
                "its pending interrupts are not those of its current Step",
            ));
        }
        let state = SessionState {
            key: self.session_key,
            turns_started: self.turns_started,
            turn,
            queue: self.queue.into(),
            usage: self.usage,
            last_turn_error: self.last_turn_error,
        };
        Ok((state, effects))
    }

    fn check(&self) -> Result<(), InvalidExport> {
        if self.version != VERSION {
            return Err(InvalidExport::new(format!(
                "its form has version {}, this program knows {VERSION}",
                self.version
            )));
        }
        let sequences = self.messages.iter().map(|message| message.sequence);
        if !sequences.eq(1..=self.messages.len() as u64) {
            return Err(InvalidExport::new(
                "its messages are not numbered from 1 without gaps",
            ));
        }
        if self.turn.is_none() && !self.queue.is_empty() {
            return Err(InvalidExport::new("messages wait although no turn runs"));
        }
        Ok(())
    }
}

impl ExportedTurn {
    fn new(turn: Turn, turn_entries: Vec<Value>) -> Self {
        let suspended_tool_call_id = turn
            .suspension
            .as_ref()
            .map(|suspension| suspension.tool_use_id.clone());
        Self {
            turn_id: turn.id,
            steps_started: turn.steps_started,
            step: ExportedStep::new(turn.current),
            run_state: turn.suspension.map(|suspension| FrameworkRunState {
                version: 1,
                session_id: suspension.claude_session_id,
                turn_entries,
            }),
            suspended_tool_call_id,
            tool_calls: turn.records,
        }
    }

    fn into_turn(self) -> Result<(Turn, Vec<Value>), InvalidExport> {
        let (suspension, entries) = match (self.run_state, self.suspended_tool_call_id) {
            (Some(run_state), Some(tool_use_id)) => {
                let suspension = Suspension {
                    claude_session_id: run_state.session_id,
                    tool_use_id,
                    entries: run_state.turn_entries.len(),
                };
                (Some(suspension), run_state.turn_entries)
            }
            (None, None) => (None, Vec::new()),
            _ => {
                return Err(InvalidExport::new(
                    "a suspended turn has both a run state and a suspended call, another one neither",
                ));
            }
        };
        let turn = Turn {
            id: self.turn_id,
            steps_started: self.steps_started,
            current: self.step.into_execution()?,
            suspension,
            records: self.tool_calls,
        };
        if turn.suspension.is_some() && turn.record_to_deliver().is_none() {
            match &turn.current.step {
                Step::AwaitToolApproval(_) | Step::Call(_) => {}
                Step::RunModel | Step::ResumeTurn => {
                    return Err(InvalidExport::new("the suspended call has no record"));
                }
            }
        }
        Ok((turn, entries))
    }
}

impl ExportedStep {
    fn new(execution: StepExecution) -> Self {
        let (attempt_state, not_before) = match execution.attempt {
            Attempt::Due { not_before, .. } => (AttemptState::Due, not_before),
            Attempt::HandedOut {
                handler_entered: false,
                ..
            } => (AttemptState::HandedOut, 0),
            Attempt::HandedOut {
                handler_entered: true,
                ..
            } => (AttemptState::HandlerEntered, 0),
        };
        Self {
            step_execution_id: execution.id,
            step_type: execution.step.step_type(),
            call: match execution.step {
                Step::AwaitToolApproval(call) | Step::Call(call) => Some(call),
                Step::RunModel | Step::ResumeTurn => None,
            },
            attempt: execution.attempt.number(),
            attempt_state,
            not_before,
        }
    }

    fn into_execution(self) -> Result<StepExecution, InvalidExport> {
        let step = match (self.step_type, self.call) {
            (StepType::RunModel, None) => Step::RunModel,
            (StepType::ResumeTurn, None) => Step::ResumeTurn,
            (StepType::AwaitToolApproval, Some(call)) => Step::AwaitToolApproval(call),
            (StepType::CallTool | StepType::CallSingleAttemptTool, Some(call)) => Step::Call(call),
            (step_type, _) => {
                return Err(InvalidExport::new(format!(
                    "a call belongs to the Steps that wait for it or run it, not to others; this is {}",
                    step_type.as_str()
                )));
            }
        };
        if step.step_type() != self.step_type {
            return Err(InvalidExport::new(
                "the current Step and its call differ in how often it may be attempted",
            ));
        }
        let number = self.attempt;
        let attempt = match self.attempt_state {
            AttemptState::Due => Attempt::Due {
                number,
                not_before: self.not_before,
            },
            AttemptState::HandedOut | AttemptState::HandlerEntered => Attempt::HandedOut {
                number,
                handler_entered: self.attempt_state == AttemptState::HandlerEntered,
            },
        };
        Ok(StepExecution {
            id: self.step_execution_id,
            step,
            attempt,
        })
    }
}

fn append_message(message: ExportedMessage) -> Effect {
    Effect::AppendMessage(Message {
        role: message.role,
        text: message.text,
        message_id: None,
        framework_item: message.framework_item,
    })
}
