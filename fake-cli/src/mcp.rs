//! MCP servers: those of the host, over control frames, and those of the configuration, as processes.

mod config;
mod outcome;
mod sdk;
mod servers;
mod stdio;

pub(crate) use config::{ServerConfig, read_configs, read_servers, sdk_server};
pub(crate) use outcome::CallOutcome;
pub(crate) use servers::{McpServers, McpTool, title_case};
