//! The agent that a runner is told to build.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
