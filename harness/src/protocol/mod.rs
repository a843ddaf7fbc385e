//! The runner protocol, version 1: JSON-RPC 2.0, one message a line, both ways.

mod messages;
mod schema;

pub use messages::*;
pub use schema::{METHODS, Method, Sender, protocol_schema};
