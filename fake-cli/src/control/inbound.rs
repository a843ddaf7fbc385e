//! Lines from the host.

use std::rc::Rc;

use futures::FutureExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::requests;
use crate::frames;
use crate::hooks::HookRegistry;
use crate::mcp::{ServerConfig, sdk_server};
use crate::session::{Prompt, Session};

/// A line that ends the process with exit code 1; the text goes to stderr.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FatalLine {
    #[error("Error parsing streaming input line (type={kind}, {length} chars): SyntaxError")]
    Malformed { kind: &'static str, length: usize },
    #[error(
        "Error: --await-initialize requires the initialize control request as the first stdin line, \
         and the first line is a different message."
    )]
    NotInitialize,
    #[error("Error: Expected message role 'user', got '{0}'")]
    Role(String),
}

/// Handles one line. What takes time goes on in the background.
pub(crate) fn handle(session: &Rc<Session>, line: &[u8]) -> Result<(), FatalLine> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let frame = parse(line)?;
    let is_initialize =
        frame["type"] == "control_request" && frame["request"]["subtype"] == "initialize";
    if session.arguments.await_initialize && !*session.initialized.borrow() && !is_initialize {
        return Err(FatalLine::NotInitialize);
    }
    match frame["type"].as_str() {
        Some("control_request") => control_request(session, &frame),
        Some("control_response") => {
            session.host.answer(&frame);
            if session.arguments.replay_user_messages {
                session.output.frame(&frame);
            }
        }
        Some("user") => return user(session, &frame),
        // Unknown frames are ignored (observed on CLI 2.1.316).
        _ => {}
    }
    Ok(())
}

fn parse(line: &[u8]) -> Result<Value, FatalLine> {
    let text = String::from_utf8_lossy(line);
    match serde_json::from_str::<Value>(&text) {
        Ok(frame) => Ok(frame),
        Err(_) => Err(FatalLine::Malformed {
            kind: if text.contains("\"type\":\"user\"") || text.contains("\"type\": \"user\"") {
                "user"
            } else {
                "unknown"
            },
            length: text.chars().count(),
        }),
    }
}

fn user(session: &Rc<Session>, frame: &Value) -> Result<(), FatalLine> {
    if frame["message"]["role"] != "user" {
        let role = frame["message"]["role"].as_str().unwrap_or("undefined");
        return Err(FatalLine::Role(role.to_owned()));
    }
    let uuid = frame["uuid"]
        .as_str()
        .and_then(|uuid| Uuid::parse_str(uuid).ok())
        .unwrap_or_else(Uuid::new_v4);
    // Only plain words are worth a note (observed on CLI 2.1.316).
    let words = frame["message"]["content"].as_str();
    crate::turn::note_prompt(session, words);
    session.prompts.push(Prompt {
        uuid,
        content: frame["message"]["content"].clone(),
    });
    Ok(())
}

fn control_request(session: &Rc<Session>, frame: &Value) {
    let request_id = frame["request_id"].clone();
    let request = &frame["request"];
    let answer = match request["subtype"].as_str() {
        Some("initialize") => return initialize(session, request_id, request),
        Some("interrupt") => return interrupt(session, &request_id),
        other => requests::answer(session, other.unwrap_or("undefined"), request),
    };
    respond(session, &request_id, answer);
}

fn respond(session: &Session, request_id: &Value, answer: requests::Answer) {
    let response = match answer {
        Ok(None) => json!({"subtype": "success", "request_id": request_id}),
        Ok(Some(response)) => json!({
            "subtype": "success",
            "request_id": request_id,
            "response": response,
        }),
        Err(refusal) => {
            let mut response = json!({
                "subtype": "error",
                "request_id": request_id,
                "error": refusal.error,
            });
            if let Some(code) = refusal.code {
                response["error_code"] = json!(code);
            }
            response
        }
    };
    session
        .output
        .frame(&json!({"type": "control_response", "response": response}));
}

fn initialize(session: &Rc<Session>, request_id: Value, request: &Value) {
    *session.hooks.borrow_mut() = HookRegistry::from_initialize(&request["hooks"]);
    set_system_prompt(session, request);
    for name in request["sdkMcpServers"].as_array().into_iter().flatten() {
        if let Some(name) = name.as_str() {
            connect(session, sdk_server(name));
        }
    }
    session.initialized.send_replace(true);
    let hooks = !request["hooks"].is_null();
    session
        .unanswered_initializes
        .borrow_mut()
        .push((request_id, hooks));
    if session.is_started() {
        answer_initializes(session);
    }
}

/// Answers every `initialize` that came before start-up was done.
pub(crate) fn answer_initializes(session: &Session) {
    for (request_id, hooks) in session.unanswered_initializes.take() {
        let response = frames::initialize_response(session, hooks);
        session.output.frame(&json!({
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": request_id,
                "response": response,
                "pending_permission_requests": [],
                "pending_user_dialog_requests": [],
            },
        }));
    }
}

/// The TypeScript SDK sends its system prompt here and not on the command line.
fn set_system_prompt(session: &Session, request: &Value) {
    let given: Vec<&str> = match &request["systemPrompt"] {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let appended = request["appendSystemPrompt"].as_str();
    let parts: Vec<String> = given
        .into_iter()
        .chain(appended)
        .map(str::to_owned)
        .collect();
    if !parts.is_empty() {
        *session.system_prompt.borrow_mut() = parts;
    }
}

/// Connects a server in the background.
pub(crate) fn connect(session: &Rc<Session>, config: ServerConfig) {
    let Some(connecting) = session.mcp.add(Rc::clone(&session.host), config) else {
        return;
    };
    let mut connecting = Box::pin(connecting);
    // The handshake goes out now, before anything else that start-up has to say.
    if connecting.as_mut().now_or_never().is_none() {
        tokio::task::spawn_local(connecting);
    }
}

fn interrupt(session: &Session, request_id: &Value) {
    if !session.interrupts.request(request_id) {
        answer_interrupt(session, request_id);
    }
}

/// Answers every interrupt of the turn that has just withdrawn what it had pending.
pub(crate) fn answer_interrupts(session: &Session) {
    for request_id in session.interrupts.take_unanswered() {
        answer_interrupt(session, &request_id);
    }
}

fn answer_interrupt(session: &Session, request_id: &Value) {
    respond(session, request_id, Ok(Some(json!({"still_queued": []}))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_fatal_with_its_length() {
        let error = parse(b"this is not json")
            .err()
            .map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("Error parsing streaming input line (type=unknown, 16 chars): SyntaxError")
        );
        assert!(matches!(
            parse(b"{\"type\":\"user\", broken"),
            Err(FatalLine::Malformed { kind: "user", .. })
        ));
    }
}
