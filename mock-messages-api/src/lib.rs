//! A scripted Anthropic Messages API for tests: streaming, faults, a journal, and replies chosen by what a request
//! carries.
//!
//! Start with [`MockMessagesApi`] and [`Script`].

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod error_envelope;
mod identity;
mod journal;
mod model;
mod observer;
mod reply;
mod request;
mod script;
mod selection;
mod server;
mod verification;

pub use journal::{JournalEntry, Outcome};
pub use model::Model;
pub use observer::{ApiEvent, Directive, Observer, ReplyEnd, RequestIdentity};
pub use script::{
    Block, CallInput, ErrorDetail, EventsReply, Exchange, Fault, FaultAction, FaultPoint,
    LineEnding, MessageReply, OneOrMany, Pattern, Pings, Reply, ReplyAttempts, RequestCondition,
    RequestExpectation, Script, ScriptError, ScriptProblem, ScriptedEvent, StatusBody, StatusReply,
    StreamOptions, TextMatch, TokenUsage, ToolCall, ToolResultExpectation,
};
pub use server::{MockMessagesApi, MockMessagesApiBuilder};
pub use verification::VerificationError;
