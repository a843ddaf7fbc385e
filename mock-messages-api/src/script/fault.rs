//! Faults of the connection or the stream.

use schemars::JsonSchema;
use serde::Deserialize;

use super::ErrorDetail;

/// A fault in the middle of a reply.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The point at which it strikes.
    pub after: FaultPoint,
    /// What happens there.
    pub then: FaultAction,
}

/// A point in the course of a reply. Everything before it has reached the socket when the fault strikes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultPoint {
    /// The request was read; not even the response headers were sent.
    Request,
    /// The response headers were sent, nothing of the body.
    Headers,
    /// So many events of the stream were sent. A reply that is not streamed has none and is left alone.
    Events(usize),
    /// So many bytes of the body were sent.
    Bytes(usize),
    /// The whole body was sent, but not its end.
    Body,
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultAction {
    /// Resets the TCP connection (RST).
    Reset,
    /// Closes the TCP connection without ending the response.
    Close,
    /// Sends nothing more and keeps the connection open until the client gives up.
    Stall,
    /// Sends an `error` event and ends the response. A reply that is not streamed is left alone.
    Error(ErrorDetail),
    /// Sends these bytes and goes on with the reply.
    Garbage(String),
}
