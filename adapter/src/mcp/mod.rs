//! The MCP server of the custom tools, reached through the CLI's control frames.

pub(crate) mod bridge;
mod server;

pub(crate) use server::ToolCalls;
