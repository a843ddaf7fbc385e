//! Failed requests: what kind they are, whether they are repeated, and what the user is told.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::client::header;
use super::error_message::{
    Mistake, conversation_mistake, is_context_overflow, is_unpaid, message_of, prompt_too_long,
};
use super::failure_report::FailureReport;

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
    /// The body as it came.
    pub(crate) body: String,
    pub(crate) request_id: Option<String>,
    pub(crate) should_retry: Option<bool>,
    pub(crate) retry_after_seconds: Option<u64>,
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
            body: body.to_owned(),
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
                    && !is_context_overflow(&failure.message)
                    && !is_unpaid(&failure.message)
            }
            _ => false,
        }
    }

    /// Whether the API said that it is overloaded.
    pub(crate) fn is_overload(&self) -> bool {
        match self {
            Self::Status(failure) => failure.status == 529,
            Self::ErrorEvent { kind, .. } => kind == "overloaded_error",
            _ => false,
        }
    }

    /// Whether the API takes the credential for a wrong key.
    pub(crate) fn refuses_key(&self) -> bool {
        matches!(self, Self::Status(failure) if failure.status == 401 && failure.names_key())
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
        match self {
            Self::Status(failure) => failure.report(model, gateway),
            Self::ConnectionRefused => FailureReport::of_connection(
                "API Error: Connection refused — a firewall or proxy may be blocking it \
                 (ECONNREFUSED)",
            ),
            Self::ConnectionDropped => FailureReport::of_connection(
                "API Error: Connection dropped (ECONNRESET). Check the gateway set in \
                 ANTHROPIC_BASE_URL, then try again.",
            ),
            Self::TimedOut => FailureReport::new("Request timed out", "server_error", "api_error"),
            Self::NotAMessage => FailureReport::new(
                "API Error: API returned an empty or malformed response (HTTP 200) — check for a \
                 proxy or gateway that answers in its place",
                "unknown",
                "api_error",
            ),
            Self::EmptyStream => FailureReport::new(
                "API Error: Stream ended without receiving any events",
                "unknown",
                "api_error",
            ),
            Self::ErrorEvent { kind, message } => FailureReport {
                status: if kind == "overloaded_error" {
                    json!(529)
                } else {
                    Value::Null
                },
                ..FailureReport::new(format!("API Error: {message}"), "unknown", "api_error")
            },
        }
    }

    /// The `error` of the entry that a retry leaves in the transcript (observed on CLI 2.1.316).
    pub(super) fn recorded(&self) -> Value {
        let mut error = match self {
            Self::Status(failure) => json!({
                "message": failure.in_full(),
                "status": failure.status,
                "requestId": failure.request_id,
                "formatted": format!("{} {}", failure.status, failure.message),
                "connection": null,
            }),
            Self::ConnectionDropped => json!({
                "message": "Connection error.",
                "formatted": "Connection dropped (ECONNRESET)",
                "connection": {
                    "code": "ECONNRESET",
                    "message": "ECONNRESET: The socket connection was closed unexpectedly. For more \
                                information, pass `verbose: true` in the second argument to fetch()",
                    "isSSLError": false,
                },
            }),
            Self::ConnectionRefused => json!({
                "message": "Connection error.",
                "formatted": "Connection refused (ECONNREFUSED)",
                "connection": {
                    "code": "ConnectionRefused",
                    "message": "Unable to connect. Is the computer able to access the url?",
                    "isSSLError": false,
                },
            }),
            _ => json!({
                "message": "Request timed out.",
                "formatted": "Request timed out.",
                "connection": null,
            }),
        };
        error["isNetworkDown"] = json!(false);
        error["rateLimits"] = Value::Null;
        error["noResponse"] = Value::Null;
        error
    }
}

impl StatusFailure {
    fn names_key(&self) -> bool {
        self.message.contains("x-api-key")
    }

    /// The status and the whole body.
    fn in_full(&self) -> String {
        format!("{} {}", self.status, self.body)
    }

    fn report(&self, model: &str, gateway: &str) -> FailureReport {
        let plain = format!("API Error: {} {}", self.status, self.message);
        FailureReport {
            status: json!(self.status),
            request_id: self.request_id.clone(),
            ..self.classified(plain, model, gateway)
        }
    }

    fn classified(&self, plain: String, model: &str, gateway: &str) -> FailureReport {
        let message = &self.message;
        let simple = |text, error| FailureReport::new(text, error, "api_error");
        match self.status {
            400 if is_context_overflow(message) => FailureReport {
                entry_members: json!({"errorDetails": self.in_full()}),
                ..FailureReport::new(
                    prompt_too_long(message),
                    "invalid_request",
                    "prompt_too_long",
                )
            },
            400 | 402 if is_unpaid(message) => {
                simple("Credit balance is too low".to_owned(), "billing_error")
                    .with_entry_member("resendCannotCure", json!(true))
            }
            400 => match conversation_mistake(message) {
                Some(mistake) => self.tell_mistake(mistake),
                None => simple(plain, "unknown"),
            },
            401 if self.names_key() => simple(
                "Invalid API key · Fix external API key".to_owned(),
                "authentication_failed",
            ),
            401 | 403 => simple(
                format!("Failed to authenticate. {plain}"),
                "authentication_failed",
            ),
            404 => simple(
                format!(
                    "There's an issue with the selected model ({model}). It may not exist or you \
                     may not have access to it."
                ),
                "model_not_found",
            ),
            413 => FailureReport::new(
                "Request too large (max 32MB). Accumulated images and attachments in the \
                 conversation pushed the request over the limit. Remove older images or compact \
                 the conversation.",
                "invalid_request",
                "image_error",
            )
            .with_entry_member(
                "errorDetails",
                json!(format!("request_too_large: {}", self.in_full())),
            )
            .with_entry_member("healsDistinctCarrier", json!(true)),
            429 => simple(
                format!("API Error: Request rejected (429) · {message}"),
                "rate_limit",
            )
            .with_entry_member("apiErrorIsTransient", json!(false)),
            500.. => simple(
                format!(
                    "{plain}. This is a server-side issue, usually temporary — try again in a \
                     moment. If it persists, check your inference gateway ({gateway})."
                ),
                "server_error",
            ),
            _ => simple(plain, "unknown"),
        }
    }

    fn tell_mistake(&self, mistake: Mistake) -> FailureReport {
        let text = format!("API Error: 400 {}", mistake.text());
        let report = FailureReport {
            api_error: Some("tool_history_mismatch"),
            ..FailureReport::new(text, "invalid_request", "api_error")
        };
        match mistake {
            Mistake::MissingResult => report,
            Mistake::OrphanedResult | Mistake::DuplicateId => {
                report.with_entry_member("errorDetails", json!(self.in_full()))
            }
        }
    }
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
