//! The script language: what the API answers, and to which request.

mod block;
mod exchange;
mod expectation;
mod fault;
mod one_or_many;
mod problem;
mod reply;
mod reply_fields;
mod source;
mod stream_options;
mod text_match;

pub use block::{Block, CallInput, ToolCall};
pub use exchange::{Exchange, RequestCondition, Script};
pub use expectation::{RequestExpectation, ToolResultExpectation};
pub use fault::{Fault, FaultAction, FaultPoint};
pub use one_or_many::OneOrMany;
pub use problem::ScriptProblem;
pub use reply::{
    ErrorDetail, EventsReply, MessageReply, Reply, ReplyAttempts, ScriptedEvent, StatusBody,
    StatusReply, TokenUsage,
};
pub use source::ScriptError;
pub use stream_options::{LineEnding, Pings, StreamOptions};
pub use text_match::{Pattern, TextMatch};
