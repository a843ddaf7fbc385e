//! Failed requests: what kind they are, whether they are repeated, and what the user is told.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::client::header;

/// Why a request brought no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApiFailure {
    Status(StatusFailure),
    ConnectionRefused,
    ConnectionDropped,
    TimedOut,
    /// 200 with something that is no message.
    NotAMessage,
    /// The stream had no events and falling back is forbidden.
    EmptyStream,
    /// An `error` event with nothing left to try.
    ErrorEvent {
        kind: String,
        message: String,
    },
}

/// An HTTP error status and what came with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StatusFailure {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) request_id: Option<String>,
    pub(crate) should_retry: Option<bool>,
    pub(crate) retry_after_seconds: Option<u64>,
}

/// How a failure is shown: the synthetic assistant frame and the result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FailureReport {
    pub(crate) text: String,
    /// The class of the failure; empty if it has none.
    pub(crate) error: &'static str,
    pub(crate) terminal_reason: &'static str,
    pub(crate) status: Value,
    pub(crate) request_id: Option<String>,
    /// The model refused, which its stop reason says too.
    pub(crate) refusal: bool,
}

impl FailureReport {
    fn new(text: &str, error: &'static str, terminal_reason: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            error,
            terminal_reason,
            status: Value::Null,
            request_id: None,
            refusal: false,
        }
    }

    /// There is no credential.
    pub(crate) fn not_logged_in() -> Self {
        Self::new(
            "Not logged in · Please run /login",
            "authentication_failed",
            "api_error",
        )
    }

    /// The rest of a reply was lost.
    pub(crate) fn incomplete(text: &str) -> Self {
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
        Self::new(&text, "max_output_tokens", "api_error")
    }

    /// The model refused twice.
    pub(crate) fn refused(model: &str) -> Self {
        let text =
            format!("API Error: {model} can't help with this. Start a new session to continue.");
        Self {
            refusal: true,
            ..Self::new(&text, "invalid_request", "api_error")
        }
    }
}

impl ApiFailure {
    pub(super) fn from_transport(error: &reqwest::Error) -> Self {
        if error.is_connect() {
            Self::ConnectionRefused
        } else {
            Self::ConnectionDropped
        }
    }

    pub(super) fn from_status(status: u16, reason: &str, headers: &HeaderMap, body: &str) -> Self {
        let should_retry = match header(headers, "x-should-retry").as_deref() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Self::Status(StatusFailure {
            status,
            message: message_of(body, reason),
            request_id: header(headers, "request-id"),
            should_retry,
            retry_after_seconds: header(headers, "retry-after")
                .and_then(|seconds| seconds.parse().ok()),
        })
    }

    /// A failure that a scripted model asked for.
    pub(crate) fn scripted(status: u16) -> Self {
        Self::Status(StatusFailure {
            status,
            message: "scripted failure".to_owned(),
            ..StatusFailure::default()
        })
    }

    /// Whether the retry loop takes another try.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            Self::Status(failure) => {
                if failure
                    .retry_after_seconds
                    .is_some_and(|seconds| seconds > 60)
                {
                    return false;
                }
                let by_status = matches!(failure.status, 401 | 408 | 409 | 429 | 500..);
                failure.should_retry.unwrap_or(by_status)
            }
            Self::ConnectionRefused | Self::ConnectionDropped | Self::TimedOut => true,
            Self::ErrorEvent { kind, .. } => kind == "overloaded_error",
            Self::NotAMessage | Self::EmptyStream => false,
        }
    }

    /// Whether the request is repeated at once with fewer features: a 400 or 422 that is none of the
    /// known kinds.
    pub(crate) fn suggests_fewer_features(&self) -> bool {
        match self {
            Self::Status(failure) => {
                matches!(failure.status, 400 | 422)
                    && failure.should_retry != Some(true)
                    && !is_context_overflow(&failure.message)
                    && !failure.message.contains("credit balance is too low")
            }
            _ => false,
        }
    }

    /// Whether a request without streaming may help where this one failed.
    pub(crate) fn suggests_whole_reply(&self) -> bool {
        matches!(self, Self::Status(failure) if failure.status == 404)
    }

    /// The `error` and `error_status` of an `api_retry` frame.
    pub(crate) fn retry_label(&self) -> (&'static str, Value) {
        match self {
            Self::Status(failure) => {
                let label = match failure.status {
                    529 => "overloaded",
                    429 => "rate_limit",
                    401 => "authentication_failed",
                    408 | 409 | 500.. => "server_error",
                    _ => "unknown",
                };
                (label, json!(failure.status))
            }
            _ => ("unknown", Value::Null),
        }
    }

    /// What the user is told in the end (observed on CLI 2.1.316).
    pub(crate) fn report(&self, model: &str, gateway: &str) -> FailureReport {
        let server_side = |text: String| {
            format!(
                "{text}. This is a server-side issue, usually temporary — try again in a moment. If \
                 it persists, check your inference gateway ({gateway})."
            )
        };
        let plain = |text: String, error| FailureReport {
            text,
            error,
            terminal_reason: "api_error",
            status: Value::Null,
            request_id: None,
            refusal: false,
        };
        match self {
            Self::Status(failure) => failure.report(model, server_side),
            Self::ConnectionRefused => plain(
                "API Error: Connection refused — a firewall or proxy may be blocking it \
                 (ECONNREFUSED)"
                    .to_owned(),
                "server_error",
            ),
            Self::ConnectionDropped => plain(
                "API Error: Connection dropped (ECONNRESET). Check the gateway set in \
                 ANTHROPIC_BASE_URL, then try again."
                    .to_owned(),
                "server_error",
            ),
            Self::TimedOut => plain("Request timed out".to_owned(), "server_error"),
            Self::NotAMessage => plain(
                "API Error: API returned an empty or malformed response (HTTP 200) — check for a \
                 proxy or gateway that answers in its place"
                    .to_owned(),
                "unknown",
            ),
            Self::EmptyStream => plain(
                "API Error: Stream ended without receiving any events".to_owned(),
                "unknown",
            ),
            Self::ErrorEvent { kind, message } => FailureReport {
                status: if kind == "overloaded_error" {
                    json!(529)
                } else {
                    Value::Null
                },
                ..plain(format!("API Error: {message}"), "unknown")
            },
        }
    }
}

impl StatusFailure {
    fn report(&self, model: &str, server_side: impl Fn(String) -> String) -> FailureReport {
        let message = &self.message;
        let status = self.status;
        let plain = format!("API Error: {status} {message}");
        let (text, error, terminal_reason) = match status {
            400 if is_context_overflow(message) => (
                prompt_too_long(message),
                "invalid_request",
                "prompt_too_long",
            ),
            400 if message.contains("credit balance is too low") => (
                "Credit balance is too low".to_owned(),
                "billing_error",
                "api_error",
            ),
            400 => match conversation_mistake(message) {
                Some(mistake) => (
                    format!("API Error: 400 {mistake}"),
                    "invalid_request",
                    "api_error",
                ),
                None => (plain, "unknown", "api_error"),
            },
            401 if message.contains("x-api-key") => (
                "Invalid API key · Fix external API key".to_owned(),
                "authentication_failed",
                "api_error",
            ),
            401 | 403 => (
                format!("Failed to authenticate. {plain}"),
                "authentication_failed",
                "api_error",
            ),
            404 => (
                format!(
                    "There's an issue with the selected model ({model}). It may not exist or you \
                     may not have access to it."
                ),
                "model_not_found",
                "api_error",
            ),
            413 => (
                "Request too large (max 32MB). Accumulated images and attachments count towards \
                 it."
                .to_owned(),
                "invalid_request",
                "image_error",
            ),
            429 => (
                format!("API Error: Request rejected (429) · {message}"),
                "rate_limit",
                "api_error",
            ),
            500.. => (server_side(plain), "server_error", "api_error"),
            _ => (plain, "unknown", "api_error"),
        };
        FailureReport {
            text,
            error,
            terminal_reason,
            status: json!(status),
            request_id: self.request_id.clone(),
            refusal: false,
        }
    }
}

fn conversation_mistake(message: &str) -> Option<&'static str> {
    if message.contains("ids were found without `tool_result` blocks") {
        Some("due to tool use concurrency issues.")
    } else if message.contains("unexpected `tool_use_id` found in `tool_result` blocks") {
        Some("orphaned tool_result in conversation history.")
    } else if message.contains("`tool_use` ids must be unique") {
        Some("duplicate tool_use ID in conversation history.")
    } else {
        None
    }
}

fn is_context_overflow(message: &str) -> bool {
    message.to_lowercase().contains("prompt is too long")
        || message.contains("exceed context limit")
}

fn prompt_too_long(message: &str) -> String {
    let numbers: Vec<&str> = message
        .split(|character: char| !character.is_ascii_digit())
        .filter(|number| !number.is_empty())
        .collect();
    match numbers.as_slice() {
        [size, limit] => format!(
            "Prompt is too long · the request is ~{size} tokens (limit {limit}) but nothing is left \
             to compact"
        ),
        _ => "Prompt is too long · nothing is left to compact".to_owned(),
    }
}

/// The message of an error body: of the envelope, of an HTML page's heading, or the status itself.
fn message_of(body: &str, reason: &str) -> String {
    if body.trim().is_empty() {
        return "status code (no body)".to_owned();
    }
    if let Ok(envelope) = serde_json::from_str::<Value>(body) {
        let message = envelope["error"]["message"].as_str();
        return message.map_or_else(|| envelope.to_string(), str::to_owned);
    }
    let heading = body
        .split_once("<h1>")
        .and_then(|(_, rest)| rest.split_once("</h1>"))
        .map(|(heading, _)| {
            heading
                .trim()
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim()
        });
    heading.unwrap_or(reason).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16, message: &str) -> ApiFailure {
        let body = json!({"type": "error", "error": {"type": "x", "message": message}});
        ApiFailure::from_status(status, "Reason", &HeaderMap::new(), &body.to_string())
    }

    #[test]
    fn texts_follow_the_observed_table() {
        let text = |failure: ApiFailure| failure.report("some-model", "127.0.0.1:1").text;
        assert_eq!(text(status(400, "bad thing")), "API Error: 400 bad thing");
        assert_eq!(
            text(status(403, "no")),
            "Failed to authenticate. API Error: 403 no"
        );
        assert_eq!(
            text(status(429, "slow down")),
            "API Error: Request rejected (429) · slow down"
        );
        assert!(text(status(529, "Overloaded")).starts_with("API Error: 529 Overloaded. This is"));
        assert_eq!(
            text(status(400, "messages.1: `tool_use` ids must be unique")),
            "API Error: 400 duplicate tool_use ID in conversation history."
        );
    }

    #[test]
    fn retrying_follows_status_and_header() {
        for code in [401, 408, 409, 429, 500, 502, 503, 504, 529] {
            assert!(status(code, "x").is_retryable(), "{code}");
        }
        for code in [400, 402, 403, 404, 413, 422] {
            assert!(!status(code, "x").is_retryable(), "{code}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(
            "x-should-retry",
            reqwest::header::HeaderValue::from_static("false"),
        );
        assert!(!ApiFailure::from_status(529, "", &headers, "").is_retryable());
    }
}
