//! The body of a model request.

use serde_json::{Value, json};
use uuid::Uuid;

use super::Model;

/// What a request says besides its messages.
#[derive(Debug)]
pub(crate) struct RequestContext<'a> {
    pub(crate) model: &'a Model,
    pub(crate) session_id: Uuid,
    /// Tells installations apart.
    pub(crate) device_id: String,
    pub(crate) version: &'a str,
    pub(crate) entrypoint: &'a str,
    pub(crate) system_prompt: &'a [String],
    pub(crate) tools: Vec<Value>,
    pub(crate) max_tokens: u64,
}

/// Features that are dropped, one after the other, when the API calls a request invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Features {
    #[default]
    All,
    WithoutTokenCount,
    WithoutDisplayUpdates,
}

impl Features {
    pub(crate) fn fewer(self) -> Option<Self> {
        match self {
            Self::All => Some(Self::WithoutTokenCount),
            Self::WithoutTokenCount => Some(Self::WithoutDisplayUpdates),
            Self::WithoutDisplayUpdates => None,
        }
    }

    /// The `anthropic-beta` header.
    pub(crate) fn betas(self, model: &Model) -> String {
        let mut betas = match model.effort() {
            Some(_) => vec![
                "claude-code-20250219",
                "interleaved-thinking-2025-05-14",
                "context-management-2025-06-27",
            ],
            None => vec![
                "interleaved-thinking-2025-05-14",
                "context-management-2025-06-27",
                "claude-code-20250219",
            ],
        };
        if model.takes_effort_per_turn() {
            betas.push("per-turn-control-2026-07-01");
        }
        if model.takes_tool_changes() {
            betas.push("mid-conversation-tool-changes-2026-07-01");
        }
        if self == Self::All {
            betas.push("thinking-token-count-2026-05-13");
        }
        if model.effort().is_some() {
            betas.push("effort-2025-11-24");
        }
        if self != Self::WithoutDisplayUpdates {
            betas.push("thinking-display-updates-2026-08-18");
        }
        betas.join(",")
    }
}

/// Builds the body; its members come in the order of the real program's (observed on CLI 2.1.316).
pub(crate) fn request_body(
    context: &RequestContext<'_>,
    messages: &[Value],
    features: Features,
    stream: bool,
) -> Value {
    let mut thinking = if context.model.effort().is_some() {
        json!({"type": "adaptive"})
    } else {
        json!({"type": "enabled", "budget_tokens": context.max_tokens.saturating_sub(1)})
    };
    if features != Features::WithoutDisplayUpdates {
        thinking["display"] = json!("updates");
    }
    let mut messages = messages.to_vec();
    if let Some(effort) = context
        .model
        .effort()
        .filter(|_| context.model.takes_effort_per_turn())
    {
        for message in messages
            .iter_mut()
            .filter(|message| message["role"] == "system")
        {
            message["output_config"] = json!({"effort": effort});
        }
    }
    let mut body = json!({
        "model": context.model.name,
        "messages": messages,
        "system": system(context),
        "tools": with_placeholder(context),
        "metadata": {"user_id": user_id(context)},
        "max_tokens": context.max_tokens,
        "thinking": thinking,
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    });
    if let Some(effort) = context.model.effort() {
        body["output_config"] = json!({"effort": effort});
    }
    body["stream"] = json!(stream);
    body
}

/// Before its last tool, a request that may change them keeps a place (observed on CLI 2.1.316).
fn with_placeholder(context: &RequestContext<'_>) -> Vec<Value> {
    let mut tools = context.tools.clone();
    if context.model.takes_tool_changes() && !tools.is_empty() {
        let placeholder = json!({
            "name": "DeferredToolPlaceholder",
            "description": "Keeps a place for tools that come later.",
            "input_schema": {"type": "object", "properties": {}},
            "defer_loading": true,
        });
        tools.insert(tools.len() - 1, placeholder);
    }
    tools
}

fn system(context: &RequestContext<'_>) -> Value {
    let billing = format!(
        "x-anthropic-billing-header: cc_version={}.fac; cc_entrypoint={};",
        context.version, context.entrypoint
    );
    let mut blocks = vec![
        json!({"type": "text", "text": billing}),
        json!({
            "type": "text",
            "text": "You are an agent in a test session.",
            "cache_control": {"type": "ephemeral"},
        }),
    ];
    let parts = context.system_prompt.iter();
    let spoken: Vec<&str> = parts
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    if !spoken.is_empty() {
        blocks.push(json!({
            "type": "text",
            "text": spoken.join("\n\n"),
            "cache_control": {"type": "ephemeral"},
        }));
    }
    Value::Array(blocks)
}

fn user_id(context: &RequestContext<'_>) -> String {
    json!({
        "device_id": context.device_id,
        "account_uuid": "",
        "session_id": context.session_id,
    })
    .to_string()
}
