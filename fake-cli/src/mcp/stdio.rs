//! A server in a process of its own, over its standard streams.

use std::collections::HashMap;
use std::process::Stdio;

use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ServiceError, ServiceExt};
use serde_json::{Value, json};

/// Variables of this process that a server gets; the rest it gets from its configuration.
const INHERITED: [&str; 7] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// The connection to one server process, which ends with it.
pub(super) struct StdioConnection {
    service: RunningService<RoleClient, ()>,
}

impl StdioConnection {
    /// Starts the server, shakes hands, and lists its tools.
    pub(super) async fn open(
        command: &str,
        arguments: &[String],
        environment: &HashMap<String, String>,
    ) -> Result<(Self, Value), String> {
        let mut process = tokio::process::Command::new(command);
        process
            .args(arguments)
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| std::env::var_os(name).map(|value| (*name, value))),
            )
            .envs(environment)
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        let transport = TokioChildProcess::new(process).map_err(|error| error.to_string())?;
        let service = ().serve(transport).await.map_err(|error| error.to_string())?;
        let tools = service
            .list_all_tools()
            .await
            .map_err(|error| error.to_string())?;
        Ok((Self { service }, json!(tools)))
    }

    /// What the server says about itself.
    pub(super) fn information(&self) -> Value {
        self.service
            .peer_info()
            .map_or(Value::Null, |information| json!(information.server_info))
    }

    /// Calls a tool and returns its result, or the words of its error.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.service.call_tool(request).await {
            Ok(result) => Ok(json!(result)),
            Err(ServiceError::McpError(error)) => Err(error.message.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}
