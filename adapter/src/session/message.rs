//! Stored messages, and how a turn's transcript entries become messages.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks in a stored message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The user, or a turn-failure note in the user's place.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

impl MessageRole {
    /// The name in snapshots.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// The part of a stored message that only this adapter and its sisters in other languages read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum FrameworkItem {
    /// A prompt that no CLI session has seen yet, or has seen as the first entry after it.
    UserPrompt { text: String },
    /// The CLI's transcript entries, unchanged.
    ClaudeTranscript {
        session_id: String,
        entries: Vec<Value>,
    },
}

/// A message to be stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) role: MessageRole,
    pub(crate) text: String,
    /// The API's id of an assistant message.
    pub(crate) message_id: Option<String>,
    pub(crate) framework_item: FrameworkItem,
}

impl Message {
    /// A user's message, or a note that stands in its place.
    pub(crate) fn user(text: String) -> Self {
        Self {
            role: MessageRole::User,
            text: text.clone(),
            message_id: None,
            framework_item: FrameworkItem::UserPrompt { text },
        }
    }
}

/// Splits a turn's entries into messages: one for each API message and each tool result.
///
/// Every other entry rides along with the message after it (at the end: with the last one), so
/// that the entries of all messages, in order, are the transcript.
pub(crate) fn transcript_messages(claude_session_id: &str, entries: Vec<Value>) -> Vec<Message> {
    let texts = assistant_texts(&entries);
    let mut messages: Vec<Message> = Vec::new();
    let mut riding: Vec<Value> = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in entries {
        match Speech::of(&entry) {
            Speech::Assistant(id) if seen.insert(id.clone()) => {
                riding.push(entry);
                messages.push(transcript_message(
                    claude_session_id,
                    MessageRole::Assistant,
                    text_of(&texts, &id),
                    Some(id),
                    std::mem::take(&mut riding),
                ));
            }
            Speech::Assistant(id) => match messages.last_mut() {
                Some(last) if last.message_id.as_deref() == Some(&id) && riding.is_empty() => {
                    push_entry(last, entry);
                }
                _ => riding.push(entry),
            },
            Speech::ToolResult(text) => {
                riding.push(entry);
                messages.push(transcript_message(
                    claude_session_id,
                    MessageRole::Tool,
                    text,
                    None,
                    std::mem::take(&mut riding),
                ));
            }
            Speech::None => riding.push(entry),
        }
    }
    if let Some(last) = messages.last_mut() {
        for entry in riding {
            push_entry(last, entry);
        }
    }
    messages
}

fn transcript_message(
    claude_session_id: &str,
    role: MessageRole,
    text: String,
    message_id: Option<String>,
    entries: Vec<Value>,
) -> Message {
    Message {
        role,
        text,
        message_id,
        framework_item: FrameworkItem::ClaudeTranscript {
            session_id: claude_session_id.to_owned(),
            entries,
        },
    }
}

fn push_entry(message: &mut Message, entry: Value) {
    if let FrameworkItem::ClaudeTranscript { entries, .. } = &mut message.framework_item {
        entries.push(entry);
    }
}

/// What a transcript entry says in the main conversation.
enum Speech {
    Assistant(String),
    ToolResult(String),
    None,
}

impl Speech {
    fn of(entry: &Value) -> Self {
        if entry["isSidechain"].as_bool() == Some(true) {
            return Self::None;
        }
        let message = &entry["message"];
        match entry["type"].as_str() {
            Some("assistant") => message["id"]
                .as_str()
                .map_or(Self::None, |id| Self::Assistant(id.to_owned())),
            Some("user") => tool_result_text(message).map_or(Self::None, Self::ToolResult),
            _ => Self::None,
        }
    }
}

fn tool_result_text(message: &Value) -> Option<String> {
    let block = message["content"]
        .as_array()?
        .iter()
        .find(|block| block["type"] == "tool_result")?;
    Some(match &block["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => joined_text(blocks),
        _ => String::new(),
    })
}

fn joined_text(blocks: &[Value]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}

/// The text of each API message: the CLI writes one entry per content block.
fn assistant_texts(entries: &[Value]) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for entry in entries {
        let Speech::Assistant(id) = Speech::of(entry) else {
            continue;
        };
        let Some(blocks) = entry["message"]["content"].as_array() else {
            continue;
        };
        let text = joined_text(blocks);
        match texts.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) if !known.is_empty() && !text.is_empty() => {
                known.push('\n');
                known.push_str(&text);
            }
            Some((_, known)) => known.push_str(&text),
            None => texts.push((id, text)),
        }
    }
    texts
}

fn text_of(texts: &[(String, String)], id: &str) -> String {
    texts
        .iter()
        .find(|(known, _)| known == id)
        .map(|(_, text)| text.clone())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn assistant(id: &str, block: &Value) -> Value {
        json!({"type": "assistant", "message": {"id": id, "content": [block]}})
    }

    fn result(text: &str) -> Value {
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "toolu", "content": [{"type": "text", "text": text}]},
        ]}})
    }

    fn entries_of(messages: &[Message]) -> Vec<Value> {
        messages
            .iter()
            .flat_map(|message| match &message.framework_item {
                FrameworkItem::ClaudeTranscript { entries, .. } => entries.clone(),
                FrameworkItem::UserPrompt { .. } => Vec::new(),
            })
            .collect()
    }

    // covers: wire-one-message-each, wire-ride-along
    #[test]
    fn one_message_for_each_api_message_and_each_tool_result() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let entries = vec![
            json!({"type": "user", "message": {"content": "the prompt"}}),
            assistant("m1", &text("Looking.")),
            assistant("m1", &json!({"type": "tool_use", "id": "a"})),
            result("found"),
            assistant("m1", &json!({"type": "tool_use", "id": "b"})),
            result("also found"),
            assistant("m2", &text("Done.")),
            json!({"type": "last-prompt"}),
        ];
        let messages = transcript_messages("session", entries.clone());
        let seen: Vec<(MessageRole, &str)> = messages
            .iter()
            .map(|message| (message.role, message.text.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (MessageRole::Assistant, "Looking."),
                (MessageRole::Tool, "found"),
                (MessageRole::Tool, "also found"),
                (MessageRole::Assistant, "Done."),
            ]
        );
        assert_eq!(entries_of(&messages), entries);
    }

    // covers: wire-user-prompt, wire-claude-transcript
    #[test]
    fn the_stored_form_is_the_one_that_other_languages_read() {
        let prompt = FrameworkItem::UserPrompt {
            text: "hello".into(),
        };
        assert_eq!(
            serde_json::to_value(prompt).expect("plain data"),
            json!({"kind": "user_prompt", "text": "hello"})
        );
        let transcript = FrameworkItem::ClaudeTranscript {
            session_id: "s".into(),
            entries: vec![json!({"a": 1})],
        };
        assert_eq!(
            serde_json::to_value(transcript).expect("plain data"),
            json!({"kind": "claude_transcript", "session_id": "s", "entries": [{"a": 1}]})
        );
    }

    proptest! {
        /// Whatever the order of entries, none is lost, moved or doubled once anybody spoke.
        // covers: wire-transcript-concat, wire-ride-along
        #[test]
        fn the_messages_entries_are_the_transcript(kinds in prop::collection::vec(0_u8..5, 0..40)) {
            let entries: Vec<Value> = kinds
                .iter()
                .map(|kind| match kind {
                    0 => assistant("m1", &json!({"type": "text", "text": "one"})),
                    1 => assistant("m2", &json!({"type": "text", "text": "two"})),
                    2 => result("found"),
                    3 => json!({"type": "attachment"}),
                    _ => json!({"type": "user", "message": {"content": "a prompt"}}),
                })
                .collect();
            let spoke = kinds.iter().any(|kind| *kind < 3);
            let messages = transcript_messages("session", entries.clone());
            prop_assert_eq!(entries_of(&messages), if spoke { entries } else { Vec::new() });
        }
    }
}
