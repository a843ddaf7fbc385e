//! What the server offers and how it runs a call.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::agent::tool::{Tool, ToolError, ToolOutput};

/// Where the CLI puts the model's id of a call. Observed on CLI 2.1.316.
const TOOL_USE_ID: &str = "claudecode/toolUseId";

/// Runs, or refuses to run, the calls that reach the server.
#[async_trait]
pub(crate) trait ToolCalls: Send + Sync + 'static {
    async fn call(
        &self,
        tool: &str,
        tool_use_id: Option<&str>,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError>;
}

/// The server behind the name `tools`.
pub(crate) struct ToolServer {
    tools: Vec<rmcp::model::Tool>,
    calls: Arc<dyn ToolCalls>,
}

impl ToolServer {
    pub(crate) fn new<'a>(
        tools: impl Iterator<Item = &'a Tool>,
        calls: Arc<dyn ToolCalls>,
    ) -> Self {
        Self {
            tools: tools.map(offered).collect(),
            calls,
        }
    }
}

fn offered(tool: &Tool) -> rmcp::model::Tool {
    let mut offered = rmcp::model::Tool::new(
        tool.name.clone(),
        tool.description.clone(),
        Arc::new(tool.input_schema.clone()),
    );
    offered.annotations = serde_json::to_value(&tool.annotations)
        .and_then(serde_json::from_value)
        .ok();
    offered
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool_use_id = context.meta.get(TOOL_USE_ID).and_then(Value::as_str);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let output = self
            .calls
            .call(&request.name, tool_use_id, arguments)
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        call_result(&output).map(CallToolResponse::from)
    }
}

fn call_result(output: &ToolOutput) -> Result<CallToolResult, ErrorData> {
    let content = output
        .content
        .iter()
        .map(|block| serde_json::from_value::<ContentBlock>(block.as_json().clone()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| {
            ErrorData::internal_error(format!("read the tool's content: {error}"), None)
        })?;
    Ok(if output.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    })
}
