//! Records of model requests: kept on disk only, never mirrored (observed on CLI 2.1.316).

use std::cell::RefCell;
use std::collections::HashSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Transcript;
use crate::clock;

/// What has been recorded already.
#[derive(Debug, Default)]
pub(crate) struct RequestRecords {
    hashes: RefCell<HashSet<String>>,
}

impl RequestRecords {
    /// Records a request: its shape and its messages once each, and itself by their hashes.
    pub(crate) fn record(
        &self,
        transcript: &Transcript,
        session_id: Uuid,
        version: &str,
        body: &Value,
        id: Uuid,
    ) {
        let shape =
            json!({"model": body["model"], "tools": body["tools"], "system": body["system"]});
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
        let mut tail = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten() {
            let message = without_cache_marks(message);
            let hash = hash(&message);
            if self.is_new(&hash) {
                transcript.note(json!({
                    "type": "api-request-blob",
                    "sessionId": session_id,
                    "hash": hash,
                    "message": message,
                }));
            }
            tail.push(hash);
        }
        transcript.note(json!({
            "type": "api-request",
            "sessionId": session_id,
            "id": id,
            "timestamp": clock::timestamp(),
            "version": version,
            "querySource": "sdk",
            "shapeHash": shape_hash,
            "params": {"max_tokens": body["max_tokens"], "thinking": body["thinking"]},
            "keep": 0,
            "tail": tail,
            "cacheControl": cache_marks(body),
            "requestDigest": hash(body),
        }));
    }

    fn is_new(&self, hash: &str) -> bool {
        self.hashes.borrow_mut().insert(hash.to_owned())
    }
}

/// Where a request is marked for the cache.
fn cache_marks(body: &Value) -> Vec<Value> {
    let mark = |path: Value, block: &Value| {
        let value = block.get("cache_control")?;
        Some(json!({"path": path, "value": value}))
    };
    let system = body["system"].as_array().into_iter().flatten().enumerate();
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
