//! What the server was asked and what it answered.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::observer::ReplyEnd;

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JournalEntry {
    /// The session of the request's path; empty for the root.
    pub session: String,
    /// The client label of the request's path.
    pub client: Option<String>,
    /// The request's number within its session, from 1, in the order of arrival; it goes on counting when a script
    /// is mounted anew.
    pub number: u64,
    /// The HTTP method.
    pub method: String,
    /// The path as it was asked, query included.
    pub path: String,
    /// The headers; a key is replaced by whether it is the expected one.
    pub headers: BTreeMap<String, String>,
    /// The body, as text when it is no JSON.
    pub body: Value,
    /// What the server made of it.
    pub outcome: Outcome,
    /// What the script expected of the request and did not find.
    pub failed_expectations: Vec<String>,
    /// The types of the events that were sent, in order.
    pub events: Vec<String>,
    /// How the response ended; absent while it is under way.
    pub end: Option<ReplyEnd>,
}

/// What the server made of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// No reply was chosen yet, or the client left before.
    Undecided,
    /// An exchange of the script answered.
    Answered {
        /// Position of the exchange, from 1.
        exchange: usize,
        /// How many requests had chosen it, this one included.
        attempt: usize,
        /// The id of the message, unless the reply was an error.
        message_id: Option<String>,
        /// The status of the reply.
        status: u16,
    },
    /// No exchange of the script answers; the request got a 403.
    Unanswered {
        /// Which exchanges came nearest and why they do not answer.
        message: String,
    },
    /// The real API would refuse the request; so did the server.
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The error's message.
        message: String,
    },
    /// A request that needs no script, such as a count of tokens.
    Served,
}
