//! Hook events other than PreToolUse.

use std::rc::Rc;

use futures::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use super::call::Call;
use crate::control::HostError;
use crate::hooks::{HookAnswer, RegisteredHook};
use crate::session::Session;
use crate::tools::Tool;

/// The members that hook inputs have in common, in the order of the real program's. Display events
/// have no mode, prompts no effort (observed on CLI 2.1.316).
pub(crate) fn common_input(session: &Session, prompt_id: Option<Uuid>, event: &str) -> Value {
    let mut input = json!({
        "session_id": session.id,
        "transcript_path": session.transcript_path(),
        "cwd": session.stamp.working_directory,
    });
    if let Some(prompt_id) = prompt_id {
        input["prompt_id"] = json!(prompt_id);
    }
    if event != "MessageDisplay" {
        input["permission_mode"] = json!(session.mode.get().as_str());
        if event != "UserPromptSubmit" {
            let effort = session.model.borrow().effort().unwrap_or("high");
            input["effort"] = json!({"level": effort});
        }
    }
    input["hook_event_name"] = json!(event);
    input
}

/// Asks every hook of an event and returns the answers that could be read.
pub(crate) async fn ask(
    session: &Session,
    prompt_id: Option<Uuid>,
    event: &str,
    subject: Option<&str>,
    members: Value,
    tool_use_id: Option<&str>,
) -> Vec<HookAnswer> {
    let hooks = session.hooks.borrow().matching(event, subject);
    if hooks.is_empty() {
        return Vec::new();
    }
    let mut input = common_input(session, prompt_id, event);
    for (name, value) in members.as_object().into_iter().flatten() {
        input[name] = value.clone();
    }
    let tool_use_id = tool_use_id.map_or_else(
        || match event {
            "PostToolBatch" => format!("hook-{}", Uuid::new_v4()),
            _ => Uuid::new_v4().to_string(),
        },
        str::to_owned,
    );
    let asked = hooks
        .iter()
        .map(|hook| ask_one(session, hook, event, &input, &tool_use_id));
    join_all(asked).await.into_iter().flatten().collect()
}

async fn ask_one(
    session: &Session,
    hook: &RegisteredHook,
    event: &str,
    input: &Value,
    tool_use_id: &str,
) -> Option<HookAnswer> {
    let request = session.host.ask(json!({
        "subtype": "hook_callback",
        "callback_id": hook.callback_id,
        "input": input,
        "tool_use_id": tool_use_id,
    }));
    let answer = match hook.timeout {
        Some(timeout) => tokio::time::timeout(timeout, request).await.ok()?,
        None => request.await,
    };
    let complain = |error: String| {
        eprintln!("Error in hook callback {}: {error}", hook.callback_id);
    };
    match answer {
        Ok(answer) => match HookAnswer::read(event, &answer) {
            Ok(answer) => Some(answer),
            Err(error) => {
                complain(error.to_string());
                None
            }
        },
        Err(HostError::Refused(message)) => {
            complain(message);
            None
        }
        Err(HostError::InputClosed) => None,
    }
}

/// PermissionRequest goes out beside `can_use_tool`, after it, and decides nothing here.
pub(crate) fn permission_request(
    session: &Rc<Session>,
    call: &Call,
    tool: &Tool,
    input: &Value,
    suggestions: &Value,
) {
    let mut members = json!({
        "tool_name": call.name,
        "tool_input": input,
    });
    if suggestions.is_array() {
        members["permission_suggestions"] = suggestions.clone();
    }
    if let Some(server) = tool.server() {
        members["mcp_server"] = server;
    }
    let session = Rc::clone(session);
    let (prompt_id, name, id) = (call.prompt_id, call.name.clone(), call.id.clone());
    tokio::task::spawn_local(async move {
        ask(
            &session,
            prompt_id,
            "PermissionRequest",
            Some(&name),
            members,
            Some(&id),
        )
        .await;
    });
}
