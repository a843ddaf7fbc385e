//! Faults of the connection or the stream.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use super::ErrorDetail;

/// A fault in the middle of a reply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "FaultFields")]
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
    /// Sends nothing for so many milliseconds and goes on with the reply.
    PauseMs(u64),
}

/// A fault in the middle of a reply.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FaultFields {
    /// The point at which it strikes.
    after: FaultPoint,
    /// What happens there.
    then: FaultAction,
}

impl TryFrom<FaultFields> for Fault {
    type Error = &'static str;

    fn try_from(FaultFields { after, then }: FaultFields) -> Result<Self, Self::Error> {
        let needs_response = matches!(
            then,
            FaultAction::Error(_) | FaultAction::Garbage(_) | FaultAction::PauseMs(_)
        );
        if after == FaultPoint::Request && needs_response {
            return Err(
                "after `request` there is no response yet: only `reset`, `close` and `stall` can follow; \
                 write `after: headers`, or `delay_ms` for a pause",
            );
        }
        Ok(Self { after, then })
    }
}

impl JsonSchema for Fault {
    fn schema_name() -> Cow<'static, str> {
        "Fault".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        FaultFields::json_schema(generator)
    }
}
