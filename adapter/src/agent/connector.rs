//! Operations of connectors: tools whose every call leaves the turn, because it needs a call ID.

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::agent::tool::{
    Tool, ToolError, ToolHandler, ToolOutput, current_deferred_tool_execution,
};

/// One call of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectorCall {
    /// Opaque; the same for all attempts of one call, different for every call.
    pub call_id: String,
    /// Counts from 1.
    pub attempt: u32,
    /// The arguments, which fit the operation's input schema.
    pub arguments: Value,
}

/// How an attempt of a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectorOutcome {
    /// The operation took effect. Recorded as succeeded.
    Succeeded(ToolOutput),
    /// The operation took no effect and will take none, for this reason. Recorded as failed.
    Failed(String),
    /// Nobody knows whether the operation took effect. Attempted again if its effect allows that;
    /// at last recorded as unknown.
    Unknown(String),
}

/// An operation of a connector.
#[async_trait]
pub trait ConnectorOperation: Send + Sync + 'static {
    /// Makes one attempt of a call.
    async fn call(&self, call: ConnectorCall) -> ConnectorOutcome;
}

struct OperationHandler<Operation>(Operation);

#[async_trait]
impl<Operation: ConnectorOperation> ToolHandler for OperationHandler<Operation> {
    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        let execution = current_deferred_tool_execution()
            .ok_or_else(|| ToolError::new("an operation of a connector runs in a Step only"))?;
        let call = ConnectorCall {
            call_id: execution.idempotency_key,
            attempt: execution.attempt,
            arguments,
        };
        match self.0.call(call).await {
            ConnectorOutcome::Succeeded(output) => Ok(ToolOutput {
                is_error: false,
                ..output
            }),
            ConnectorOutcome::Failed(reason) => Ok(ToolOutput::error(reason)),
            ConnectorOutcome::Unknown(reason) => Err(ToolError::new(reason)),
        }
    }
}

impl Tool {
    /// A tool that is an operation of a connector, to be offered by a
    /// [`ToolSource`](crate::ToolSource). Its annotations or its policy say how often a call may be
    /// attempted.
    #[must_use]
    pub fn connector(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Map<String, Value>,
        operation: impl ConnectorOperation,
    ) -> Self {
        Self {
            always_leaves_turn: true,
            ..Self::new(name, description, input_schema, OperationHandler(operation))
        }
    }
}
