//! Tools: those of MCP servers and the built-in ones.

mod builtin;

use serde_json::{Value, json};

use crate::mcp::McpTool;
use crate::permissions::{Allowance, AskReason};
use crate::session::Session;

pub(crate) use builtin::{Builtin, BuiltinOutcome, Refusal};

/// A tool that a session has.
#[derive(Debug, Clone)]
pub(crate) enum Tool {
    Mcp(McpTool),
    Builtin(Builtin),
}

/// Finds a tool by the name the model used.
pub(crate) fn find(session: &Session, name: &str) -> Option<Tool> {
    if let Some(tool) = session.mcp.tool(name) {
        return Some(Tool::Mcp(tool));
    }
    enabled(session)
        .into_iter()
        .find(|tool| shown_name(session, *tool) == name)
        .map(Tool::Builtin)
}

/// What the model hears when it calls a tool that is not there (observed on CLI 2.1.316).
pub(crate) fn no_such_tool(name: &str) -> String {
    let is_disabled = Builtin::ALL.iter().any(|tool| tool.name() == name);
    let note = if is_disabled {
        format!(". {name} is disabled for this session, in subagents as well as here.")
    } else {
        String::new()
    };
    format!("<tool_use_error>Error: No such tool available: {name}{note}</tool_use_error>")
}

/// The name of a built-in tool in this session.
fn shown_name(session: &Session, tool: Builtin) -> &str {
    match session.quirks.shell_name() {
        Some(name) if tool == Builtin::Bash => name,
        _ => tool.name(),
    }
}

fn enabled(session: &Session) -> Vec<Builtin> {
    let listed = session.arguments.tools.as_ref();
    Builtin::ALL
        .into_iter()
        .filter(|tool| {
            listed.is_none_or(|names| {
                names
                    .iter()
                    .any(|name| name == tool.name() || name == "default")
            })
        })
        .collect()
}

/// The names of all tools, built-in ones first.
pub(crate) fn names(session: &Session) -> Vec<String> {
    let builtin = enabled(session)
        .into_iter()
        .map(|tool| shown_name(session, tool).to_owned());
    let mcp = session
        .mcp
        .tools()
        .into_iter()
        .map(|tool| tool.qualified_name());
    builtin.chain(mcp).collect()
}

/// The `tools` of a model request.
pub(crate) fn definitions(session: &Session) -> Vec<Value> {
    let builtin = enabled(session).into_iter().map(|tool| {
        let mut definition = tool.definition();
        definition["name"] = json!(shown_name(session, tool));
        definition
    });
    let mcp = session.mcp.tools().into_iter().map(|tool| {
        json!({
            "name": tool.qualified_name(),
            "description": tool.description,
            "input_schema": tool.input_schema,
        })
    });
    builtin.chain(mcp).collect()
}

impl Tool {
    /// Whether calls may run beside each other.
    pub(crate) fn is_concurrency_safe(&self) -> bool {
        match self {
            Self::Mcp(tool) => tool.read_only,
            Self::Builtin(tool) => tool.is_read_only(),
        }
    }

    /// What the call needs when nobody decides.
    pub(crate) fn allowance(&self, session: &Session, input: &Value) -> Allowance {
        match self {
            Self::Mcp(_) => Allowance::Ask(AskReason::default()),
            Self::Builtin(tool) => tool.allowance(session, input),
        }
    }

    /// What a question about the call says that it is about.
    pub(crate) fn asked_about(&self, session: &Session, input: &Value) -> Option<Value> {
        match self {
            Self::Mcp(_) => None,
            Self::Builtin(tool) => tool.asked_about(session, input),
        }
    }

    /// Why a call of this tool may run without anybody's permission.
    pub(crate) fn free_reason(&self) -> &'static str {
        match self {
            Self::Builtin(Builtin::Bash) => "subcommandResults",
            _ => "mode",
        }
    }

    pub(crate) fn display_name(&self) -> String {
        match self {
            Self::Mcp(tool) => tool.display_name(),
            Self::Builtin(tool) => tool.name().to_owned(),
        }
    }

    /// The `mcp_server` member of hook inputs and permission requests.
    pub(crate) fn server(&self) -> Option<Value> {
        match self {
            Self::Mcp(tool) => Some(json!({"name": tool.server, "source": tool.source})),
            Self::Builtin(_) => None,
        }
    }
}

/// The `tool_use_meta` of an assistant frame: only for names that look like an MCP tool's.
pub(crate) fn tool_use_meta(session: &Session, block: &Value) -> Option<Value> {
    let name = block["name"].as_str()?;
    if let Some(tool) = session.mcp.tool(name) {
        return Some(json!([{
            "id": block["id"],
            "display_name": tool.display_name(),
            "server_display_name": tool.server,
            "tool_name": tool.name,
        }]));
    }
    let (_, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some(json!([{
        "id": block["id"],
        "display_name": crate::mcp::title_case(tool),
    }]))
}
