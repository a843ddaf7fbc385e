//! The application's hooks beside the adapter's own.
//!
//! The CLI ignores rewritten input that comes together with a decision or from a hook beside one
//! that decides (observed on CLI 2.1.316), so the adapter calls the application's `PreToolUse`
//! hooks itself and hands on their rewriting from a callback that decides nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use serde_json::{Map, Value, json};

use crate::agent::hook::ApplicationHook;

const PRE_TOOL_USE: &str = "PreToolUse";

/// The callback that only rewrites.
pub(crate) const REWRITE: &str = "rewrite";

/// The callback that decides.
pub(crate) const DECIDE: &str = "decide";

/// What the application's hooks make of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ApplicationAnswer {
    pub(crate) updated_input: Option<Value>,
    pub(crate) denial: Option<String>,
}

/// The hooks of one segment.
#[derive(Clone)]
pub(crate) struct Hooks {
    hooks: Arc<Vec<ApplicationHook>>,
    answers: Arc<Mutex<HashMap<String, Shared<BoxFuture<'static, ApplicationAnswer>>>>>,
}

impl Hooks {
    pub(crate) fn new(hooks: Vec<ApplicationHook>) -> Self {
        Self {
            hooks: Arc::new(hooks),
            answers: Arc::default(),
        }
    }

    /// What `initialize` registers.
    pub(crate) fn registration(&self) -> Value {
        let mut callbacks = vec![DECIDE];
        if self.hooks.iter().any(|hook| hook.event == PRE_TOOL_USE) {
            callbacks.insert(0, REWRITE);
        }
        let mut events: Map<String, Value> = Map::new();
        events.insert(
            PRE_TOOL_USE.to_owned(),
            json!([{"matcher": null, "hookCallbackIds": callbacks}]),
        );
        for (index, hook) in self.hooks.iter().enumerate() {
            if hook.event == PRE_TOOL_USE {
                continue;
            }
            let matchers = events
                .entry(hook.event.clone())
                .or_insert_with(|| json!([]));
            if let Value::Array(matchers) = matchers {
                matchers.push(json!({
                    "matcher": hook.matcher,
                    "hookCallbackIds": [format!("application-{index}")],
                }));
            }
        }
        Value::Object(events)
    }

    /// Calls a hook that is not about a tool's start.
    pub(crate) fn call_application(
        &self,
        callback: &str,
        input: Value,
    ) -> BoxFuture<'static, Result<Value, String>> {
        let hook = callback
            .strip_prefix("application-")
            .and_then(|index| index.parse::<usize>().ok())
            .and_then(|index| self.hooks.get(index))
            .cloned();
        async move {
            match hook {
                Some(hook) => hook
                    .handler
                    .call(input)
                    .await
                    .map_err(|error| error.to_string()),
                None => Err("there is no such hook".to_owned()),
            }
        }
        .boxed()
    }

    /// Calls the application's `PreToolUse` hooks, once for each call however often it is asked.
    pub(crate) fn before_tool(
        &self,
        tool_use_id: &str,
        tool: &str,
        input: &Value,
    ) -> Shared<BoxFuture<'static, ApplicationAnswer>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers
            .entry(tool_use_id.to_owned())
            .or_insert_with(|| {
                let matching: Vec<ApplicationHook> = self
                    .hooks
                    .iter()
                    .filter(|hook| hook.event == PRE_TOOL_USE && matches(hook, tool))
                    .cloned()
                    .collect();
                let input = input.clone();
                async move { ask_all(matching, input).await }
                    .boxed()
                    .shared()
            })
            .clone()
    }
}

/// Whether the matcher means the tool: everything, or the whole name as a regular expression.
/// Observed on CLI 2.1.316.
fn matches(hook: &ApplicationHook, tool: &str) -> bool {
    match hook.matcher.as_deref() {
        None | Some("" | "*") => true,
        Some(matcher) => {
            matcher == tool
                || regex::Regex::new(&format!("^(?:{matcher})$"))
                    .is_ok_and(|matcher| matcher.is_match(tool))
        }
    }
}

/// Every hook sees the original input; the last rewriting wins; a denial or a failure denies.
async fn ask_all(hooks: Vec<ApplicationHook>, input: Value) -> ApplicationAnswer {
    let mut answer = ApplicationAnswer::default();
    for hook in hooks {
        match hook.handler.call(input.clone()).await {
            Ok(output) => read_output(&output, &mut answer),
            Err(error) => answer.denial = Some(format!("an application hook failed: {error}")),
        }
    }
    answer
}

fn read_output(output: &Value, answer: &mut ApplicationAnswer) {
    if output["decision"] == "block" {
        answer.denial = Some(reason(output, "reason"));
    }
    let Some(specific) = output
        .get("hookSpecificOutput")
        .filter(|value| !value.is_null())
    else {
        return;
    };
    if specific["hookEventName"] != PRE_TOOL_USE {
        answer.denial = Some("an application hook answered without its hookEventName".to_owned());
        return;
    }
    if specific["permissionDecision"] == "deny" {
        answer.denial = Some(reason(specific, "permissionDecisionReason"));
    }
    if let Some(updated) = specific
        .get("updatedInput")
        .filter(|value| value.is_object())
    {
        answer.updated_input = Some(updated.clone());
    }
}

fn reason(output: &Value, field: &str) -> String {
    output[field]
        .as_str()
        .filter(|reason| !reason.is_empty())
        .unwrap_or("denied by an application hook")
        .to_owned()
}
