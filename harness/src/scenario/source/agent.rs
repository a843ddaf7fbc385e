//! The agent as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Entries, Located, Node};
use crate::protocol::{Approval, Effect};

/// The agent that the adapter builds.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentDocument {
    /// The application's options.
    pub(crate) options: OptionsDocument,
    /// Custom tools, by name. Their handlers run in the harness.
    pub(crate) tools: Entries<ToolDocument>,
    /// Policies of tools that run inside the CLI and of external MCP tools, by name.
    pub(crate) tool_policies: BTreeMap<String, PolicyDocument>,
    /// Hooks of the application.
    pub(crate) hooks: Vec<HookDocument>,
    /// Tool sources by name: tools whose every call leaves the segment.
    pub(crate) tool_sources: Entries<Entries<ToolDocument>>,
}

/// The application's options. Every CLI gets an explicit permission mode.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OptionsDocument {
    /// The model's name.
    pub(crate) model: String,
    /// The system prompt.
    pub(crate) system_prompt: Option<String>,
    /// `default`, `dontAsk`, or another mode that the adapter may refuse.
    pub(crate) permission_mode: String,
    /// Built-in tools of the CLI.
    pub(crate) built_in_tools: Vec<String>,
    /// Allow rules.
    pub(crate) allowed_tools: Vec<String>,
    /// Deny rules.
    pub(crate) disallowed_tools: Vec<String>,
    /// Further variables for the CLI.
    pub(crate) env: BTreeMap<String, String>,
    /// Attempts of RunModel and CallTool; the adapter's default when absent.
    pub(crate) max_attempts: Option<u32>,
    /// Milliseconds before the first retry.
    pub(crate) retry_backoff_ms: u64,
}

impl Default for OptionsDocument {
    fn default() -> Self {
        Self {
            model: "claude-sonnet-5".to_owned(),
            system_prompt: None,
            permission_mode: "default".to_owned(),
            built_in_tools: Vec::new(),
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            env: BTreeMap::new(),
            max_attempts: None,
            retry_backoff_ms: 0,
        }
    }
}

/// A custom tool: what the model is told, and exactly one of `returns`, `fails`, `raises`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolDocument {
    /// What the model is told.
    pub(crate) description: Option<String>,
    /// Its arguments: a type for each name (`{message: string}`, all required), or a whole JSON Schema with `type: object`.
    pub(crate) input: Option<Node>,
    /// What it does to the world; without one, `annotations` classify it.
    pub(crate) effect: Option<Effect>,
    /// Whether a person is asked; without one, `effect` decides.
    pub(crate) approval: Option<Approval>,
    /// MCP annotations, such as `readOnlyHint`.
    pub(crate) annotations: Option<Map<String, Value>>,
    /// The text it answers; `{name}` stands for an argument.
    pub(crate) returns: Option<Located<String>>,
    /// The text of a result that is marked as an error.
    pub(crate) fails: Option<Located<String>>,
    /// The message of a handler that raises.
    pub(crate) raises: Option<Located<String>>,
}

/// A policy of a tool inside the CLI.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyDocument {
    /// What it does to the world.
    pub(crate) effect: Effect,
    /// Whether a person is asked; without one, `effect` decides.
    pub(crate) approval: Option<Approval>,
}

/// A hook of the application. It answers `{}`: it lets everything pass.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookDocument {
    /// Hook event, such as `PreToolUse`.
    pub(crate) event: String,
    /// Matcher, as the CLI takes it.
    pub(crate) matcher: Option<String>,
}
