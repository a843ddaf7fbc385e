//! Makes an agent of the protocol's definition; its handlers ask the other side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adapter::{
    AgentError, ApplicationHook, ClaudeAgent, ClaudeAgentOptions, HookHandler, OptionsContext,
    OptionsError, OptionsFactory, RetryPolicy, Sabotage, Tool, ToolAnnotations, ToolContent,
    ToolEffect, ToolError, ToolHandler, ToolOutput, ToolPolicy, ToolSource,
    current_deferred_tool_execution,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::peer::Peer;

/// The CLI, as `initialize` names it.
#[derive(Clone, Deserialize)]
pub(crate) struct CliForm {
    path: PathBuf,
    env: BTreeMap<String, String>,
}

/// The parameters of `agent/define`.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct AgentForm {
    tools: Vec<ToolForm>,
    tool_policies: BTreeMap<String, PolicyForm>,
    options: Map<String, Value>,
    hooks: Vec<HookForm>,
    tool_sources: Vec<ToolSourceForm>,
}

#[derive(Deserialize)]
struct ToolForm {
    name: String,
    description: String,
    input_schema: Map<String, Value>,
    effect: Option<ToolEffect>,
    approval: Option<Approval>,
    annotations: Option<ToolAnnotations>,
}

#[derive(Deserialize)]
struct PolicyForm {
    effect: Option<ToolEffect>,
    approval: Option<Approval>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Approval {
    Required,
    NotRequired,
}

#[derive(Clone, Deserialize)]
struct HookForm {
    event: String,
    matcher: Option<String>,
}

#[derive(Deserialize)]
struct ToolSourceForm {
    tools: Vec<ToolForm>,
}

/// Builds the agent.
pub(crate) fn define(
    form: AgentForm,
    cli: &CliForm,
    peer: &Arc<Peer>,
    sabotage: Option<Sabotage>,
) -> Result<ClaudeAgent, AgentError> {
    let retry = retry(&form.options);
    let mut builder = ClaudeAgent::builder(RemoteOptions {
        peer: Arc::clone(peer),
        env: cli.env.clone(),
        hooks: form.hooks,
    })
    .cli(&cli.path)
    .retry(retry);
    for tool in form.tools {
        builder = builder
            .tool_policy(&tool.name, policy(tool.effect, tool.approval))
            .tool(remote_tool(tool, peer));
    }
    for source in form.tool_sources {
        for tool in &source.tools {
            builder = builder.tool_policy(&tool.name, policy(tool.effect, tool.approval));
        }
        let tools = source.tools.into_iter().map(|tool| remote_tool(tool, peer));
        builder = builder.tool_source(ToolSource::new(tools));
    }
    for (tool, form) in form.tool_policies {
        builder = builder.tool_policy(tool, policy(form.effect, form.approval));
    }
    if let Some(sabotage) = sabotage {
        builder = builder.sabotage(sabotage);
    }
    builder.build()
}

fn retry(options: &Map<String, Value>) -> RetryPolicy {
    let number = |name: &str| options.get(name).and_then(Value::as_u64);
    let standard = RetryPolicy::default();
    RetryPolicy {
        max_attempts: number("max_attempts")
            .and_then(|attempts| u32::try_from(attempts).ok())
            .unwrap_or(standard.max_attempts),
        first_backoff: number("retry_backoff_ms")
            .map_or(standard.first_backoff, Duration::from_millis),
    }
}

fn policy(effect: Option<ToolEffect>, approval: Option<Approval>) -> ToolPolicy {
    let policy = effect.map_or_else(ToolPolicy::default, ToolPolicy::new);
    match approval {
        Some(Approval::Required) => policy.requires_approval(),
        Some(Approval::NotRequired) => policy.without_approval(),
        None => policy,
    }
}

fn remote_tool(form: ToolForm, peer: &Arc<Peer>) -> Tool {
    let handler = RemoteTool {
        peer: Arc::clone(peer),
        name: form.name.clone(),
    };
    Tool::new(form.name, form.description, form.input_schema, handler)
        .annotations(form.annotations.unwrap_or_default())
}

struct RemoteTool {
    peer: Arc<Peer>,
    name: String,
}

#[derive(Deserialize)]
struct ToolResultForm {
    content: Vec<Value>,
    is_error: bool,
}

#[async_trait]
impl ToolHandler for RemoteTool {
    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        let execution = current_deferred_tool_execution().map(|execution| {
            json!({
                "idempotency_key": execution.idempotency_key,
                "attempt": execution.attempt,
                "tool_use_id": execution.tool_use_id,
            })
        });
        let params = json!({"tool": self.name, "arguments": arguments, "execution": execution});
        let result = self.peer.call("tool/call", params).await;
        let form: ToolResultForm = serde_json::from_value(result.map_err(ToolError::new)?)?;
        Ok(ToolOutput {
            content: form
                .content
                .into_iter()
                .map(ToolContent::from_json)
                .collect(),
            is_error: form.is_error,
        })
    }
}

struct RemoteHook {
    peer: Arc<Peer>,
    event: String,
}

#[async_trait]
impl HookHandler for RemoteHook {
    async fn call(&self, input: Value) -> Result<Value, ToolError> {
        let params = json!({"event": self.event, "input": input});
        let result = self.peer.call("hook/call", params).await;
        Ok(result.map_err(ToolError::new)?["output"].take())
    }
}

struct RemoteOptions {
    peer: Arc<Peer>,
    env: BTreeMap<String, String>,
    hooks: Vec<HookForm>,
}

#[async_trait]
impl OptionsFactory for RemoteOptions {
    async fn options(&self, context: OptionsContext) -> Result<ClaudeAgentOptions, OptionsError> {
        let params = json!({
            "flow_id": context.flow_id,
            "turn_id": context.turn_id,
            "attempt": context.attempt,
        });
        let result = self.peer.call("options/call", params).await;
        let mut form = result.map_err(OptionsError::Factory)?["options"].take();
        if let Some(fields) = form.as_object_mut() {
            fields.remove("max_attempts");
            fields.remove("retry_backoff_ms");
            if let Some(tools) = fields.remove("built_in_tools") {
                fields.insert("tools".to_owned(), tools);
            }
            fields.insert("setting_sources".to_owned(), json!([]));
        }
        let mut options = ClaudeAgentOptions::from_json(form)?;
        for (name, value) in &self.env {
            options
                .env
                .entry(name.clone())
                .or_insert_with(|| value.clone());
        }
        options.hooks = self
            .hooks
            .iter()
            .map(|hook| self.remote_hook(hook))
            .collect();
        Ok(options)
    }
}

impl RemoteOptions {
    fn remote_hook(&self, form: &HookForm) -> ApplicationHook {
        let handler = RemoteHook {
            peer: Arc::clone(&self.peer),
            event: form.event.clone(),
        };
        ApplicationHook::new(form.event.clone(), form.matcher.clone(), handler)
    }
}
