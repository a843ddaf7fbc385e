//! What a runner asks of the harness, and tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent::AgentOptions;
use crate::scenario::GatePhase;

/// `tool/call`, from the runner: a handler of a custom tool was entered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallParams {
    /// The tool's own name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The tool Step it runs in; `null` for a read inside the segment.
    pub execution: Option<ToolExecution>,
}

/// The tool Step a handler runs in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolExecution {
    /// Opaque; the same for all attempts of one call.
    pub idempotency_key: String,
    /// From 1.
    pub attempt: u32,
    /// The tool use.
    pub tool_use_id: String,
}

/// Answer to `tool/call`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallResult {
    /// MCP content blocks.
    pub content: Vec<Value>,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// `hook/call`, from the runner: an application hook was called.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookCallParams {
    /// Hook event.
    pub event: String,
    /// What the CLI handed over.
    pub input: Value,
}

/// Answer to `hook/call`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookCallResult {
    /// What the hook returns to the CLI.
    pub output: Value,
}

/// `options/call`, from the runner: the options factory was called.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionsCallParams {
    /// The session.
    pub flow_id: String,
    /// The turn.
    pub turn_id: String,
    /// The RunModel attempt, from 1.
    pub attempt: u32,
}

/// Answer to `options/call`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionsCallResult {
    /// The options of this attempt.
    pub options: AgentOptions,
}

/// `step/gate`, from the runner: a Step is at a commit boundary and goes on when it has the answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepGateParams {
    /// The session.
    pub session_id: String,
    /// Step type.
    pub step: String,
    /// The same for all attempts of one Step.
    pub step_execution_id: String,
    /// From 1.
    pub attempt: u32,
    /// Which boundary.
    pub at: GatePhase,
}

/// `event`, from the runner: one live event.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventParams {
    /// The session.
    pub session_id: String,
    /// Kind; unknown kinds are ignored.
    pub event: String,
    /// The turn.
    pub turn_id: Option<String>,
    /// The Step.
    pub step_execution_id: Option<String>,
    /// The attempt.
    pub attempt: Option<u32>,
    /// By kind.
    pub data: Map<String, Value>,
}

/// `session/changed`, from the runner.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionChangedParams {
    /// The session.
    pub session_id: String,
    /// The snapshot's new revision.
    pub revision: u64,
}
