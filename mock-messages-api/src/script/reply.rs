//! The forms of a scripted reply.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Block, Fault, StreamOptions};

/// One reply, or one for each attempt: the first request gets the first, and so on; the last is given from then on.
///
/// Attempts are the one place where the number of requests counts; they are for servers that fail and recover.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyAttempts {
    first: Reply,
    later: Vec<Reply>,
}

impl ReplyAttempts {
    /// Replies for successive attempts.
    #[must_use]
    pub fn new(first: Reply, later: Vec<Reply>) -> Self {
        Self { first, later }
    }

    /// The reply for an attempt, counted from 0.
    #[must_use]
    pub fn attempt(&self, attempt: usize) -> &Reply {
        match attempt {
            0 => &self.first,
            _ => self
                .later
                .get(attempt - 1)
                .or(self.later.last())
                .unwrap_or(&self.first),
        }
    }

    /// The position of the reply for an attempt: attempts past the last one repeat it.
    pub(crate) fn position(&self, attempt: usize) -> usize {
        attempt.min(self.later.len())
    }

    /// The reply, if it is the same for every attempt.
    pub(super) fn into_only(self) -> Option<Reply> {
        self.later.is_empty().then_some(self.first)
    }

    /// All replies in order.
    pub fn iter(&self) -> impl Iterator<Item = &Reply> {
        std::iter::once(&self.first).chain(&self.later)
    }
}

impl From<Reply> for ReplyAttempts {
    fn from(reply: Reply) -> Self {
        Self::new(reply, Vec::new())
    }
}

/// What is answered to one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A message of the model.
    Message(Box<MessageReply>),
    /// A status with an error or any other body.
    Status(StatusReply),
    /// A hand-written event stream.
    Events(EventsReply),
}

impl From<Vec<Block>> for Reply {
    fn from(content: Vec<Block>) -> Self {
        MessageReply {
            content,
            ..MessageReply::default()
        }
        .into()
    }
}

impl From<MessageReply> for Reply {
    fn from(reply: MessageReply) -> Self {
        Self::Message(Box::new(reply))
    }
}

impl From<StatusReply> for Reply {
    fn from(reply: StatusReply) -> Self {
        Self::Status(reply)
    }
}

/// A message of the model, streamed or whole as the request asks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageReply {
    /// The content blocks.
    pub content: Vec<Block>,
    /// The stop reason; `tool_use` when there is a call and `end_turn` otherwise, if absent.
    pub stop_reason: Option<String>,
    /// The stop sequence that was met.
    pub stop_sequence: Option<String>,
    /// The model that answers; the one that was asked if absent.
    pub model: Option<String>,
    /// The message id; derived from the exchange's position if absent.
    pub id: Option<String>,
    /// Token counts.
    pub usage: TokenUsage,
    /// Response headers, added to or in place of the usual ones.
    pub headers: BTreeMap<String, String>,
    /// Pause before the response, in milliseconds.
    pub delay_ms: u64,
    /// How the stream is cut.
    pub stream: StreamOptions,
    /// A fault in the middle.
    pub fault: Option<Fault>,
}

/// A status with an error or any other body.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusReply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: StatusBody,
    /// Response headers, added to or in place of the usual ones.
    pub headers: BTreeMap<String, String>,
    /// Pause before the response, in milliseconds.
    pub delay_ms: u64,
    /// A fault in the middle.
    pub fault: Option<Fault>,
}

/// The body of a [`StatusReply`].
#[derive(Debug, Clone, PartialEq)]
pub enum StatusBody {
    /// The API's error envelope.
    Error(ErrorDetail),
    /// Any text, sent as it is.
    Text(String),
}

/// A hand-written event stream.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsReply {
    /// The events in order.
    pub events: Vec<ScriptedEvent>,
    /// Response headers, added to or in place of the usual ones.
    pub headers: BTreeMap<String, String>,
    /// Pause before the response, in milliseconds.
    pub delay_ms: u64,
    /// How the stream is cut.
    pub stream: StreamOptions,
    /// A fault in the middle.
    pub fault: Option<Fault>,
}

/// One event of a hand-written stream.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedEvent {
    /// The `event:` line; the data's `type` when absent, no line when empty.
    pub event: Option<String>,
    /// The JSON of the `data:` line.
    pub data: Option<Value>,
    /// Text sent in place of the whole event, blank line included.
    pub raw: Option<String>,
}

/// Token counts of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenUsage {
    /// Tokens of the request that no cache held. The default is 10.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply. The default grows with its content.
    pub output_tokens: Option<u64>,
    /// Tokens of the request that were written to the cache. The default is 0.
    pub cache_creation_input_tokens: u64,
    /// Tokens of the request that the cache held. The default is 0.
    pub cache_read_input_tokens: u64,
}

/// The inner part of the API's error envelope.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorDetail {
    /// The error type, such as `overloaded_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The message.
    pub message: String,
}
