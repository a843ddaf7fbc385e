//! Makes an agent of the protocol's definition; its handlers ask the other side.

use std::collections::BTreeMap;
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
pub(crate) struct Cli {
    path: std::path::PathBuf,
    env: BTreeMap<String, String>,
}

/// The parameters of `agent/define`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct AgentForm {
    tools: Vec<ToolForm>,
    tool_policies: BTreeMap<String, PolicyForm>,
    options: Value,
    hooks: Vec<HookForm>,
    tool_sources: Vec<SourceForm>,
}

#[derive(Deserialize)]
struct ToolForm {
    name: String,
    description: String,
    input_schema: Map<String, Value>,
    effect: Option<ToolEffect>,
    approval: Option<String>,
    annotations: Option<ToolAnnotations>,
}

#[derive(Deserialize)]
struct PolicyForm {
    effect: Option<ToolEffect>,
    approval: Option<String>,
}

#[derive(Clone, Deserialize)]
struct HookForm {
    event: String,
    matcher: Option<String>,
}

#[derive(Deserialize)]
struct SourceForm {
    tools: Vec<ToolForm>,
}

pub(crate) fn define(
    form: AgentForm,
    cli: Cli,
    peer: &Arc<Peer>,
    sabotage: Option<Sabotage>,
) -> Result<ClaudeAgent, AgentError> {
    let mut retry = RetryPolicy::default();
    if let Some(attempts) = form.options["max_attempts"].as_u64() {
        retry.max_attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    }
    if let Some(backoff) = form.options["retry_backoff_ms"].as_u64() {
        retry.first_backoff = Duration::from_millis(backoff);
    }
    let remote = |asks| Remote {
        peer: Arc::clone(peer),
        asks,
    };
    let options = RemoteOptions {
        remote: remote(String::new()),
        env: cli.env,
        hooks: form.hooks,
    };
    let mut builder = ClaudeAgent::builder(options).cli(cli.path).retry(retry);
    let sources = form.tool_sources.iter().flat_map(|source| &source.tools);
    for tool in form.tools.iter().chain(sources) {
        builder = builder.tool_policy(&tool.name, policy(tool.effect, tool.approval.as_deref()));
    }
    let tool = |form: ToolForm| {
        Tool::new(
            form.name.clone(),
            form.description,
            form.input_schema,
            remote(form.name),
        )
        .annotations(form.annotations.unwrap_or_default())
    };
    for form in form.tools {
        builder = builder.tool(tool(form));
    }
    for source in form.tool_sources {
        builder = builder.tool_source(ToolSource::new(source.tools.into_iter().map(tool)));
    }
    for (tool, form) in form.tool_policies {
        builder = builder.tool_policy(tool, policy(form.effect, form.approval.as_deref()));
    }
    if let Some(sabotage) = sabotage {
        builder = builder.sabotage(sabotage);
    }
    builder.build()
}

fn policy(effect: Option<ToolEffect>, approval: Option<&str>) -> ToolPolicy {
    let policy = effect.map_or_else(ToolPolicy::default, ToolPolicy::new);
    match approval {
        Some("required") => policy.requires_approval(),
        Some(_) => policy.without_approval(),
        None => policy,
    }
}

/// A handler on the other side; `asks` is the tool or the hook's event.
#[derive(Clone)]
struct Remote {
    peer: Arc<Peer>,
    asks: String,
}

#[derive(Deserialize)]
struct ToolResult {
    content: Vec<Value>,
    is_error: bool,
}

#[async_trait]
impl ToolHandler for Remote {
    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        let execution = current_deferred_tool_execution().map(|execution| {
            json!({
                "idempotency_key": execution.idempotency_key,
                "attempt": execution.attempt,
                "tool_use_id": execution.tool_use_id,
            })
        });
        let params = json!({"tool": self.asks, "arguments": arguments, "execution": execution});
        let result = self
            .peer
            .call("tool/call", params)
            .await
            .map_err(ToolError::new)?;
        let ToolResult { content, is_error } = serde_json::from_value(result)?;
        let content = content.into_iter().map(ToolContent::from_json).collect();
        Ok(ToolOutput { content, is_error })
    }
}

#[async_trait]
impl HookHandler for Remote {
    async fn call(&self, input: Value) -> Result<Value, ToolError> {
        let params = json!({"event": self.asks, "input": input});
        let result = self.peer.call("hook/call", params).await;
        Ok(result.map_err(ToolError::new)?["output"].take())
    }
}

struct RemoteOptions {
    remote: Remote,
    env: BTreeMap<String, String>,
    hooks: Vec<HookForm>,
}

#[async_trait]
impl OptionsFactory for RemoteOptions {
    async fn options(&self, context: OptionsContext) -> Result<ClaudeAgentOptions, OptionsError> {
        let OptionsContext {
            flow_id,
            turn_id,
            attempt,
            ..
        } = context;
        let params = json!({"flow_id": flow_id, "turn_id": turn_id, "attempt": attempt});
        let result = self.remote.peer.call("options/call", params).await;
        let mut form = result.map_err(OptionsError::Factory)?["options"].take();
        if let Some(fields) = form.as_object_mut() {
            fields.retain(|name, _| name != "max_attempts" && name != "retry_backoff_ms");
            if let Some(tools) = fields.remove("built_in_tools") {
                fields.insert("tools".to_owned(), tools);
            }
            fields.insert("setting_sources".to_owned(), json!([]));
        }
        let mut options = ClaudeAgentOptions::from_json(form)?;
        let own = std::mem::replace(&mut options.env, self.env.clone());
        options.env.extend(own);
        options.hooks = self
            .hooks
            .iter()
            .cloned()
            .map(|hook| self.hook(hook))
            .collect();
        Ok(options)
    }
}

impl RemoteOptions {
    fn hook(&self, HookForm { event, matcher }: HookForm) -> ApplicationHook {
        let handler = Remote {
            asks: event.clone(),
            ..self.remote.clone()
        };
        ApplicationHook::new(event, matcher, handler)
    }
}
