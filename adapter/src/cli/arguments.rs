//! The CLI's command line.

use serde_json::{Map, Value, json};

use crate::agent::options::ClaudeAgentOptions;
use crate::agent::policy::TOOL_SERVER_NAME;

/// The arguments of one segment.
///
/// Values follow an equals sign, so that none can be taken for a flag and an empty one is possible.
pub(crate) fn cli_arguments(
    options: &ClaudeAgentOptions,
    resume: Option<&str>,
    await_initialize: bool,
) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--output-format",
        "stream-json",
        "--verbose",
        "--input-format",
        "stream-json",
        "--include-partial-messages",
        "--session-mirror",
        "--permission-prompt-tool",
        "stdio",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut flag = |name: &str, value: &str| arguments.push(format!("--{name}={value}"));
    flag(
        "system-prompt",
        options.system_prompt.as_deref().unwrap_or(""),
    );
    flag("mcp-config", &mcp_config(options));
    if let Some(tools) = &options.tools {
        flag("tools", &tools.join(","));
    }
    if let Some(model) = &options.model {
        flag("model", model);
    }
    if let Some(mode) = options.permission_mode {
        flag("permission-mode", mode.as_str());
    }
    if !options.allowed_tools.is_empty() {
        flag("allowedTools", &options.allowed_tools.join(","));
    }
    if !options.disallowed_tools.is_empty() {
        flag("disallowedTools", &options.disallowed_tools.join(","));
    }
    if let Some(turns) = options.max_turns {
        flag("max-turns", &turns.to_string());
    }
    if let Some(sources) = &options.setting_sources {
        flag("setting-sources", &sources.join(","));
    }
    if let Some(session) = resume {
        flag("resume", session);
    }
    if await_initialize {
        arguments.push("--await-initialize".to_owned());
    }
    for (name, value) in &options.extra_args {
        arguments.push(match value {
            Some(value) => format!("--{name}={value}"),
            None => format!("--{name}"),
        });
    }
    arguments
}

/// The servers' declaration. The adapter's own server has to be known when a resumed call starts.
fn mcp_config(options: &ClaudeAgentOptions) -> String {
    let mut servers: Map<String, Value> = options.mcp_servers.clone();
    servers.insert(
        TOOL_SERVER_NAME.to_owned(),
        json!({"type": "sdk", "name": TOOL_SERVER_NAME}),
    );
    json!({"mcpServers": servers}).to_string()
}
