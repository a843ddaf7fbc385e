//! The error envelope of the Messages API.

use serde_json::{Value, json};

use crate::script::ErrorDetail;

impl ErrorDetail {
    /// An error of a type with a message.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
        }
    }

    /// The error that the API usually sends with a status.
    #[must_use]
    pub fn usual(status: u16) -> Self {
        let (kind, message) = match status {
            400 => ("invalid_request_error", "Invalid request"),
            401 => ("authentication_error", "invalid x-api-key"),
            402 => ("billing_error", "Your credit balance is too low"),
            403 => ("permission_error", "Permission denied"),
            404 => ("not_found_error", "Not Found"),
            409 => ("conflict_error", "Conflict"),
            413 => (
                "request_too_large",
                "Request exceeds the maximum size of 32 MB",
            ),
            429 => (
                "rate_limit_error",
                "This request would exceed your rate limit",
            ),
            504 => ("timeout_error", "Request timed out"),
            529 => ("overloaded_error", "Overloaded"),
            500..=599 => ("api_error", "Internal server error"),
            _ => ("invalid_request_error", "Invalid request"),
        };
        Self::new(kind, message)
    }

    /// `{"type": "error", …}` as it stands in a body, with the id of the request.
    pub(crate) fn envelope(&self, request_id: &str) -> Value {
        let mut envelope = self.event();
        envelope["request_id"] = json!(request_id);
        envelope
    }

    /// `{"type": "error", …}` as it stands in an event.
    pub(crate) fn event(&self) -> Value {
        json!({"type": "error", "error": {"type": self.kind, "message": self.message}})
    }
}
