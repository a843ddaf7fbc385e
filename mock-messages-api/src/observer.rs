//! Watching and steering a reply from outside.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Sees every step of every request, and may hold or cut it there.
#[async_trait]
pub trait Observer: Send + Sync {
    /// Called at each step and awaited: the exchange goes on when the answer is there.
    ///
    /// When the client disconnects in the meantime, the future is dropped and [`ApiEvent::Finished`] follows.
    async fn observe(&self, event: ApiEvent) -> Directive;
}

/// A step of one request.
#[derive(Debug, Clone)]
pub enum ApiEvent {
    /// A request has arrived, body included; nothing was decided.
    RequestArrived {
        /// Which request it is.
        request: RequestIdentity,
        /// The HTTP method.
        method: String,
        /// The path as it was asked, query included.
        path: String,
        /// The body, as text when it is no JSON.
        body: Arc<Value>,
    },
    /// The reply is known; nothing of it was sent.
    ReplyChosen {
        /// Which request it is.
        request: RequestIdentity,
        /// The exchange that answers, from 1; absent when the server answers without the script.
        exchange: Option<usize>,
        /// The HTTP status of the reply.
        status: u16,
        /// How many events the reply has; 0 when it is not streamed.
        events: usize,
    },
    /// An event of the stream is about to be sent; everything before it has reached the socket.
    BeforeEvent {
        /// Which request it is.
        request: RequestIdentity,
        /// The event's position, from 0.
        index: usize,
        /// The event's type.
        event_type: String,
    },
    /// The response is over. The directive is ignored.
    Finished {
        /// Which request it is.
        request: RequestIdentity,
        /// How it ended.
        end: ReplyEnd,
    },
}

impl ApiEvent {
    /// Which request the event belongs to.
    #[must_use]
    pub fn request(&self) -> &RequestIdentity {
        match self {
            Self::RequestArrived { request, .. }
            | Self::ReplyChosen { request, .. }
            | Self::BeforeEvent { request, .. }
            | Self::Finished { request, .. } => request,
        }
    }
}

/// Which request an event belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestIdentity {
    /// The session of the request's path; empty for the root.
    pub session: String,
    /// The client label of the request's path.
    pub client: Option<String>,
    /// The request's number within its session, from 1; the same as in the journal.
    pub number: u64,
}

/// What an observer makes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Directive {
    /// Goes on.
    Continue,
    /// Resets the connection (RST) here.
    Reset,
    /// Closes the connection here, without ending the response.
    Close,
    /// Sends so many bytes of the coming event, then closes or resets the connection.
    Truncate {
        /// How many bytes of the event are still sent.
        bytes: usize,
        /// Whether the connection is reset rather than closed.
        reset: bool,
    },
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyEnd {
    /// It was sent whole.
    Completed,
    /// The connection went before its end: the client left, or the server was stopped.
    ClientDisconnected,
    /// A fault of the script cut it.
    ScriptedFault,
    /// An observer cut it.
    Cut,
}
