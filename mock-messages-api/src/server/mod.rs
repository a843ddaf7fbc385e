//! The HTTP server.

mod address;
mod connection;
mod control;
mod decision;
mod exchange;
mod handle;
mod planner;
mod response;
mod state;
mod writer;

pub use handle::{MockMessagesApi, MockMessagesApiBuilder};
