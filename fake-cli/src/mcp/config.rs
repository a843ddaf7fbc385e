//! `--mcp-config`: JSON on the command line or in a file.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

/// One configured server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerConfig {
    pub(crate) name: String,
    pub(crate) kind: ServerKind,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerKind {
    /// In the host, over control frames.
    Sdk,
    /// A process that speaks over its standard streams.
    Stdio {
        command: String,
        arguments: Vec<String>,
        environment: HashMap<String, String>,
    },
    /// A transport this program does not speak: the server is listed as failed.
    Unsupported,
}

/// The configuration cannot be read; the text goes to stderr and the exit code is 1.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpConfigError {
    #[error("Error: Invalid MCP configuration:\nMCP config file not found: {0}")]
    NotFound(String),
    #[error("Error: Invalid MCP configuration:\nMCP config is not valid JSON: {0}")]
    NotJson(String),
    #[error(
        "Error: Invalid MCP configuration:\nmcpServers: Does not adhere to MCP server configuration schema"
    )]
    NoServers,
}

/// Reads every configuration, in order.
pub(crate) fn read_configs(
    sources: &[String],
    working_directory: &Path,
) -> Result<Vec<ServerConfig>, McpConfigError> {
    let mut servers = Vec::new();
    for source in sources {
        let config = read_source(source, working_directory)?;
        let listed = config["mcpServers"]
            .as_object()
            .ok_or(McpConfigError::NoServers)?;
        servers.extend(listed.iter().map(read_server));
    }
    Ok(servers)
}

/// Reads the servers of a `mcp_set_servers` request.
pub(crate) fn read_servers(servers: &Value) -> Vec<ServerConfig> {
    servers
        .as_object()
        .into_iter()
        .flatten()
        .map(read_server)
        .collect()
}

fn read_server((name, server): (&String, &Value)) -> ServerConfig {
    ServerConfig {
        name: name.clone(),
        kind: read_kind(server),
    }
}

/// What parses as JSON is a configuration; everything else names a file (observed on CLI 2.1.316).
fn read_source(source: &str, working_directory: &Path) -> Result<Value, McpConfigError> {
    if let Ok(config @ Value::Object(_)) = serde_json::from_str::<Value>(source) {
        return Ok(config);
    }
    let path = working_directory.join(source);
    let text = std::fs::read_to_string(&path)
        .map_err(|_| McpConfigError::NotFound(path.display().to_string()))?;
    serde_json::from_str(&text).map_err(|error| McpConfigError::NotJson(error.to_string()))
}

fn read_kind(server: &Value) -> ServerKind {
    match (server["type"].as_str(), server["command"].as_str()) {
        (Some("sdk"), _) => ServerKind::Sdk,
        (None | Some("stdio"), Some(command)) => ServerKind::Stdio {
            command: command.to_owned(),
            arguments: server["args"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|argument| argument.as_str().map(str::to_owned))
                .collect(),
            environment: server["env"]
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
        },
        _ => ServerKind::Unsupported,
    }
}

/// A server of the host that `initialize` names.
pub(crate) fn sdk_server(name: &str) -> ServerConfig {
    ServerConfig {
        name: name.to_owned(),
        kind: ServerKind::Sdk,
    }
}
