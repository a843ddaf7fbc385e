//! Answers the CLI's requests.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::agent::definition::ClaudeAgent;
use crate::agent::policy::TOOL_SERVER_NAME;
use crate::agent::sabotage::Sabotage;
use crate::cli::frame::{self, ControlRequest};
use crate::mcp::bridge::McpBridge;
use crate::segment::gate::{AskedCall, Gate, Verdict};
use crate::segment::hooks::{DECIDE, Hooks, REWRITE};

/// A frame that answers a request, once it is known.
pub(crate) type Answer = BoxFuture<'static, Value>;

/// Turns requests into answers.
pub(crate) struct Answerer {
    agent: ClaudeAgent,
    gate: Arc<Mutex<Gate>>,
    hooks: Hooks,
    mcp: McpBridge,
}

impl Answerer {
    pub(crate) fn new(
        agent: ClaudeAgent,
        gate: Arc<Mutex<Gate>>,
        hooks: Hooks,
        mcp: McpBridge,
    ) -> Self {
        Self {
            agent,
            gate,
            hooks,
            mcp,
        }
    }

    /// The answer to a request; `None` for one that is left open on purpose.
    pub(crate) fn answer(&self, request_id: String, request: ControlRequest) -> Option<Answer> {
        let answer = match request {
            ControlRequest::McpMessage {
                server_name,
                message,
            } => self.mcp_message(request_id, &server_name, message),
            ControlRequest::HookCallback {
                callback_id,
                input,
                tool_use_id,
            } => self.hook_callback(request_id, &callback_id, input, tool_use_id),
            ControlRequest::CanUseTool {
                tool_name,
                input,
                tool_use_id,
                agent_id,
            } => self.can_use_tool(request_id, tool_name, input, tool_use_id, agent_id),
            ControlRequest::Unknown => immediately(frame::failure(
                &request_id,
                "the adapter does not know this request",
            )),
        };
        (!self.agent.is_sabotaged(Sabotage::AnswerNothing)).then_some(answer)
    }

    fn mcp_message(&self, request_id: String, server: &str, message: Value) -> Answer {
        if server != TOOL_SERVER_NAME {
            return immediately(frame::failure(&request_id, "there is no such MCP server"));
        }
        let response = self.mcp.deliver(message);
        async move {
            match response.await {
                Ok(response) => frame::success(&request_id, &json!({"mcp_response": response})),
                Err(error) => frame::failure(&request_id, &error),
            }
        }
        .boxed()
    }

    fn hook_callback(
        &self,
        request_id: String,
        callback_id: &str,
        input: Value,
        tool_use_id: Option<String>,
    ) -> Answer {
        match callback_id {
            DECIDE => self.decide(request_id, input, tool_use_id),
            REWRITE => self.rewrite(request_id, input, tool_use_id),
            application => {
                let output = self.hooks.call_application(application, input);
                async move {
                    match output.await {
                        Ok(output) => frame::success(&request_id, &output),
                        Err(error) => frame::failure(&request_id, &error),
                    }
                }
                .boxed()
            }
        }
    }

    fn decide(&self, request_id: String, input: Value, tool_use_id: Option<String>) -> Answer {
        let call = asked_call(&input, tool_use_id);
        let application = self
            .hooks
            .before_tool(&call.tool_use_id, &call.tool, &input);
        let gate = Arc::clone(&self.gate);
        async move {
            let application = application.await;
            let mut gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
            let is_resumed = gate.is_resumed(&call.tool_use_id);
            let verdict = match application.denial {
                Some(reason) if !is_resumed => {
                    gate.deny(&call);
                    Verdict::Deny { reason }
                }
                _ => gate.pre_tool_use(&call),
            };
            let verdict = match verdict {
                Verdict::Allow { arguments: None } => Verdict::Allow {
                    arguments: application.updated_input,
                },
                other => other,
            };
            frame::success(&request_id, &hook_output(&verdict))
        }
        .boxed()
    }

    /// Rewrites the input without a word on permission, so that a deferral records the new input.
    fn rewrite(&self, request_id: String, input: Value, tool_use_id: Option<String>) -> Answer {
        let call = asked_call(&input, tool_use_id);
        if self.lock().is_resumed(&call.tool_use_id) {
            return immediately(frame::success(&request_id, &json!({})));
        }
        let application = self
            .hooks
            .before_tool(&call.tool_use_id, &call.tool, &input);
        async move {
            let output = match application.await.updated_input {
                Some(updated) => json!({"hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "updatedInput": updated,
                }}),
                None => json!({}),
            };
            frame::success(&request_id, &output)
        }
        .boxed()
    }

    fn can_use_tool(
        &self,
        request_id: String,
        tool: String,
        input: Value,
        tool_use_id: Option<String>,
        agent_id: Option<String>,
    ) -> Answer {
        let call = AskedCall {
            tool,
            tool_use_id: tool_use_id.unwrap_or_default(),
            in_subagent: agent_id.is_some(),
        };
        let response = match self.lock().can_use_tool(&call) {
            Verdict::Allow { arguments } => {
                json!({"behavior": "allow", "updatedInput": arguments.unwrap_or(input)})
            }
            Verdict::Deny { reason } => json!({"behavior": "deny", "message": reason}),
            // A permission request cannot defer; the gate never says so.
            Verdict::Defer => {
                json!({"behavior": "deny", "message": "the call cannot be deferred here"})
            }
        };
        immediately(frame::success(&request_id, &response))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn immediately(answer: Value) -> Answer {
    std::future::ready(answer).boxed()
}

fn asked_call(input: &Value, tool_use_id: Option<String>) -> AskedCall {
    AskedCall {
        tool: input["tool_name"].as_str().unwrap_or_default().to_owned(),
        tool_use_id: input["tool_use_id"]
            .as_str()
            .map(str::to_owned)
            .or(tool_use_id)
            .unwrap_or_default(),
        in_subagent: input.get("agent_id").is_some_and(|id| !id.is_null()),
    }
}

fn hook_output(verdict: &Verdict) -> Value {
    let mut output = json!({"hookEventName": "PreToolUse"});
    match verdict {
        Verdict::Allow { arguments } => {
            output["permissionDecision"] = json!("allow");
            if let Some(arguments) = arguments {
                output["updatedInput"] = arguments.clone();
            }
        }
        Verdict::Defer => output["permissionDecision"] = json!("defer"),
        Verdict::Deny { reason } => {
            output["permissionDecision"] = json!("deny");
            output["permissionDecisionReason"] = json!(reason);
        }
    }
    json!({"hookSpecificOutput": output})
}
