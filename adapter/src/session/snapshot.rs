//! What a client sees of a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session::message::MessageRole;
use crate::session::record::ToolCallOutcome;
use crate::session::state::Turn;
use crate::session::step::{StepOutcome, StepType};

/// Whether a session works, waits, or has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// No turn.
    Idle,
    /// A turn whose next Step needs nobody.
    Running,
    /// A turn that waits for a person.
    Waiting,
}

/// Tokens and model calls over all segments of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cache reads and cache writes included.
    pub input_tokens: u64,
    /// The cache reads among the input tokens.
    pub cached_input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Distinct assistant messages.
    pub model_calls: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.output_tokens += other.output_tokens;
        self.model_calls += other.model_calls;
    }
}

/// One stored message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotMessage {
    /// Counts from 1, without gaps.
    pub sequence: u64,
    /// Who speaks.
    pub role: MessageRole,
    /// The text of the message; empty for a message of tool uses alone.
    pub text: String,
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingInterrupt {
    /// What a resolution names.
    pub interrupt_id: String,
    /// Why the session waits.
    pub kind: InterruptKind,
    /// The tool to be run.
    pub tool: String,
    /// The arguments it will run with.
    pub arguments: Value,
    /// The model's id of the call.
    pub tool_call_id: String,
}

impl PendingInterrupt {
    /// What a turn waits for.
    pub(crate) fn of(turn: &Turn) -> Option<Self> {
        let (interrupt_id, call) = turn.pending_approval()?;
        Some(Self {
            interrupt_id: interrupt_id.to_owned(),
            kind: InterruptKind::ToolApproval,
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            tool_call_id: call.tool_use_id.clone(),
        })
    }
}

/// Why a session waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptKind {
    /// A tool call needs approval.
    ToolApproval,
}

/// The final record of one call that left the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotToolCall {
    /// The model's id of the call.
    pub tool_call_id: String,
    /// The own name of a custom tool, or the CLI's name.
    pub tool: String,
    /// The arguments that were approved and ran.
    pub arguments: Value,
    /// How the call ended.
    pub outcome: ToolCallOutcome,
    /// The text that the model reads.
    pub output: String,
}

/// One ended attempt of one Step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotStep {
    /// The kind of Step.
    #[serde(rename = "type")]
    pub step_type: StepType,
    /// Counts from 1 within one Step execution.
    pub attempt: u32,
    /// How the attempt ended.
    pub outcome: StepOutcome,
}

/// What a client sees of a session at one revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The session.
    pub session_id: String,
    /// Rises with every change.
    pub revision: u64,
    /// Whether the session works, waits, or has nothing to do.
    pub status: SessionStatus,
    /// The current turn.
    pub turn_id: Option<String>,
    /// Stored messages, oldest first.
    pub messages: Vec<SnapshotMessage>,
    /// Calls that wait for a person.
    pub pending_interrupts: Vec<PendingInterrupt>,
    /// Final records, oldest first.
    pub tool_calls: Vec<SnapshotToolCall>,
    /// Ended attempts, oldest first.
    pub steps: Vec<SnapshotStep>,
    /// Totals over all segments.
    pub usage: Usage,
    /// Why the last turn failed, if it did.
    pub last_turn_error: Option<String>,
    /// Why no worker goes on with the session, if none does: something stored of it cannot be
    /// read. See [`SessionClient::take_up_again`](crate::SessionClient::take_up_again).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
}

impl From<crate::session::record::ToolCallRecord> for SnapshotToolCall {
    fn from(record: crate::session::record::ToolCallRecord) -> Self {
        Self {
            tool_call_id: record.call.tool_use_id,
            tool: record.call.tool,
            arguments: record.call.arguments,
            outcome: record.outcome,
            output: record.output,
        }
    }
}
