//! The HTTP server.

mod address;
mod connection;
mod control;
mod decision;
mod exchange;
mod handle;
mod response;
mod state;

pub use handle::{MockMessagesApi, MockMessagesApiBuilder};
