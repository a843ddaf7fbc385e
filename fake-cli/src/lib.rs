//! A stand-in for the Claude Code CLI in headless stream-json mode, for tests.
//!
//! The binary `fake-claude` takes the command line of the SDKs, speaks their frames and control
//! protocol, keeps transcripts, and calls a Messages API over HTTP, as the imitated version was
//! observed to do. It starts in milliseconds and needs no network beyond the API it is pointed at.

mod arguments;
mod clock;
mod control;
mod environment;
mod frames;
mod hooks;
mod input;
mod mcp;
mod messages_api;
mod output;
mod permissions;
mod process;
mod quirks;
mod scripted;
mod session;
mod tools;
mod transcript;
mod turn;
mod usage;

pub use arguments::{ArgumentError, Arguments, Invocation, Privileges};
pub use process::run_process;
pub use quirks::{QUIRKS, Quirk, QuirkDescription, Quirks, UnknownQuirk};

/// The version whose behaviour is imitated.
pub const IMITATED_VERSION: &str = "2.1.316";
