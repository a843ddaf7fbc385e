//! The cell's end of every tap: numbers the CLI processes, and decides about each of their lines.

mod arguments;
mod connection;
mod line;
mod server;
mod turns;

pub(crate) use server::{TapServer, listen, process_ids};
