//! A session as its adapter states it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scenario::SessionStatus;

/// A session as its adapter states it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The session.
    pub session_id: String,
    /// Rises with every change.
    pub revision: u64,
    /// What it does.
    pub status: SessionStatus,
    /// The turn that runs or waits.
    pub turn_id: Option<String>,
    /// All messages.
    pub messages: Vec<SnapshotMessage>,
    /// What waits for a person.
    pub pending_interrupts: Vec<PendingInterrupt>,
    /// Final records of calls that left a segment.
    pub tool_calls: Vec<ToolCallRecord>,
    /// Step attempts, oldest first.
    pub steps: Vec<StepRecord>,
    /// Sum over the session.
    pub usage: Usage,
    /// Why the last turn failed, if it did.
    pub last_turn_error: Option<String>,
}

/// One message of a session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotMessage {
    /// Place in the session.
    pub sequence: u64,
    /// Who speaks.
    pub role: MessageRole,
    /// Its text.
    pub text: String,
    /// The stored form, when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework_item: Option<Value>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// A call that waits for a person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingInterrupt {
    /// What `session/resolve` names.
    pub interrupt_id: String,
    /// `tool_approval`.
    pub kind: String,
    /// The tool's own name.
    pub tool: String,
    /// What would run.
    pub arguments: Value,
    /// The tool use.
    pub tool_call_id: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// With a result.
    Succeeded,
    /// With an error, or without running.
    Failed,
    /// A person said no.
    Rejected,
    /// It started; nobody knows whether it took effect.
    OutcomeUnknown,
}

/// A final record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallRecord {
    /// The tool use.
    pub tool_call_id: String,
    /// The tool's own name.
    pub tool: String,
    /// What ran.
    pub arguments: Value,
    /// How it ended.
    pub outcome: CallOutcome,
    /// What the model is told.
    pub output: String,
}

/// One attempt of a Step.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// Step type, such as `RunModel`.
    #[serde(rename = "type")]
    pub step_type: String,
    /// From 1.
    pub attempt: u32,
    /// `succeeded`, `failed` or `interrupted`.
    pub outcome: StepOutcome,
}

/// How an attempt of a Step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// Committed.
    Succeeded,
    /// With an error.
    Failed,
    /// Its worker died or was stopped.
    Interrupted,
}

/// Token figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Input tokens, cache reads and writes included.
    pub input_tokens: u64,
    /// Cache reads.
    pub cached_input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Distinct assistant messages.
    pub model_calls: u64,
}
