//! Replies that no model gave.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::clock;
use crate::messages_api::FailureReport;
use crate::session::Session;
use crate::transcript::assistant_entry;

/// Shows and writes a reply that no model gave.
pub(crate) fn show_synthetic_reply(session: &Session, report: &FailureReport) {
    let uuid = Uuid::new_v4();
    let timestamp = clock::timestamp();
    let mut message = synthetic_message(&report.text);
    if report.refused_message_id.is_some() {
        message["stop_reason"] = json!("refusal");
    }
    let mut frame = json!({
        "type": "assistant",
        "message": message,
        "parent_tool_use_id": null,
        "session_id": session.id,
        "uuid": uuid,
        "timestamp": timestamp,
    });
    let mut members = json!({"isApiErrorMessage": true});
    if !report.error.is_empty() {
        frame["error"] = json!(report.error);
        members["error"] = json!(report.error);
    }
    if let Some(api_error) = report.api_error {
        members["apiError"] = json!(api_error);
    }
    if let Some(request_id) = &report.request_id {
        frame["request_id"] = json!(request_id);
        members["requestId"] = json!(request_id);
    }
    frame["is_api_error_message"] = json!(true);
    if report.status.is_u64() {
        frame["api_error_status"] = report.status.clone();
        members["apiErrorStatus"] = report.status.clone();
    }
    if let Some(api_error) = report.api_error {
        frame["api_error"] = json!(api_error);
    }
    if let Some(message_id) = &report.refused_message_id {
        frame["refused_message_id"] = json!(message_id);
        members["refusedMessageId"] = json!(message_id);
    }
    session.output.frame(&frame);
    let entry = assistant_entry(
        &session.stamp,
        message,
        uuid,
        &timestamp,
        members,
        report.entry_members.clone(),
    );
    session.transcript.chain(entry);
}

/// A message of the program's own.
pub(crate) fn synthetic_message(text: &str) -> Value {
    json!({
        "diagnostics": null,
        "id": Uuid::new_v4(),
        "container": null,
        "model": "<synthetic>",
        "role": "assistant",
        "stop_details": null,
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "type": "message",
        "usage": {
            "output_tokens_details": null,
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": null,
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
            "inference_geo": null,
            "iterations": null,
            "speed": null,
            "fallback_credit": null,
        },
        "content": [{"type": "text", "text": text}],
        "context_management": null,
    })
}
