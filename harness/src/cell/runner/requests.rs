//! What the harness does when a runner asks: tools, hooks, options, gates.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::context::CellContext;
use super::super::error::CellError;
use super::super::session::SESSION_ID;
use crate::protocol::{
    EventParams, HookCallParams, HookCallResult, OptionsCallParams, OptionsCallResult,
    SessionChangedParams, StepGateParams, ToolCallParams, ToolCallResult,
};
use crate::scenario::ToolBehaviour;
use crate::trace::{Lane, Observation};

/// What goes back to the runner.
pub(super) enum Reply {
    Result(Value),
    /// A handler that raised, or a request the harness cannot serve.
    Error {
        code: i64,
        message: String,
    },
}

/// Serves one request of runner `worker`.
///
/// # Errors
/// A fragment that says how the runner broke the protocol.
pub(super) async fn serve(
    context: Arc<CellContext>,
    worker: String,
    method: String,
    params: Value,
) -> Result<Reply, String> {
    match method.as_str() {
        "tool/call" => call_tool(&context, &worker, read(&method, params)?).await,
        "hook/call" => call_hook(&context, &worker, read(&method, params)?),
        "options/call" => call_options(&context, read(&method, params)?),
        "step/gate" => pass_gate(&context, &worker, read(&method, params)?).await,
        _ => Err(format!(
            "it sent the request {method}, which the protocol does not have"
        )),
    }
}

/// Takes note of one notification.
///
/// # Errors
/// A fragment that says how the runner broke the protocol.
pub(super) fn note(
    context: &CellContext,
    worker: &str,
    method: &str,
    params: Value,
) -> Result<(), String> {
    match method {
        "event" => {
            let event: EventParams = read(method, params.clone())?;
            let observation = Observation::new(Lane::Runner, "event")
                .worker(worker)
                .field("event", event.event);
            context.recorder.record(observation.payload(params));
        }
        "session/changed" => {
            let changed: SessionChangedParams = read(method, params)?;
            if changed.session_id == SESSION_ID {
                context.session_changed.notify_one();
            }
        }
        _ => {
            return Err(format!(
                "it sent the notification {method}, which the protocol does not have"
            ));
        }
    }
    Ok(())
}

fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, String> {
    serde_json::from_value(params)
        .map_err(|error| format!("its {method} has parameters of the wrong form: {error}"))
}

fn result(value: impl Serialize) -> Result<Reply, String> {
    serde_json::to_value(value)
        .map(Reply::Result)
        .map_err(|error| error.to_string())
}

/// A call that is recorded as dropped unless it was answered: its runner was killed in the meantime.
struct OpenCall<'a> {
    context: &'a CellContext,
    worker: &'a str,
    tool: &'a str,
    answered: bool,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let observation = Observation::new(Lane::Tool, "dropped")
                .worker(self.worker)
                .field("tool", self.tool);
            self.context.recorder.record(observation);
        }
    }
}

async fn call_tool(
    context: &CellContext,
    worker: &str,
    call: ToolCallParams,
) -> Result<Reply, String> {
    let Some(behaviour) = context.plan.tools.get(&call.tool) else {
        return Err(format!(
            "it called the tool {}, which the agent does not define",
            call.tool
        ));
    };
    let payload = serde_json::to_value(&call).map_err(|error| error.to_string())?;
    let observation = |kind: &str| {
        Observation::new(Lane::Tool, kind)
            .worker(worker)
            .field("tool", &*call.tool)
            .payload(payload.clone())
    };
    let mut open = OpenCall {
        context,
        worker,
        tool: &call.tool,
        answered: false,
    };
    context.barriers.observe(observation("called")).wait().await;
    if behaviour.has_effect() {
        context
            .barriers
            .observe(observation("effect_done"))
            .wait()
            .await;
    }
    open.answered = true;
    match behaviour {
        ToolBehaviour::Returns(template) => {
            result(text_result(fill(template, &call.arguments), false))
        }
        ToolBehaviour::Fails(text) => result(text_result(text.clone(), true)),
        ToolBehaviour::Raises(message) => Ok(Reply::Error {
            code: -32000,
            message: message.clone(),
        }),
    }
}

impl ToolBehaviour {
    /// A tool that fails says so before it has done anything; one that raises has done it.
    fn has_effect(&self) -> bool {
        !matches!(self, Self::Fails(_))
    }
}

fn text_result(text: String, is_error: bool) -> ToolCallResult {
    ToolCallResult {
        content: vec![json!({"type": "text", "text": text})],
        is_error,
    }
}

/// Puts the call's arguments in the place of `{name}`.
fn fill(template: &str, arguments: &Value) -> String {
    let mut text = template.to_owned();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let shown = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        text = text.replace(&format!("{{{name}}}"), &shown);
    }
    text
}

fn call_hook(context: &CellContext, worker: &str, call: HookCallParams) -> Result<Reply, String> {
    let payload = serde_json::to_value(&call).map_err(|error| error.to_string())?;
    let observation = Observation::new(Lane::Runner, "hook")
        .worker(worker)
        .field("event", call.event);
    context.recorder.record(observation.payload(payload));
    result(HookCallResult { output: json!({}) })
}

fn call_options(context: &CellContext, call: OptionsCallParams) -> Result<Reply, String> {
    let payload = serde_json::to_value(&call).map_err(|error| error.to_string())?;
    let observation =
        Observation::new(Lane::Runner, "options").field("attempt", call.attempt.to_string());
    context.recorder.record(observation.payload(payload));
    result(OptionsCallResult {
        options: context.plan.agent.options.clone(),
    })
}

async fn pass_gate(
    context: &CellContext,
    worker: &str,
    gate: StepGateParams,
) -> Result<Reply, String> {
    let payload = serde_json::to_value(&gate).map_err(|error| error.to_string())?;
    let observation = Observation::new(Lane::Step, gate.at.wire_name())
        .worker(worker)
        .field("step", gate.step)
        .field("attempt", gate.attempt.to_string())
        .payload(payload);
    context.barriers.observe(observation).wait().await;
    Ok(Reply::Result(json!({})))
}

/// The error of a runner that broke the protocol.
pub(super) fn violation(name: &str, what: String, stderr: String) -> CellError {
    CellError::Protocol {
        name: name.to_owned(),
        what,
        stderr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_take_arguments_of_any_type() {
        let arguments = json!({"message": "draft", "times": 2});
        assert_eq!(
            fill("{message} x{times} {other}", &arguments),
            "draft x2 {other}"
        );
    }
}
