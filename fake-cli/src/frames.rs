//! Frames that more than one part of the program sends.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::session::{Prompt, Session};
use crate::tools;
use crate::transcript::session_path;

/// Capabilities that the real program announces (observed on CLI 2.1.316).
const INIT_CAPABILITIES: [&str; 14] = [
    "interrupt_receipt_v1",
    "interrupt_cancel_queued_v1",
    "interrupt_send_now_v1",
    "interrupt_requeue_taken_v1",
    "msg_lifecycle_v1",
    "request_marker_lists_v1",
    "ask_user_question_unanswered_v1",
    "lifecycle_wakeup_source_v1",
    "sdk_mcp_tools_list_changed",
    "sdk_mcp_manifests",
    "mcp_read_resource_v1",
    "mcp_tool_ui_meta_v1",
    "ui_surface_v1",
    "mcp_call_result_not_for_model_v1",
];

/// `system/init`, sent before a turn's first model request.
pub(crate) fn system_init(session: &Session) -> Value {
    let credential = match session.environment.get("ANTHROPIC_API_KEY") {
        Some(_) => "ANTHROPIC_API_KEY",
        None => "none",
    };
    let temporary = std::env::temp_dir();
    let socket = temporary
        .join("cc-socks")
        .join(format!("{}.sock", std::process::id()));
    json!({
        "type": "system",
        "subtype": "init",
        "cwd": session.stamp.working_directory,
        "session_id": session.id,
        "tools": tools::names(session),
        "mcp_servers": session.mcp.statuses(),
        "model": session.model.borrow().name,
        "permissionMode": session.mode.get().as_str(),
        "slash_commands": [],
        "terminal_slash_commands": ["doctor", "color", "focus", "reload-plugins"],
        "apiKeySource": credential,
        "claude_code_version": session.stamp.version,
        "output_style": "default",
        "agents": ["general-purpose"],
        "skills": [],
        "plugins": [],
        "capabilities": INIT_CAPABILITIES,
        "analytics_disabled": true,
        "product_feedback_disabled": true,
        "uuid": Uuid::new_v4(),
        "memory_paths": {"auto": memory_path(session)},
        "original_cwd": session.stamp.working_directory,
        "additional_directories": session.arguments.additional_directories,
        "messaging_socket_path": socket,
        "fast_mode_state": "off",
        "fast_mode_disabled_reason": "sdk_opt_in_required",
        "per_turn_effort_active": session.model.borrow().takes_effort_per_turn(),
        "ultrathink_available": false,
        "view_mode": "default",
    })
}

/// Where the model would keep notes about the project.
fn memory_path(session: &Session) -> String {
    let environment = &session.environment;
    let here = session_path(
        &environment.config_directory,
        &environment.working_directory,
        session.id,
    );
    let project = here.parent().unwrap_or(&here);
    format!("{}/memory/", project.to_string_lossy())
}

fn account(session: &Session) -> Value {
    let is_set = |name: &str| session.environment.get(name).is_some();
    let token = is_set("ANTHROPIC_AUTH_TOKEN");
    let mut account = json!({"tokenSource": if token { "ANTHROPIC_AUTH_TOKEN" } else { "none" }});
    if is_set("ANTHROPIC_API_KEY") {
        account["apiKeySource"] = json!("ANTHROPIC_API_KEY");
    }
    account["apiProvider"] = json!("firstParty");
    account
}

/// The answer to `initialize`; hooks are spoken of when the request had some.
pub(crate) fn initialize_response(session: &Session, hooks: bool) -> Value {
    let mut response = json!({
        "commands": [],
        "agents": [{"name": "general-purpose", "description": "An agent for any task"}],
        "output_style": "default",
        "available_output_styles": ["default"],
        "user_output_styles_dir": session.environment.config_directory.join("output-styles"),
        "models": [{
            "value": "default",
            "displayName": "Default",
            "description": session.model.borrow().name,
        }],
        "account": account(session),
        "pid": std::process::id(),
        "claude_code_version": session.stamp.version,
        "current_permission_mode": session.mode.get().as_str(),
        "hooks_applied": true,
        "feedback_mode": {"kind": "disabled"},
        "analytics_disabled": true,
        "remote_control_auto_enable": false,
        "remote_control_auto_connect_default": false,
        "remote_control_available": false,
        "remote_control_auto_on_by_default": false,
        "ide_rc_auto_enable_gate": false,
        "fast_mode_state": "off",
        "fast_mode_disabled_reason": "sdk_opt_in_required",
        "session_state": session.state(),
        "capabilities": ["ui_surface_v1", "mcp_call_result_not_for_model_v1"],
    });
    if let (Value::Object(members), false) = (&mut response, hooks) {
        members.shift_remove("hooks_applied");
    }
    response
}

/// `command_lifecycle` of a continuation that nobody typed.
pub(crate) fn command_lifecycle(session: &Session, command: Uuid, state: &str) -> Value {
    json!({
        "type": "command_lifecycle",
        "command_uuid": command,
        "state": state,
        "uuid": Uuid::new_v4(),
        "session_id": session.id,
    })
}

/// An attachment shown to the host.
pub(crate) fn attachment(session: &Session, attachment: &Value, uuid: &Value) -> Value {
    json!({
        "attachment": attachment,
        "type": "attachment",
        "uuid": uuid,
        "timestamp": crate::clock::timestamp(),
        "session_id": session.id,
        "parent_tool_use_id": null,
    })
}

/// A notice for the person at the screen.
pub(crate) fn informational(session: &Session, content: &str) -> Value {
    json!({
        "type": "system",
        "subtype": "informational",
        "content": content,
        "level": "notice",
        "uuid": Uuid::new_v4(),
        "session_id": session.id,
    })
}

/// A prompt, shown back to a host that wants to see when it is taken up.
pub(crate) fn replayed_prompt(session: &Session, prompt: &Prompt) -> Value {
    json!({
        "type": "user",
        "message": {"role": "user", "content": prompt.content},
        "session_id": session.id,
        "parent_tool_use_id": null,
        "uuid": prompt.uuid,
        "timestamp": crate::clock::timestamp(),
        "isReplay": true,
    })
}
