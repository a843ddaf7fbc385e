//! Showing a reply as it comes, and writing it down when it has.

use std::rc::Rc;
use std::time::Instant;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Caller, Cut, Delivery, Received, ShownBlock, StepEnd, milliseconds};
use crate::clock;
use crate::quirks::Quirk;
use crate::tools::{self, Tool};
use crate::transcript::assistant_entry;
use crate::turn::{events, synthetic_reply};

impl Caller<'_> {
    /// Shows one complete block and starts it, if it is a tool use. A text of blanks counts as not sent (observed on
    /// CLI 2.1.316).
    pub(super) async fn show_block(
        &mut self,
        received: &mut Received,
        index: u64,
        mut block: Value,
    ) {
        if is_blank_text(&block) {
            return;
        }
        let session = Rc::clone(&self.turn.session);
        if session.quirks.has(&Quirk::DuplicateToolUseId) && block["type"] == "tool_use" {
            let first = received
                .blocks
                .iter()
                .find(|shown| shown.block["type"] == "tool_use");
            if let Some(first) = first {
                block["id"] = first.block["id"].clone();
            }
        }
        if block["type"] == "tool_use"
            && let Some(Tool::Builtin(tool)) =
                tools::find(&session, block["name"].as_str().unwrap_or_default())
        {
            block["input"] = tool.complete(&block["input"]);
        }
        if block["type"] == "text" {
            self.display_hook(index, &block).await;
            self.turn.last_text = block["text"].as_str().unwrap_or_default().to_owned();
        }
        let uuid = Uuid::new_v4();
        let timestamp = clock::timestamp();
        let message = received.reply.message();
        let mut shown = message.clone();
        shown["content"] = json!([block]);
        if received.delivery == Delivery::Streamed {
            shown["stop_reason"] = Value::Null;
        } else {
            shown["usage"] = received.usage().usage();
        }
        shown["context_management"] = Value::Null;
        let mut frame = json!({
            "type": "assistant",
            "message": shown,
            "parent_tool_use_id": null,
            "session_id": session.id,
            "uuid": uuid,
            "timestamp": timestamp,
        });
        if let Some(request_id) = &received.request_id {
            frame["request_id"] = json!(request_id);
        }
        if block["type"] == "tool_use"
            && let Some(meta) = tools::tool_use_meta(&session, &block)
        {
            frame["tool_use_meta"] = meta;
        }
        if block["type"] == "thinking" {
            frame["thinking_duration_ms"] = json!(1);
            frame["thinking_display"] = json!("updates");
        }
        session.output.frame(&frame);
        self.turn.times.note_first_words();
        if received.delivery == Delivery::Streamed {
            self.turn.times.note_first_frame();
        }
        if block["type"] == "tool_use" {
            session.note_tool_use(block["name"].as_str().unwrap_or_default());
            self.turn.accept_call(&block, uuid);
        }
        received.blocks.push(ShownBlock {
            index,
            uuid,
            timestamp,
            block,
        });
    }

    async fn display_hook(&self, index: u64, block: &Value) {
        let session = Rc::clone(&self.turn.session);
        if session
            .hooks
            .borrow()
            .matching("MessageDisplay", None)
            .is_empty()
        {
            return;
        }
        // The ids are of the display, not of the conversation (observed on CLI 2.1.316).
        let message_id = Uuid::new_v4();
        let members = json!({
            "turn_id": self.turn.display_id,
            "message_id": message_id,
            "index": index,
            "final": true,
            "delta": block["text"],
        });
        let prompt_id = self.turn.prompt_id;
        tokio::task::spawn_local(async move {
            events::ask(
                &session,
                Some(prompt_id),
                "MessageDisplay",
                None,
                members,
                Some(&format!("{message_id}-0")),
            )
            .await;
        });
        // The request goes out before the frame it is about; its answer changes nothing.
        tokio::task::yield_now().await;
    }

    pub(super) fn show_event(&self, received: &Received, event: &Value, requested: Instant) {
        let session = &self.turn.session;
        if !session.arguments.include_partial_messages || event["type"] == "ping" {
            return;
        }
        let mut frame = json!({
            "type": "stream_event",
            "event": event,
            "session_id": session.id,
            "parent_tool_use_id": null,
            "uuid": Uuid::new_v4(),
        });
        if event["type"] == "message_start" {
            frame["ttft_ms"] = json!(milliseconds(requested.elapsed()));
            frame["thinking_display"] = json!("updates");
        }
        frame["api_message_id"] = received.reply.message()["id"].clone();
        session.output.frame(&frame);
    }

    pub(super) fn show_thinking_tokens(&self, estimated_tokens: u64) {
        let session = &self.turn.session;
        session.output.frame(&json!({
            "type": "system",
            "subtype": "thinking_tokens",
            "estimated_tokens": estimated_tokens,
            "estimated_tokens_delta": estimated_tokens,
            "uuid": Uuid::new_v4(),
            "session_id": session.id,
        }));
    }

    /// The reply counts: its blocks are written with what is known at its end.
    pub(super) fn accept(mut self, mut received: Received, cut: Option<Cut>) -> StepEnd {
        self.turn.stop_reason = received.reply.stop_reason().clone();
        let visible = received.blocks.iter().any(|shown| is_visible(&shown.block));
        if received.blocks.is_empty() {
            self.turn.last_text.clear();
        }
        let called = received
            .blocks
            .iter()
            .any(|shown| shown.block["type"] == "tool_use");
        if cut.is_some() {
            received
                .reply
                .end_early(if called { "tool_use" } else { "end_turn" });
        }
        self.write(&received);
        if let Some(cut) = cut.filter(|_| called) {
            self.turn.release_held();
            synthetic_reply::show_synthetic_reply(&self.turn.session, &cut.report(false));
        }
        StepEnd::Reply { cut, visible }
    }

    pub(super) fn keep_interrupted(&mut self, mut received: Received) {
        if let Some(block) = received.reply.open_text() {
            received.blocks.push(ShownBlock {
                index: received.blocks.len() as u64,
                uuid: Uuid::new_v4(),
                timestamp: clock::timestamp(),
                block,
            });
        }
        self.write(&received);
    }

    fn write(&mut self, received: &Received) {
        let session = Rc::clone(&self.turn.session);
        self.turn.reply_tokens = received.usage();
        session.ledger.borrow_mut().context_tokens = received.usage().total();
        let knows_end = received.reply.knows_its_end();
        match received.reply.has_started() {
            true if knows_end => self.charge(received.usage()),
            true => self.turn.tokens.add(received.usage()),
            false => {}
        }
        for shown in &received.blocks {
            let mut message = received.reply.message().clone();
            message["content"] = json!([shown.block]);
            message["stop_reason"] = received.reply.stop_reason().clone();
            if knows_end {
                message["usage"] = received.usage().usage();
            }
            if received.delivery == Delivery::Streamed && received.reply.saw_message_delta() {
                message["stop_details"] = Value::Null;
            }
            let mut members = json!({"apiBlockIndex": shown.index});
            if let Some(request_id) = &received.request_id {
                members["requestId"] = json!(request_id);
            }
            members["requestRef"] = json!(received.reference);
            members["requestedModel"] = json!(self.model.name);
            if let Some((server, tool)) = session.transcript.read(last_answered_mcp_tool) {
                members["attributionMcpServer"] = json!(server);
                members["attributionMcpTool"] = json!(tool);
            }
            if shown.block["type"] == "thinking" {
                members["thinkingDurationMs"] = json!(1);
                members["thinkingDisplay"] = json!("updates");
            }
            let entry = assistant_entry(
                &session.stamp,
                message,
                shown.uuid,
                &shown.timestamp,
                members,
                self.model.entry_members(),
            );
            session.transcript.chain(entry);
        }
    }
}

/// The MCP tool whose result the reply follows (observed on CLI 2.1.316).
fn last_answered_mcp_tool(entries: &[Value]) -> Option<(String, String)> {
    let answers = |entry: &&Value| {
        entry["type"] == "user"
            || entry["type"] == "assistant" && entry["message"]["model"] != "<synthetic>"
    };
    let last = entries.iter().rev().find(answers)?;
    if last["permissionDecision"]["decision"] != "accept" {
        return None;
    }
    let id = last["message"]["content"][0]["tool_use_id"].as_str()?;
    let name = entries.iter().rev().find_map(|entry| {
        let blocks = entry["message"]["content"].as_array()?;
        let call = blocks.iter().find(|block| block["id"] == *id)?;
        call["name"].as_str()
    })?;
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some((server.to_owned(), tool.to_owned()))
}

fn is_blank_text(block: &Value) -> bool {
    block["type"] == "text"
        && block["text"]
            .as_str()
            .is_some_and(|text| text.trim().is_empty())
}

fn is_visible(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("text") => block["text"]
            .as_str()
            .is_some_and(|text| !text.trim().is_empty()),
        Some("thinking" | "redacted_thinking") => false,
        _ => true,
    }
}
