//! The HTTP server.

mod address;
mod connection;
mod control;
mod decision;
mod handle;
mod planner;
mod response;
mod served_request;
mod state;
mod writer;

pub use handle::{MockMessagesApi, MockMessagesApiBuilder};
