//! The runner protocol, version 1: JSON-RPC 2.0, one message a line, both ways.

mod agent;
mod handshake;
mod requests;
mod schema;
mod session;
mod snapshot;

pub use agent::*;
pub use handshake::*;
pub use requests::*;
pub use schema::{METHODS, Method, Sender, protocol_schema};
pub use session::*;
pub use snapshot::*;
