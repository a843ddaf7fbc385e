//! Records of model requests: kept on disk only, never mirrored (observed on CLI 2.1.316).

use std::cell::RefCell;
use std::collections::HashSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Transcript;
use crate::clock;
use crate::permissions::texts;

/// What has been recorded already.
#[derive(Debug, Default)]
pub(crate) struct RequestRecords {
    hashes: RefCell<HashSet<String>>,
    /// This process's last request: its id and the hashes of its messages.
    last: RefCell<Option<(Uuid, Vec<String>)>>,
}

impl RequestRecords {
    /// Takes over what earlier processes have recorded.
    pub(crate) fn adopt(&self, hashes: impl IntoIterator<Item = String>) {
        self.hashes.borrow_mut().extend(hashes);
    }

    /// Records a request: its shape and its reminders once each, and itself by the hashes of its
    /// messages.
    pub(crate) fn record(
        &self,
        transcript: &Transcript,
        session_id: Uuid,
        version: &str,
        request: &RecordedRequest<'_>,
    ) {
        let RecordedRequest { body, betas, id } = *request;
        let shape = json!({"system": recorded_system(body), "tools": body["tools"]});
        let shape_hash = hash(&shape);
        if self.is_new(&shape_hash) {
            transcript.note(json!({
                "type": "api-request-shape",
                "sessionId": session_id,
                "shapeHash": shape_hash,
                "timestamp": clock::timestamp(),
                "version": version,
                "shape": shape,
            }));
        }
        let mut hashes = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten() {
            let message = without_cache_marks(message);
            let hash = hash(&in_blocks(&message));
            let is_told = |entries: &[Value]| is_as_recorded(&message, entries);
            let is_extra = is_reminder(&message) || !transcript.read(is_told);
            if is_extra && self.is_new(&hash) {
                transcript.note(json!({
                    "type": "api-request-blob",
                    "sessionId": session_id,
                    "hash": hash,
                    "message": message,
                }));
            }
            hashes.push(hash);
        }
        let mut entry = json!({
            "type": "api-request",
            "sessionId": session_id,
            "id": id,
            "timestamp": clock::timestamp(),
            "version": version,
            "querySource": "sdk",
            "shapeHash": shape_hash,
            "params": params(body, betas),
        });
        let mut keep = 0;
        if let Some((base, before)) = self.last.borrow().as_ref() {
            keep = before
                .iter()
                .zip(&hashes)
                .take_while(|(before, now)| before == now)
                .count();
            if keep > 0 {
                entry["base"] = json!(base);
            }
        }
        entry["keep"] = json!(keep);
        entry["tail"] = json!(hashes[keep..]);
        entry["cacheControl"] = Value::Array(cache_marks(body));
        entry["requestDigest"] = json!(hash(&what_counts(body, betas)));
        transcript.note(entry);
        *self.last.borrow_mut() = Some((id, hashes));
    }

    fn is_new(&self, hash: &str) -> bool {
        self.hashes.borrow_mut().insert(hash.to_owned())
    }
}

/// A request to be recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedRequest<'a> {
    pub(crate) body: &'a Value,
    /// The `anthropic-beta` header.
    pub(crate) betas: &'a str,
    pub(crate) id: Uuid,
}

/// What makes one request differ from another: neither how its reply comes nor whose session it is belongs to it
/// (observed on CLI 2.1.316).
fn what_counts(body: &Value, betas: &str) -> Value {
    let mut body = body.clone();
    if let Some(members) = body.as_object_mut() {
        members.shift_remove("stream");
        members.shift_remove("metadata");
    }
    json!({"body": body, "betas": betas})
}

/// The system prompt without what changes from request to request.
fn recorded_system(body: &Value) -> Vec<Value> {
    let blocks = body["system"].as_array().into_iter().flatten().skip(1);
    blocks
        .map(|block| json!({"type": block["type"], "text": block["text"]}))
        .collect()
}

fn params(body: &Value, betas: &str) -> Value {
    let mut params = json!({
        "model": body["model"],
        "betas": betas.split(',').collect::<Vec<_>>(),
    });
    for name in [
        "max_tokens",
        "thinking",
        "context_management",
        "output_config",
    ] {
        if let Some(value) = body.get(name) {
            params[name] = value.clone();
        }
    }
    params
}

/// Messages that the conversation's entries alone do not give.
fn is_reminder(message: &Value) -> bool {
    let reminds = |text: &Value| {
        text.as_str()
            .is_some_and(|text| text.starts_with("<system-reminder>"))
    };
    let blocks = message["content"].as_array().into_iter().flatten();
    message["role"] == "system"
        || reminds(&message["content"])
        || blocks.into_iter().any(|block| reminds(&block["text"]))
}

/// Where a request is marked for the cache; the billing block counts for nothing.
fn cache_marks(body: &Value) -> Vec<Value> {
    let mark = |path: Value, block: &Value| {
        let value = block.get("cache_control")?;
        Some(json!({"path": path, "value": value}))
    };
    let system = body["system"]
        .as_array()
        .into_iter()
        .flatten()
        .skip(1)
        .enumerate();
    let system = system.filter_map(|(index, block)| mark(json!(["system", index]), block));
    let messages = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate();
    let messages = messages.flat_map(|(position, message)| {
        let blocks = message["content"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate();
        blocks.filter_map(move |(index, block)| {
            mark(json!(["messages", position, "content", index]), block)
        })
    });
    system.chain(messages).collect()
}

/// Whether the entries alone tell the message: no call was left out of it, and no result was made up.
fn is_as_recorded(message: &Value, entries: &[Value]) -> bool {
    let blocks = message["content"].as_array().into_iter().flatten();
    if message["role"] == "user" {
        return !blocks
            .into_iter()
            .any(|block| block["content"] == texts::RESULT_MISSING);
    }
    let mut calls = blocks.filter(|block| block["type"] == "tool_use");
    let Some(call) = calls.next() else {
        return true;
    };
    let holds_call = |entry: &&Value| entry["message"]["content"][0]["id"] == call["id"];
    let Some(reply) = entries.iter().find(holds_call) else {
        return true;
    };
    let id = &reply["message"]["id"];
    let recorded: HashSet<&str> = entries
        .iter()
        .filter(|entry| entry["message"]["id"] == *id)
        .map(|entry| &entry["message"]["content"][0])
        .filter(|block| block["type"] == "tool_use")
        .filter_map(|block| block["id"].as_str())
        .collect();
    recorded.len() == 1 + calls.count()
}

/// The message as it counts: a plain text is the block that it is.
fn in_blocks(message: &Value) -> Value {
    let mut message = message.clone();
    if message["content"].is_string() {
        message["content"] = json!([{"type": "text", "text": message["content"]}]);
    }
    message
}

fn without_cache_marks(message: &Value) -> Value {
    let mut message = message.clone();
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if let Some(block) = block.as_object_mut() {
            block.remove("cache_control");
        }
    }
    message
}

fn hash(value: &Value) -> String {
    Sha256::digest(value.to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
