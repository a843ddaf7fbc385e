//! The program as a host sees it: a process, its streams, its files, and its requests to an API.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say so and stop"
)]

mod api;
mod arguments;
mod builtin_tools;
mod control;
mod deferral;
mod faults;
mod host;
mod input;
mod mcp_servers;
mod permissions;
mod plain_turns;
mod prompt_commands;
mod quirks;
mod robustness;
mod signals;
mod transcripts;
