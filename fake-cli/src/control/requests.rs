//! The control requests that are answered at once.

use std::rc::Rc;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::messages_api::Model;
use crate::permissions::PermissionMode;
use crate::session::Session;

/// The answer to a control request: some have no content.
pub(super) type Answer = Result<Option<Value>, Refusal>;

/// A request that is refused.
pub(super) struct Refusal {
    pub(super) error: String,
    pub(super) code: Option<&'static str>,
}

impl Refusal {
    fn new(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            code: None,
        }
    }
}

/// Answers a request (observed on CLI 2.1.316).
pub(super) fn answer(session: &Rc<Session>, subtype: &str, request: &Value) -> Answer {
    match subtype {
        "set_permission_mode" => set_permission_mode(session, request),
        "set_model" => Ok(Some(set_model(session, request))),
        "set_max_thinking_tokens" => Ok(None),
        "mcp_status" => Ok(Some(json!({"mcpServers": session.mcp.details()}))),
        "mcp_reconnect" => reconnect(session, request),
        "mcp_toggle" => toggle(session, request),
        "mcp_set_servers" => Ok(Some(set_servers(session, request))),
        "rewind_files" => Err(Refusal::new("File rewinding is not enabled.")),
        "stop_task" => Ok(Some(json!({}))),
        "get_settings" => Ok(Some(settings(session))),
        "get_context_usage" => Ok(Some(context_usage(session))),
        other => Err(Refusal::new(format!(
            "Unsupported control request subtype: {other}"
        ))),
    }
}

fn set_permission_mode(session: &Session, request: &Value) -> Answer {
    let wanted = request["mode"].as_str().and_then(PermissionMode::from_wire);
    let Some(mode) = wanted else {
        return Err(Refusal {
            error: "Cannot set permission mode: must be one of acceptEdits, auto, \
                    bypassPermissions, default, dontAsk, plan"
                .to_owned(),
            code: Some("invalid_mode"),
        });
    };
    if mode == PermissionMode::BypassPermissions && !session.arguments.skip_permissions_allowed {
        return Err(Refusal {
            error: "Cannot set permission mode to bypassPermissions because the session was not \
                    launched with --dangerously-skip-permissions"
                .to_owned(),
            code: Some("bypass_not_launched"),
        });
    }
    if session.mode.replace(mode) != mode {
        session.output.frame(&json!({
            "type": "system",
            "subtype": "status",
            "status": null,
            "permissionMode": mode.as_str(),
            "uuid": Uuid::new_v4(),
            "session_id": session.id,
        }));
    }
    Ok(Some(json!({"mode": mode.as_str()})))
}

fn set_model(session: &Session, request: &Value) -> Value {
    let model = Model::named(request["model"].as_str());
    let name = model.name.clone();
    *session.model.borrow_mut() = model;
    json!({"model": name})
}

fn server_name(request: &Value) -> &str {
    request["serverName"].as_str().unwrap_or_default()
}

fn reconnect(session: &Session, request: &Value) -> Answer {
    let name = server_name(request);
    if session.mcp.has(name) {
        return Err(Refusal::new("SDK servers should be handled in print.ts"));
    }
    Err(Refusal::new(format!("Server not found: {name}")))
}

fn toggle(session: &Session, request: &Value) -> Answer {
    let name = server_name(request);
    if !session.mcp.has(name) {
        return Err(Refusal::new(format!("Server not found: {name}")));
    }
    session.mcp.enable(name, request["enabled"] != false);
    Ok(None)
}

/// Replaces the servers: new ones are connected, those not named are removed.
fn set_servers(session: &Rc<Session>, request: &Value) -> Value {
    let configs = crate::mcp::read_servers(&request["servers"]);
    let wanted: Vec<&str> = configs.iter().map(|config| config.name.as_str()).collect();
    let removed = session.mcp.keep_only(&wanted);
    let added: Vec<String> = configs
        .iter()
        .filter(|config| !session.mcp.has(&config.name))
        .map(|config| config.name.clone())
        .collect();
    for config in configs {
        super::connect(session, config);
    }
    json!({"added": added, "removed": removed, "errors": {}})
}

fn settings(session: &Session) -> Value {
    let model = session.model.borrow();
    json!({
        "effective": {},
        "sources": [],
        "applied": {
            "model": model.name,
            "effort": model.effort(),
            "advisor": null,
            "ultracode": false,
            "ultracodeRequested": false,
            "ultracodeAvailable": true,
            "ultrathinkAvailable": false,
        },
    })
}

fn context_usage(session: &Session) -> Value {
    let model = session.model.borrow();
    json!({
        "categories": [],
        "totalTokens": 0,
        "maxTokens": model.context_window(),
        "rawMaxTokens": model.context_window(),
        "percentage": 0,
        "gridRows": [],
        "model": model.name,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
    })
}
