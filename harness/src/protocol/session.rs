//! What a client asks of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `session/start`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStartParams {
    /// The session's id, chosen by the caller.
    pub session_id: String,
    /// A first user message.
    pub message: Option<String>,
}

/// `session/send`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSendParams {
    /// The session.
    pub session_id: String,
    /// A user message.
    pub text: String,
}

/// `session/resolve`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionResolveParams {
    /// The session.
    pub session_id: String,
    /// The interrupt, from a snapshot.
    pub interrupt_id: String,
    /// The person's answer.
    pub approved: bool,
    /// What the model is told after a rejection.
    pub rejection_message: Option<String>,
}

/// Parameters that only name a session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionParams {
    /// The session.
    pub session_id: String,
}

/// Whether a request took effect.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// False changes nothing and is no error.
    pub accepted: bool,
}
