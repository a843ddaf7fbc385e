//! Frames of the CLI's stream-json protocol, both ways.

use serde::Deserialize;
use serde_json::{Value, json};

/// A frame from the CLI. Observed on CLI 2.1.316; unknown kinds are kept apart, not refused.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Frame {
    ControlRequest {
        request_id: String,
        request: ControlRequest,
    },
    ControlResponse {
        response: ControlResponse,
    },
    ControlCancelRequest {
        request_id: String,
    },
    Assistant(SpokenFrame),
    User(SpokenFrame),
    Result(ResultFrame),
    StreamEvent {
        event: Value,
        #[serde(default)]
        parent_tool_use_id: Option<String>,
    },
    TranscriptMirror(MirrorFrame),
    #[serde(other)]
    Unknown,
}

/// A request that the CLI wants answered.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(crate) enum ControlRequest {
    HookCallback {
        callback_id: String,
        input: Value,
        #[serde(default)]
        tool_use_id: Option<String>,
    },
    CanUseTool {
        tool_name: String,
        input: Value,
        #[serde(default)]
        tool_use_id: Option<String>,
        #[serde(default)]
        agent_id: Option<String>,
    },
    McpMessage {
        server_name: String,
        message: Value,
    },
    #[serde(other)]
    Unknown,
}

/// The answer to a request of ours.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(crate) enum ControlResponse {
    Success { request_id: String },
    Error { request_id: String, error: String },
}

/// An assistant or user frame.
#[derive(Debug, Deserialize)]
pub(crate) struct SpokenFrame {
    pub(crate) message: Value,
    #[serde(default)]
    pub(crate) parent_tool_use_id: Option<String>,
    #[serde(default)]
    pub(crate) uuid: Option<String>,
    #[serde(default, rename = "isReplay")]
    pub(crate) is_replay: bool,
}

/// Transcript lines, as the CLI writes them.
#[derive(Debug, Deserialize)]
pub(crate) struct MirrorFrame {
    #[serde(rename = "filePath")]
    pub(crate) file_path: String,
    pub(crate) entries: Vec<Value>,
}

/// The end of a turn in the CLI.
#[derive(Debug, Deserialize)]
pub(crate) struct ResultFrame {
    pub(crate) subtype: String,
    #[serde(default)]
    pub(crate) is_error: bool,
    #[serde(default)]
    pub(crate) stop_reason: Option<String>,
    #[serde(default)]
    pub(crate) result: Option<String>,
    #[serde(default)]
    pub(crate) errors: Vec<String>,
    pub(crate) session_id: String,
    #[serde(default)]
    pub(crate) usage: ResultUsage,
    #[serde(default)]
    pub(crate) deferred_tool_use: Option<DeferredToolUse>,
}

/// The tokens of one run.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResultUsage {
    pub(crate) input_tokens: u64,
    pub(crate) cache_creation_input_tokens: u64,
    pub(crate) cache_read_input_tokens: u64,
    pub(crate) output_tokens: u64,
}

/// The call that a deferring run names in its result.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DeferredToolUse {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
}

/// The `initialize` request: it has to be the first line.
pub(crate) fn initialize(request_id: &str, hooks: &Value) -> Value {
    json!({
        "type": "control_request",
        "request_id": request_id,
        "request": {"subtype": "initialize", "hooks": hooks},
    })
}

/// A user's prompt: a plain string for one text, one block per text otherwise.
pub(crate) fn user_prompt(texts: &[String]) -> Value {
    let content = match texts {
        [text] => json!(text),
        _ => texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect(),
    };
    json!({
        "type": "user",
        "session_id": "",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": null,
    })
}

/// A positive answer to a request of the CLI.
pub(crate) fn success(request_id: &str, response: &Value) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request_id, "response": response},
    })
}

/// A negative answer to a request of the CLI.
pub(crate) fn failure(request_id: &str, error: &str) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "error", "request_id": request_id, "error": error},
    })
}
