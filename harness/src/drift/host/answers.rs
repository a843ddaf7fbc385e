//! What the scripted host writes to a CLI.

use serde_json::{Map, Value, json};

use crate::drift::corpus::{
    CallAnswer, HookAnswer, HookDecision, HookDocument, PermissionAnswer, RunDocument, ToolDocument,
};

/// What there is to say to a question of the CLI.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Success(Value),
    Error(String),
    Silence,
}

impl Answer {
    /// The line to write, if there is one.
    pub(super) fn line(self, request_id: &Value) -> Option<Value> {
        let response = match self {
            Self::Success(response) => {
                json!({"subtype": "success", "request_id": request_id, "response": response})
            }
            Self::Error(error) => {
                json!({"subtype": "error", "request_id": request_id, "error": error})
            }
            Self::Silence => return None,
        };
        Some(json!({"type": "control_response", "response": response}))
    }
}

/// The nth of a list whose last one stays.
pub(super) fn nth<T>(items: &[T], index: usize) -> Option<&T> {
    items.get(index).or(items.last())
}

pub(super) fn initialize_request(run: &RunDocument) -> Value {
    let mut next = 0;
    let mut hooks = Map::new();
    for (event, matchers) in &run.hooks {
        let matchers = matchers.iter().map(|hook| {
            let registered = matcher(hook, next);
            next += 1;
            registered
        });
        hooks.insert(event.clone(), matchers.collect());
    }
    let mut request = Map::from_iter([("subtype".to_owned(), json!("initialize"))]);
    request.insert(
        "hooks".to_owned(),
        if hooks.is_empty() {
            Value::Null
        } else {
            hooks.into()
        },
    );
    request.extend(run.initialize.clone());
    request.into()
}

fn matcher(hook: &HookDocument, number: usize) -> Value {
    let mut registered =
        json!({"matcher": hook.matcher, "hookCallbackIds": [format!("hook_{number}")]});
    if let Some(timeout) = hook.timeout {
        registered["timeout"] = json!(timeout);
    }
    registered
}

/// The hooks in the order of their callback ids.
pub(super) fn registered_hooks(run: &RunDocument) -> Vec<&HookDocument> {
    run.hooks.values().flatten().collect()
}

pub(super) fn hook_answer(answer: &HookAnswer, event: &str) -> Answer {
    let decision = |decision: &str, reason: Option<&str>| HookDecision {
        decision: Some(decision.to_owned()),
        reason: reason.map(str::to_owned),
        updated_input: None,
        additional_context: None,
    };
    let decided = |decision: &HookDecision| {
        let mut output = serde_json::to_value(decision).unwrap_or_default();
        output["hookEventName"] = json!(event);
        Answer::Success(json!({"hookSpecificOutput": output}))
    };
    match answer {
        HookAnswer::Allow => decided(&decision("allow", None)),
        HookAnswer::Deny => decided(&decision("deny", Some("not today"))),
        HookAnswer::Ask => decided(&decision("ask", Some("a person decides"))),
        HookAnswer::Defer => decided(&decision("defer", Some("needs approval"))),
        HookAnswer::None => Answer::Success(json!({})),
        HookAnswer::Never => Answer::Silence,
        HookAnswer::Decide(decision) => decided(decision),
        HookAnswer::Output(output) => Answer::Success(output.clone().into()),
        HookAnswer::Error(error) => Answer::Error(error.clone()),
    }
}

pub(super) fn permission_answer(answer: &PermissionAnswer, input: &Value) -> Answer {
    match answer {
        PermissionAnswer::Allow => {
            Answer::Success(json!({"behavior": "allow", "updatedInput": input}))
        }
        PermissionAnswer::Deny => {
            Answer::Success(json!({"behavior": "deny", "message": "not allowed"}))
        }
        PermissionAnswer::Never => Answer::Silence,
        PermissionAnswer::Output(output) => Answer::Success(output.clone().into()),
        PermissionAnswer::Error(error) => Answer::Error(error.clone()),
    }
}

pub(super) fn call_answer(answer: &CallAnswer, id: &Value) -> Answer {
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let result = |result: Value| {
        Answer::Success(json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "result": result}}))
    };
    match answer {
        CallAnswer::Text(written) => result(text(written)),
        CallAnswer::Lines { line, count } => result(text(&vec![line.as_str(); *count].join("\n"))),
        CallAnswer::Result(whole) => result(whole.clone().into()),
        CallAnswer::Error(message) => rpc_error(id, -32000, message),
        CallAnswer::ControlError(error) => Answer::Error(error.clone()),
        CallAnswer::Never => Answer::Silence,
    }
}

pub(super) fn rpc_error(id: &Value, code: i64, message: &str) -> Answer {
    Answer::Success(
        json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}}),
    )
}

pub(super) fn rpc_result(id: &Value, result: &Value) -> Answer {
    Answer::Success(json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "result": result}}))
}

/// How a server tells of a tool.
pub(super) fn listed_tool(name: &str, tool: &ToolDocument) -> Value {
    let mut listed = json!({
        "name": name,
        "description": tool.description.as_deref().unwrap_or(name),
        "inputSchema": {"type": "object", "properties": tool.input},
    });
    if tool.read_only {
        listed["annotations"] = json!({"readOnlyHint": true});
    }
    listed
}
