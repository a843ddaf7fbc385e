//! From a scripted reply to the bytes on the wire.

mod cut;
mod event;
mod message;
mod tool_name;

pub(crate) use event::{WireEvent, error_event, message_events, scripted_events};
pub(crate) use message::{RenderedMessage, estimated_input_tokens};
pub(crate) use tool_name::{ResolvedTool, resolve_tool};
