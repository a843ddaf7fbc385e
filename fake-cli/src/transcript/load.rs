//! Reading a session that an earlier process left, and what it left undone.

use std::path::Path;

use serde_json::{Value, json};
use uuid::Uuid;

use super::conversation::has_tool_result;

/// A session read from disk.
#[derive(Debug, Default)]
pub(crate) struct LoadedSession {
    /// Whether the entries are those of another session, which this one has yet to write.
    pub(crate) is_fork: bool,
    /// The conversation in the order of the file, without what the model never gets to see.
    pub(crate) entries: Vec<Value>,
    /// The call that a resume without a prompt runs.
    pub(crate) deferral: Option<PendingDeferral>,
    /// The latest `cost-state`, if any.
    pub(crate) cost_state: Option<Value>,
    /// The names of tools that earlier processes used.
    pub(crate) tools_used: Vec<String>,
    /// The latest prompt.
    pub(crate) last_prompt: Option<String>,
    /// Whether an earlier process noted the mode.
    pub(crate) mode_noted: bool,
    /// The hashes of recorded parts of requests.
    pub(crate) recorded: Vec<String>,
    /// How many entries the conversation has.
    pub(crate) prompts: u64,
}

impl LoadedSession {
    /// The conversation as the beginning of another session: requests and costs stay behind (observed on CLI 2.1.316).
    pub(crate) fn forked(mut self, id: Uuid) -> Self {
        for entry in &mut self.entries {
            entry["sessionId"] = json!(id);
            if let Some(members) = entry.as_object_mut() {
                members.shift_remove("promptId");
            }
        }
        self.recorded.clear();
        self.is_fork = true;
        self
    }
}

/// A deferred call that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PendingDeferral {
    pub(crate) tool_use_id: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// The entry that holds the call.
    pub(crate) assistant_uuid: String,
}

/// Reads a session. Lines that are no JSON objects are skipped: a process may have died while it
/// wrote one.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn load(path: &Path) -> std::io::Result<LoadedSession> {
    let bytes = std::fs::read(path)?;
    Ok(understand(&String::from_utf8_lossy(&bytes)))
}

fn understand(text: &str) -> LoadedSession {
    let mut session = LoadedSession::default();
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        match entry["type"].as_str() {
            Some("user" | "assistant" | "attachment") if entry["isSidechain"] != true => {
                session.entries.push(entry);
            }
            Some("api-request-shape") => session.recorded.extend(text_of(&entry["shapeHash"])),
            Some("api-request-blob") => session.recorded.extend(text_of(&entry["hash"])),
            Some("mode") => session.mode_noted = true,
            Some("cost-state") => session.cost_state = Some(entry),
            Some("last-prompt") => {
                session.last_prompt = entry["lastPrompt"].as_str().map(str::to_owned);
            }
            Some("tools-used") => {
                let tools = entry["tools"].as_array().into_iter().flatten();
                session.tools_used = tools
                    .filter_map(|tool| tool.as_str().map(str::to_owned))
                    .collect();
            }
            _ => {}
        }
    }
    session.prompts = count_prompts(&session.entries);
    session.deferral = pending_deferral(&session.entries);
    if let Some(deferral) = &session.deferral {
        forget_other_unanswered_calls(&mut session.entries, deferral);
    }
    session
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn count_prompts(entries: &[Value]) -> u64 {
    entries.iter().filter(|entry| is_prompt(entry)).count() as u64
}

fn is_prompt(entry: &Value) -> bool {
    entry["type"] == "user"
        && match &entry["message"]["content"] {
            Value::String(_) => true,
            Value::Array(blocks) => blocks.iter().all(|block| block["type"] != "tool_result"),
            _ => false,
        }
}

/// The last written deferral, if nothing but tool results and attachments came after it (observed
/// on CLI 2.1.316: another prompt ends it for good).
fn pending_deferral(entries: &[Value]) -> Option<PendingDeferral> {
    let (position, deferral) = entries.iter().enumerate().rev().find(|(_, entry)| {
        entry["type"] == "attachment" && entry["attachment"]["type"] == "hook_deferred_tool"
    })?;
    let tool_use_id = deferral["attachment"]["toolUseID"].as_str()?;
    let later = &entries[position + 1..];
    let ended = later
        .iter()
        .any(|entry| is_prompt(entry) || entry["type"] == "assistant");
    if ended || has_tool_result(entries, tool_use_id) {
        return None;
    }
    let (assistant, block) = entries[..position].iter().rev().find_map(|entry| {
        let blocks = entry["message"]["content"].as_array()?;
        let block = blocks
            .iter()
            .find(|block| block["type"] == "tool_use" && block["id"] == *tool_use_id)?;
        Some((entry, block))
    })?;
    Some(PendingDeferral {
        tool_use_id: tool_use_id.to_owned(),
        tool: block["name"].as_str()?.to_owned(),
        input: block["input"].clone(),
        assistant_uuid: assistant["uuid"].as_str()?.to_owned(),
    })
}

/// Calls of the same reply that were deferred before the last one vanish from the conversation
/// (observed on CLI 2.1.316).
fn forget_other_unanswered_calls(entries: &mut Vec<Value>, deferral: &PendingDeferral) {
    let unanswered = |entries: &[Value], block: &Value| {
        let id = block["id"].as_str().unwrap_or_default();
        block["type"] == "tool_use" && id != deferral.tool_use_id && !has_tool_result(entries, id)
    };
    let snapshot = entries.clone();
    for entry in entries
        .iter_mut()
        .filter(|entry| entry["type"] == "assistant")
    {
        if let Some(blocks) = entry["message"]["content"].as_array_mut() {
            blocks.retain(|block| !unanswered(&snapshot, block));
        }
    }
    entries.retain(|entry| {
        entry["type"] != "assistant"
            || entry["message"]["content"]
                .as_array()
                .is_none_or(|blocks| !blocks.is_empty())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(uuid: &str, id: &str) -> Value {
        json!({"type": "assistant", "uuid": uuid, "message": {"id": "msg", "content":
            [{"type": "tool_use", "id": id, "name": "refund", "input": {"order": id}}]}})
    }

    fn deferred(id: &str) -> Value {
        json!({"type": "attachment", "attachment": {"type": "hook_deferred_tool", "toolUseID": id}})
    }

    fn result(id: &str) -> Value {
        json!({"type": "user", "message": {"content":
            [{"type": "tool_result", "tool_use_id": id, "content": "done"}]}})
    }

    fn prompt(text: &str) -> Value {
        json!({"type": "user", "message": {"content": text}})
    }

    fn session(entries: &[Value]) -> LoadedSession {
        let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
        understand(&lines.join("\n"))
    }

    fn pending(entries: &[Value]) -> Option<String> {
        session(entries)
            .deferral
            .map(|deferral| deferral.tool_use_id)
    }

    #[test]
    fn the_deferral_written_last_is_pending() {
        let entries = [
            call("a", "one"),
            call("b", "two"),
            deferred("two"),
            deferred("one"),
        ];
        assert_eq!(pending(&entries), Some("one".to_owned()));
    }

    #[test]
    fn a_call_and_its_deferral_are_enough() {
        assert_eq!(
            pending(&[call("a", "one"), deferred("one")]),
            Some("one".to_owned())
        );
        assert_eq!(pending(&[call("a", "one")]), None);
        assert_eq!(pending(&[deferred("one")]), None);
    }

    #[test]
    fn a_prompt_or_a_result_ends_the_deferral() {
        let pair = [call("a", "one"), deferred("one")];
        for end in [prompt("something else"), result("one")] {
            let entries = [pair[0].clone(), pair[1].clone(), end];
            assert_eq!(pending(&entries), None);
        }
    }

    #[test]
    fn a_result_of_another_call_does_not_end_it() {
        let entries = [
            call("a", "one"),
            call("b", "two"),
            deferred("one"),
            result("two"),
        ];
        assert_eq!(pending(&entries), Some("one".to_owned()));
    }

    #[test]
    fn other_deferred_calls_vanish_and_answered_ones_stay() {
        let loaded = session(&[
            call("a", "one"),
            call("b", "two"),
            call("c", "three"),
            deferred("one"),
            deferred("two"),
            result("three"),
        ]);
        let left: Vec<_> = loaded
            .entries
            .iter()
            .filter(|entry| entry["type"] == "assistant")
            .map(|entry| entry["uuid"].clone())
            .collect();
        assert_eq!(left, [json!("b"), json!("c")]);
    }

    #[test]
    fn a_torn_last_line_is_skipped() {
        let text = format!("{}\n{}\n{{\"type\":\"us", call("a", "one"), deferred("one"));
        assert!(understand(&text).deferral.is_some());
    }
}
