//! Every message of the runner protocol.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version this harness speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// What a runner's process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Asks, approves and reads; never killed.
    Client,
    /// Does the work; killed at will.
    Worker,
    /// Both in one process, for a runner without the capability `split`.
    Both,
}

/// An axis on which adapters differ; a scenario states which it requires.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// A session outlives the process that runs it.
    Durable,
    /// A tool call can wait for a person.
    Approvals,
    /// Client and worker are processes of their own on one state directory.
    Split,
    /// Commit boundaries are announced by `step/gate`.
    Gates,
    /// Live events are sent.
    Events,
    /// Sessions can be exported and imported in the stored formats.
    Wire,
    /// The options of each attempt are asked for by `options/call`.
    OptionsFactory,
    /// Tool sources whose every call leaves the segment.
    Connectors,
    /// Several workers share one state directory.
    MultiWorker,
    /// A running turn can be cancelled.
    Cancel,
}

impl Capability {
    /// The name used on the wire and in scenarios.
    #[must_use]
    pub fn wire_name(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// `initialize`: the first request of each process.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeParams {
    /// Version the harness speaks.
    pub protocol_version: u32,
    /// What this process is for.
    pub role: Role,
    /// The directory that all processes of the cell share; all durable state goes here.
    pub state_dir: String,
    /// The CLI to start.
    pub cli: CliCommand,
    /// Name of this process, unique in the cell.
    pub worker_id: String,
}

/// How the adapter is to start the Claude Code CLI.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CliCommand {
    /// Absolute path of the executable.
    pub path: String,
    /// The application's environment for it: all of it goes to the CLI.
    pub env: BTreeMap<String, String>,
}

/// Answer to `initialize`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeResult {
    /// Version the runner speaks.
    pub protocol_version: u32,
    /// The process that does the work, not a wrapper around it.
    pub pid: i32,
    /// The runner.
    pub runner: RunnerIdentity,
    /// The adapter behind it.
    pub adapter: AdapterIdentity,
    /// What it can do.
    pub capabilities: Vec<Capability>,
}

/// Who the runner is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunnerIdentity {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Programming language.
    pub language: String,
}

/// Who the adapter is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterIdentity {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// The Agent SDK it builds on, if any.
    pub sdk: Option<String>,
    /// Version of that SDK.
    pub sdk_version: Option<String>,
}

/// `agent/define`: the agent to build.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// Custom tools; their handlers are in the harness (`tool/call`).
    pub tools: Vec<ToolDefinition>,
    /// Policies of CLI tools and of tools of external MCP servers, by name.
    pub tool_policies: BTreeMap<String, ToolPolicy>,
    /// The application's options.
    pub options: AgentOptions,
    /// Application hooks that exist (`hook/call`).
    pub hooks: Vec<HookDefinition>,
    /// Tool sources: every call of their tools leaves the segment.
    pub tool_sources: Vec<ToolSource>,
}

/// A custom tool.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// Its own name, without any `mcp__` prefix.
    pub name: String,
    /// What the model is told.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// What it does to the world; without one the annotations classify it.
    pub effect: Option<Effect>,
    /// Whether a person is asked; without one the effect decides.
    pub approval: Option<Approval>,
    /// MCP annotations.
    pub annotations: Option<Map<String, Value>>,
}

/// A policy for a tool that runs inside the CLI.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPolicy {
    /// What it does to the world.
    pub effect: Effect,
    /// Whether a person is asked; without one the effect decides.
    pub approval: Option<Approval>,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing.
    Read,
    /// A write that may be repeated under one idempotency key.
    IdempotentWrite,
    /// A write that must not be repeated.
    NonIdempotentWrite,
    /// Unknown, treated as a write that must not be repeated.
    Unclassified,
}

/// Whether a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Always.
    Required,
    /// Never.
    NotRequired,
}

/// The application's options, a closed set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOptions {
    /// Model name.
    pub model: String,
    /// System prompt.
    pub system_prompt: Option<String>,
    /// Permission mode, passed to the CLI unchanged.
    pub permission_mode: Option<String>,
    /// Built-in tools of the CLI (`--tools`).
    pub built_in_tools: Vec<String>,
    /// Allow rules (`--allowedTools`).
    pub allowed_tools: Vec<String>,
    /// Deny rules (`--disallowedTools`).
    pub disallowed_tools: Vec<String>,
    /// Working directory of the CLI, absolute.
    pub cwd: String,
    /// Further variables for the CLI.
    pub env: BTreeMap<String, String>,
    /// Attempts of RunModel and CallTool; the adapter's default otherwise.
    pub max_attempts: Option<u32>,
    /// Milliseconds before the first retry; the adapter's default otherwise.
    pub retry_backoff_ms: Option<u64>,
}

/// An application hook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookDefinition {
    /// Hook event, such as `PreToolUse`.
    pub event: String,
    /// Matcher, as the CLI takes it.
    pub matcher: Option<String>,
}

/// A tool source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSource {
    /// Its name.
    pub name: String,
    /// Its tools.
    pub tools: Vec<ToolDefinition>,
}

/// `session/start`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStartParams {
    /// The session's id, chosen by the caller.
    pub session_id: String,
    /// A first user message.
    pub message: Option<String>,
}

/// `session/send`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSendParams {
    /// The session.
    pub session_id: String,
    /// A user message.
    pub text: String,
}

/// `session/resolve`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionResolveParams {
    /// The session.
    pub session_id: String,
    /// The interrupt, from a snapshot.
    pub interrupt_id: String,
    /// The person's answer.
    pub approved: bool,
    /// What the model is told after a rejection.
    pub rejection_message: Option<String>,
}

/// Parameters that only name a session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionParams {
    /// The session.
    pub session_id: String,
}

/// Whether a request took effect.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// False changes nothing and is no error.
    pub accepted: bool,
}

/// A session as its adapter states it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The session.
    pub session_id: String,
    /// Rises with every change.
    pub revision: u64,
    /// What it does.
    pub status: crate::scenario::SessionStatus,
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
    pub at: crate::scenario::GatePhase,
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
