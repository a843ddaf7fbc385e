//! The custom tools' calls inside a segment.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;

use crate::agent::definition::ClaudeAgent;
use crate::agent::sabotage::Sabotage;
use crate::agent::tool::{ToolError, ToolOutput, within_execution};
use crate::mcp::ToolCalls;
use crate::segment::gate::{Gate, Passage};
use crate::segment::run::Publish;
use crate::session::event::SessionEvent;
use crate::session::record::{DEFAULT_REJECTION, ToolCallOutcome, ToolCallRecord};

/// Runs reads inside the turn and answers everything else from the record.
pub(crate) struct SegmentCalls {
    pub(crate) agent: ClaudeAgent,
    pub(crate) gate: Arc<Mutex<Gate>>,
    pub(crate) publish: Publish,
}

#[async_trait]
impl ToolCalls for SegmentCalls {
    async fn call(
        &self,
        tool: &str,
        tool_use_id: Option<&str>,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        let passage = self
            .gate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .tools_call(tool, tool_use_id);
        match passage {
            Passage::RunInline => {
                self.run_inline(tool, tool_use_id.unwrap_or_default(), arguments)
                    .await
            }
            Passage::Recorded(record) => Ok(self.recorded_output(record)),
            Passage::Refused { reason } => Ok(ToolOutput::error(reason)),
        }
    }
}

impl SegmentCalls {
    async fn run_inline(
        &self,
        name: &str,
        tool_use_id: &str,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        let Some(tool) = self.agent.tool(name) else {
            return Ok(ToolOutput::error(format!("there is no tool {name}")));
        };
        (self.publish)(SessionEvent::ToolCallStarted {
            tool_call_id: tool_use_id.to_owned(),
            tool: name.to_owned(),
        });
        let result = match tool.validation_error(&arguments) {
            Some(error) => Ok(ToolOutput::error(format!(
                "Input validation error: {error}"
            ))),
            None => within_execution(None, tool.handler.call(arguments)).await,
        };
        let succeeded = result.as_ref().is_ok_and(|output| !output.is_error);
        (self.publish)(SessionEvent::ToolCallFinished {
            tool_call_id: tool_use_id.to_owned(),
            tool: name.to_owned(),
            outcome: if succeeded {
                ToolCallOutcome::Succeeded
            } else {
                ToolCallOutcome::Failed
            },
        });
        result
    }

    fn recorded_output(&self, record: ToolCallRecord) -> ToolOutput {
        let is_rejected = record.outcome == ToolCallOutcome::Rejected;
        let text = if self.agent.is_sabotaged(Sabotage::AlterRecordedText) {
            format!("{} (altered)", record.output)
        } else if is_rejected && self.agent.is_sabotaged(Sabotage::IgnoreRejectionMessage) {
            DEFAULT_REJECTION.to_owned()
        } else {
            record.output
        };
        if record.outcome == ToolCallOutcome::Succeeded {
            ToolOutput::text(text)
        } else {
            ToolOutput::error(text)
        }
    }
}
