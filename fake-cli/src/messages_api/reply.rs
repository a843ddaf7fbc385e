//! Puts a streamed reply together, event by event, without any I/O.

use serde_json::{Value, json};

/// What one event means for whoever waits for the reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReplyStep {
    /// The reply has begun.
    Started,
    /// A content block is complete.
    BlockClosed { index: u64, block: Value },
    /// The reply is complete.
    Stopped,
    /// The API reported an error in the middle of the reply.
    Error { kind: String, message: String },
    /// Thinking went on; an estimate of its tokens.
    Thinking { estimated_tokens: u64 },
    /// The event makes no sense here; the reply cannot be read.
    Unreadable,
    /// Nothing to act on.
    Progress,
}

/// A reply on its way.
#[derive(Debug, Default)]
pub(crate) struct ReplyAssembler {
    message: Option<Value>,
    open: Vec<OpenBlock>,
    closed_blocks: usize,
    stop_reason: Value,
    final_usage: Value,
    stopped: bool,
    saw_message_delta: bool,
}

#[derive(Debug)]
struct OpenBlock {
    index: u64,
    block: Value,
    partial_json: String,
}

impl ReplyAssembler {
    /// Takes one event.
    pub(crate) fn apply(&mut self, event: &Value) -> ReplyStep {
        match event["type"].as_str() {
            Some("message_start") => {
                self.message = Some(event["message"].clone());
                self.final_usage = event["message"]["usage"].clone();
                ReplyStep::Started
            }
            Some("error") => ReplyStep::Error {
                kind: text(&event["error"]["type"]),
                message: text(&event["error"]["message"]),
            },
            Some("ping") => ReplyStep::Progress,
            Some(_) if self.message.is_none() => ReplyStep::Unreadable,
            Some("content_block_start") => {
                self.open.push(OpenBlock {
                    index: event["index"].as_u64().unwrap_or_default(),
                    block: event["content_block"].clone(),
                    partial_json: String::new(),
                });
                ReplyStep::Progress
            }
            Some("content_block_delta") => self.delta(event),
            Some("content_block_stop") => self.close(event["index"].as_u64().unwrap_or_default()),
            Some("message_delta") => {
                self.saw_message_delta = true;
                self.stop_reason = event["delta"]["stop_reason"].clone();
                merge_usage(&mut self.final_usage, &event["usage"]);
                ReplyStep::Progress
            }
            Some("message_stop") => {
                self.stopped = true;
                ReplyStep::Stopped
            }
            _ => ReplyStep::Progress,
        }
    }

    fn delta(&mut self, event: &Value) -> ReplyStep {
        let index = event["index"].as_u64().unwrap_or_default();
        let Some(open) = self.open.iter_mut().find(|open| open.index == index) else {
            return ReplyStep::Unreadable;
        };
        let delta = &event["delta"];
        match delta["type"].as_str() {
            Some("text_delta") => append(&mut open.block, "text", &delta["text"]),
            Some("thinking_delta") => {
                append(&mut open.block, "thinking", &delta["thinking"]);
                let length = text(&open.block["thinking"]).len() as u64;
                return ReplyStep::Thinking {
                    estimated_tokens: length.div_ceil(4),
                };
            }
            Some("signature_delta") => append(&mut open.block, "signature", &delta["signature"]),
            Some("input_json_delta") => {
                open.partial_json
                    .push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            Some("citations_delta") => {
                if !open.block["citations"].is_array() {
                    open.block["citations"] = json!([]);
                }
                if let Some(citations) = open.block["citations"].as_array_mut() {
                    citations.push(delta["citation"].clone());
                }
            }
            _ => {}
        }
        ReplyStep::Progress
    }

    fn close(&mut self, index: u64) -> ReplyStep {
        let Some(position) = self.open.iter().position(|open| open.index == index) else {
            return ReplyStep::Progress;
        };
        let OpenBlock {
            mut block,
            partial_json,
            ..
        } = self.open.remove(position);
        match block["type"].as_str() {
            Some("tool_use" | "server_tool_use") => block["input"] = read_input(&partial_json),
            Some("thinking") if !block["signature"].is_string() => {
                block["signature"] = json!("");
            }
            _ => {}
        }
        self.closed_blocks += 1;
        ReplyStep::BlockClosed { index, block }
    }

    /// How many blocks are complete.
    pub(crate) fn closed_blocks(&self) -> usize {
        self.closed_blocks
    }

    /// Whether a block is under way.
    pub(crate) fn has_open_block(&self) -> bool {
        !self.open.is_empty()
    }

    pub(crate) fn has_started(&self) -> bool {
        self.message.is_some()
    }

    /// Whether the end of the stream is the end of the reply: a missing `message_stop` is forgiven
    /// when the stop reason has come, and the other way round (observed on CLI 2.1.316).
    pub(crate) fn is_complete(&self) -> bool {
        self.stopped || self.saw_message_delta
    }

    /// Whether the end of the reply has told what came before it, or something else told it instead.
    pub(crate) fn knows_its_end(&self) -> bool {
        self.saw_message_delta || !self.stop_reason.is_null()
    }

    pub(crate) fn saw_message_delta(&self) -> bool {
        self.saw_message_delta
    }

    /// The end was lost: `stop_reason` takes its place.
    pub(crate) fn end_early(&mut self, stop_reason: &str) {
        self.stop_reason = json!(stop_reason);
    }

    /// The text of the block that was cut off, to be kept on an interrupt.
    pub(crate) fn open_text(&self) -> Option<Value> {
        self.open
            .iter()
            .find(|open| open.block["type"] == "text" && open.block["text"] != "")
            .map(|open| open.block.clone())
    }

    pub(crate) fn message(&self) -> &Value {
        self.message.as_ref().unwrap_or(&Value::Null)
    }

    pub(crate) fn stop_reason(&self) -> &Value {
        &self.stop_reason
    }

    /// The usage after everything that has come.
    pub(crate) fn usage(&self) -> &Value {
        &self.final_usage
    }
}

/// Reads the input of a tool use. No input is an empty object; what is no JSON is kept for the model
/// to see (observed on CLI 2.1.316).
fn read_input(partial_json: &str) -> Value {
    if partial_json.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str::<Value>(partial_json) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        Ok(Value::String(inner)) if inner.is_empty() => json!({}),
        _ => json!({
            "__unparsedToolInput": {"raw": partial_json, "len": partial_json.len()},
        }),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn append(block: &mut Value, member: &str, piece: &Value) {
    let whole = text(&block[member]) + piece.as_str().unwrap_or_default();
    block[member] = json!(whole);
}

/// Counts that are repeated at the end replace those of the beginning, except by zero or nothing.
fn merge_usage(usage: &mut Value, update: &Value) {
    if !usage.is_object() {
        *usage = json!({});
    }
    for (name, value) in update.as_object().into_iter().flatten() {
        if value.is_null() || (value.as_u64() == Some(0) && usage[name].is_u64()) {
            continue;
        }
        usage[name] = value.clone();
    }
}

#[cfg(test)]
mod tests;
