//! What the user is told of a model call that came to nothing.

use serde_json::{Value, json};

/// How a failure is shown: the synthetic assistant frame, its entry, and the result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailureReport {
    pub(crate) text: String,
    /// The class of the failure; empty if it has none.
    pub(crate) error: &'static str,
    /// Its kind within the class.
    pub(crate) api_error: Option<&'static str>,
    pub(crate) terminal_reason: &'static str,
    pub(crate) status: Value,
    pub(crate) request_id: Option<String>,
    /// The reply in which the model refused, which the stop reason says too.
    pub(crate) refused_message_id: Option<String>,
    /// Members that only the transcript entry has.
    pub(crate) entry_members: Value,
}

impl FailureReport {
    pub(super) fn new(
        text: impl Into<String>,
        error: &'static str,
        terminal_reason: &'static str,
    ) -> Self {
        Self {
            text: text.into(),
            error,
            api_error: None,
            terminal_reason,
            status: Value::Null,
            request_id: None,
            refused_message_id: None,
            entry_members: json!({"perTurnEffort": null}),
        }
    }

    /// The connection failed, not the server.
    pub(super) fn of_connection(text: impl Into<String>) -> Self {
        Self {
            api_error: Some("connection_failed"),
            ..Self::new(text, "server_error", "api_error")
        }
    }

    pub(super) fn with_entry_member(mut self, name: &str, value: Value) -> Self {
        self.entry_members[name] = value;
        self
    }

    /// There is no credential.
    pub(crate) fn not_logged_in() -> Self {
        Self::new(
            "Not logged in · Please run /login",
            "authentication_failed",
            "api_error",
        )
    }

    /// The rest of a reply was lost with its connection. `last` says that nothing more is tried.
    pub(crate) fn cut_off(text: &str, last: bool) -> Self {
        let mut members = json!({"streamCutCause": "stale_connection"});
        if last {
            members["truncatedAfterOutput"] = json!(true);
        }
        Self {
            entry_members: members,
            ..Self::of_connection(text)
        }
    }

    /// The rest of a reply was lost by the server's fault.
    pub(crate) fn broken_off(text: &str) -> Self {
        Self::new(text, "server_error", "api_error")
    }

    /// The model announced a call three times and made none.
    pub(crate) fn malformed_tool_use() -> Self {
        Self::new(
            "The model's tool call could not be parsed (retry also failed).",
            "",
            "malformed_tool_use_exhausted",
        )
    }

    /// Reply after reply hit the limit.
    pub(crate) fn too_long(limit: u64) -> Self {
        let text = format!(
            "API Error: Claude's response exceeded the {limit} output token maximum. To configure \
             this behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
        );
        Self {
            api_error: Some("max_output_tokens"),
            entry_members: json!({}),
            ..Self::new(text, "max_output_tokens", "api_error")
        }
    }

    /// The model refused twice.
    pub(crate) fn refused(model: &str, request_id: Option<&str>, message_id: &str) -> Self {
        let mut text = format!(
            "API Error: {model} can't help with this. Start a new session to continue.\n\n\
             Learn more: https://www.anthropic.com/legal/aup"
        );
        if let Some(request_id) = request_id {
            text.push_str(&format!("\n\nRequest ID: {request_id}"));
        }
        text.push_str(&format!("\n\nMessage ID: {message_id}"));
        Self {
            request_id: request_id.map(str::to_owned),
            refused_message_id: Some(message_id.to_owned()),
            entry_members: json!({}),
            ..Self::new(text, "invalid_request", "api_error")
        }
    }
}
