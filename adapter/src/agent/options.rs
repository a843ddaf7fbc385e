//! The options of one segment, as the application's factory gives them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::agent::hook::ApplicationHook;
use crate::agent::policy::TOOL_SERVER_NAME;

/// For what the options factory is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsContext {
    /// The session.
    pub flow_id: String,
    /// The turn.
    pub turn_id: String,
    /// The attempt of the `RunModel` Step, from 1.
    pub attempt: u32,
}

/// The permission modes that ask the adapter about every call it has to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionMode {
    /// The CLI's default.
    Default,
    /// What no hook allows is denied.
    DontAsk,
}

impl PermissionMode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::DontAsk => "dontAsk",
        }
    }
}

/// The application's options for the CLI.
///
/// A segment that resumes a call must see the same working directory, tools and model as the one
/// that deferred it.
#[derive(Clone, Default)]
pub struct ClaudeAgentOptions {
    /// The model; the CLI's default without one.
    pub model: Option<String>,
    /// The system prompt; empty without one.
    pub system_prompt: Option<String>,
    /// The CLI's own tools that the model is offered; the CLI's default set without a list.
    pub tools: Option<Vec<String>>,
    /// Tools and rules that need no permission. Must not list a tool whose calls leave the turn.
    pub allowed_tools: Vec<String>,
    /// Tools and rules that are always denied.
    pub disallowed_tools: Vec<String>,
    /// Passed to the CLI unchanged; the CLI's default without one.
    pub permission_mode: Option<PermissionMode>,
    /// The CLI's working directory; the worker's without one.
    pub cwd: Option<PathBuf>,
    /// Variables for the CLI, besides the worker's allow-listed ones.
    pub env: BTreeMap<String, String>,
    /// Which settings files the CLI reads. An empty list is safest: an allow rule in a settings
    /// file can approve a tool before the adapter is asked.
    pub setting_sources: Option<Vec<String>>,
    /// External MCP servers, by name.
    pub mcp_servers: Map<String, Value>,
    /// The most model calls in one segment.
    pub max_turns: Option<u32>,
    /// Further flags, without the leading dashes.
    pub extra_args: BTreeMap<String, Option<String>>,
    /// The application's own hooks.
    pub hooks: Vec<ApplicationHook>,
}

impl std::fmt::Debug for ClaudeAgentOptions {
    /// Leaves out the values that may be secrets: of `env`, `mcp_servers` and `extra_args`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ClaudeAgentOptions")
            .field("model", &self.model)
            .field("tools", &self.tools)
            .field("allowed_tools", &self.allowed_tools)
            .field("disallowed_tools", &self.disallowed_tools)
            .field("permission_mode", &self.permission_mode)
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys())
            .field("setting_sources", &self.setting_sources)
            .field("mcp_servers", &self.mcp_servers.keys())
            .field("max_turns", &self.max_turns)
            .field("extra_args", &self.extra_args.keys())
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}

/// The factory's options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The adapter sets this option itself.
    #[error("use option {option}: the adapter sets it itself; remove it")]
    Owned {
        /// The option's name.
        option: String,
    },
    /// The mode would let tools run without asking the adapter.
    #[error(
        "use permission_mode {mode}: it lets tools run without their approval or Step; \
         use default or dontAsk"
    )]
    PermissionMode {
        /// The refused mode.
        mode: String,
    },
    /// An external server has the name of the custom tools' server.
    #[error(
        "use the MCP server name {TOOL_SERVER_NAME}: the custom tools are served under it; rename the server"
    )]
    ServerName,
    /// An allow rule names a tool whose calls must leave the turn.
    #[error(
        "use allowed_tools entry {entry}: calls of {tool} must leave the turn or wait for approval; \
         remove the entry or give the tool another policy"
    )]
    AllowedTool {
        /// The entry.
        entry: String,
        /// The tool it names.
        tool: String,
    },
    /// The options' JSON form has the wrong shape.
    #[error("read the options: {0}")]
    Shape(String),
    /// The application's factory failed.
    #[error("make the options: {0}")]
    Factory(String),
}

/// Options that the adapter sets itself.
const OWNED: &[&str] = &[
    "can_use_tool",
    "permission_prompt_tool_name",
    "session_store",
    "resume",
    "session_id",
    "continue_conversation",
    "fork_session",
    "resume_session_at",
    "resume_drops_turn",
    "enable_file_checkpointing",
];

/// Flags that the adapter sets itself, or that would undo what it sets.
const OWNED_FLAGS: &[&str] = &[
    "await-initialize",
    "mcp-config",
    "resume",
    "session-id",
    "continue",
    "fork-session",
    "permission-prompt-tool",
    "permission-mode",
    "dangerously-skip-permissions",
    "allow-dangerously-skip-permissions",
    "session-mirror",
    "no-session-persistence",
    "input-format",
    "output-format",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct OptionsForm {
    model: Option<String>,
    system_prompt: Option<String>,
    tools: Option<Vec<String>>,
    allowed_tools: Vec<String>,
    disallowed_tools: Vec<String>,
    permission_mode: Option<String>,
    cwd: Option<PathBuf>,
    env: BTreeMap<String, String>,
    setting_sources: Option<Vec<String>>,
    mcp_servers: Map<String, Value>,
    max_turns: Option<u32>,
    extra_args: BTreeMap<String, Option<String>>,
}

impl ClaudeAgentOptions {
    /// Reads options from their JSON form, under the names that the agent SDK gives them.
    ///
    /// # Errors
    ///
    /// [`OptionsError`] names the option that the adapter owns, refuses or does not know.
    pub fn from_json(value: Value) -> Result<Self, OptionsError> {
        let fields = value
            .as_object()
            .ok_or_else(|| OptionsError::Shape("they are no JSON object".to_owned()))?;
        if let Some(option) = OWNED.iter().find(|name| fields.contains_key(**name)) {
            return Err(OptionsError::Owned {
                option: (*option).to_owned(),
            });
        }
        if fields.get("mcp_servers").is_some_and(Value::is_string) {
            return Err(OptionsError::Shape(
                "mcp_servers has to be a map from name to server, not a path or a JSON string"
                    .to_owned(),
            ));
        }
        let form: OptionsForm = serde_json::from_value(value)
            .map_err(|error| OptionsError::Shape(error.to_string()))?;
        Ok(Self {
            permission_mode: form.permission_mode.map(permission_mode).transpose()?,
            model: form.model,
            system_prompt: form.system_prompt,
            tools: form.tools,
            allowed_tools: form.allowed_tools,
            disallowed_tools: form.disallowed_tools,
            cwd: form.cwd,
            env: form.env,
            setting_sources: form.setting_sources,
            mcp_servers: form.mcp_servers,
            max_turns: form.max_turns,
            extra_args: form.extra_args,
            hooks: Vec::new(),
        })
    }

    /// Refuses options that would let a call escape the adapter.
    ///
    /// `must_leave` says of a tool, by its name in the CLI, whether its calls must leave the turn
    /// or wait for approval; `own_server_tools` are the custom tools' names in the CLI.
    pub(crate) fn validate(
        &self,
        must_leave: impl Fn(&str) -> bool,
        custom_tool_names: &[String],
    ) -> Result<(), OptionsError> {
        for flag in self.extra_args.keys() {
            if OWNED_FLAGS.contains(&flag.trim_start_matches('-')) {
                return Err(OptionsError::Owned {
                    option: format!("extra_args {flag}"),
                });
            }
        }
        if self.mcp_servers.contains_key(TOOL_SERVER_NAME) {
            return Err(OptionsError::ServerName);
        }
        for entry in &self.allowed_tools {
            let named = tools_of_rule(entry, custom_tool_names);
            if let Some(tool) = named.into_iter().find(|tool| must_leave(tool)) {
                return Err(OptionsError::AllowedTool {
                    entry: entry.clone(),
                    tool: crate::agent::policy::own_name(&tool).to_owned(),
                });
            }
        }
        Ok(())
    }
}

fn permission_mode(mode: String) -> Result<PermissionMode, OptionsError> {
    match mode.as_str() {
        "default" => Ok(PermissionMode::Default),
        "dontAsk" => Ok(PermissionMode::DontAsk),
        _ => Err(OptionsError::PermissionMode { mode }),
    }
}

/// The tools, by their names in the CLI, that an allow rule covers.
///
/// A custom tool is meant by its own name too, and every custom tool by the server's name.
fn tools_of_rule(entry: &str, custom_tool_names: &[String]) -> Vec<String> {
    let name = entry.split('(').next().unwrap_or(entry).trim();
    let server = format!("mcp__{TOOL_SERVER_NAME}");
    if name == server || name == format!("{server}__*") {
        return custom_tool_names.to_vec();
    }
    let prefixed = format!("{server}__{name}");
    if custom_tool_names.contains(&prefixed) {
        return vec![prefixed];
    }
    vec![name.to_owned()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn validated(value: Value) -> Result<(), OptionsError> {
        let custom = ["mcp__tools__publish", "mcp__tools__lookup"].map(str::to_owned);
        ClaudeAgentOptions::from_json(value)?.validate(
            |tool| matches!(tool, "mcp__tools__publish" | "Bash"),
            &custom,
        )
    }

    // covers: opt-owned-extra-args
    #[test]
    fn owned_options_are_named() {
        for option in OWNED {
            let error = validated(json!({*option: true})).expect_err("it is refused");
            assert!(matches!(error, OptionsError::Owned { .. }), "{error}");
            assert!(error.to_string().contains(option), "{error}");
        }
        for flag in ["await-initialize", "mcp-config", "resume", "session-id"] {
            let error = validated(json!({"extra_args": {flag: null}})).expect_err("it is refused");
            assert!(error.to_string().contains(flag), "{error}");
        }
        assert_eq!(validated(json!({"extra_args": {"debug": null}})), Ok(()));
    }

    #[test]
    fn debug_output_holds_no_secret() {
        let options = ClaudeAgentOptions::from_json(json!({
            "env": {"ANTHROPIC_API_KEY": "hush"},
            "mcp_servers": {"files": {"headers": {"authorization": "hush"}}},
        }));
        let shown = format!("{options:?}");
        assert!(shown.contains("ANTHROPIC_API_KEY"), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
    }

    // covers: opt-reject-skip-modes
    #[test]
    fn modes_that_skip_the_adapter_are_refused() {
        for mode in ["bypassPermissions", "acceptEdits", "auto", "plan"] {
            let error = validated(json!({"permission_mode": mode})).expect_err("it is refused");
            assert!(
                matches!(error, OptionsError::PermissionMode { .. }),
                "{error}"
            );
        }
        for mode in [json!("default"), json!("dontAsk"), Value::Null] {
            assert_eq!(validated(json!({"permission_mode": mode})), Ok(()));
        }
    }

    // covers: opt-mcp-servers-form, opt-server-name-reuse
    #[test]
    fn servers_are_a_map_without_the_custom_tools_name() {
        assert_eq!(
            validated(json!({"mcp_servers": {"tools": {}}})),
            Err(OptionsError::ServerName)
        );
        let error = validated(json!({"mcp_servers": "servers.json"})).expect_err("it is refused");
        assert!(error.to_string().contains("mcp_servers"), "{error}");
        assert_eq!(validated(json!({"mcp_servers": {"other": {}}})), Ok(()));
    }

    // covers: opt-allowed-tools-deferrable
    #[test]
    fn rules_must_not_allow_what_has_to_leave_the_turn() {
        for entry in [
            "publish",
            "mcp__tools__publish",
            "mcp__tools__publish(*)",
            "mcp__tools",
            "mcp__tools__*",
            "Bash",
            "Bash(ls:*)",
        ] {
            let error = validated(json!({"allowed_tools": [entry]})).expect_err("it is refused");
            assert!(error.to_string().contains(entry), "{error}");
        }
        for entry in ["lookup", "mcp__tools__lookup", "Read"] {
            assert_eq!(
                validated(json!({"allowed_tools": [entry]})),
                Ok(()),
                "{entry}"
            );
        }
    }
}
