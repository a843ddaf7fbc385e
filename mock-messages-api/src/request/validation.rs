//! What the real API refuses, with its statuses, types and message shapes.
//!
//! The texts follow public reports of real responses; see the crate's `docs/validation.md` for the list.

use std::collections::{BTreeMap, HashSet};

use hyper::HeaderMap;
use serde_json::Value;

use crate::script::ErrorDetail;

/// A request that the real API would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    pub(crate) error: ErrorDetail,
}

impl Rejection {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            error: ErrorDetail::new(ErrorDetail::usual(status).kind, message),
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }
}

/// Checks the key and the version header.
pub(crate) fn validate_headers(
    headers: &HeaderMap,
    expected_key: Option<&str>,
) -> Result<(), Rejection> {
    let Some(key) = presented_key(headers) else {
        return Err(Rejection::new(401, "x-api-key header is required"));
    };
    if key.is_empty() || expected_key.is_some_and(|expected| expected != key) {
        return Err(Rejection::new(401, "invalid x-api-key"));
    }
    let Some(version) = headers.get("anthropic-version") else {
        return Err(Rejection::invalid("anthropic-version: header is required"));
    };
    let version = String::from_utf8_lossy(version.as_bytes());
    if is_date(&version) {
        return Ok(());
    }
    Err(Rejection::invalid(format!(
        "anthropic-version: \"{version}\" is not a valid version"
    )))
}

/// Whether a text has the shape of a version. Which versions there are changes: `2023-06-01` is what CLI 2.1.316
/// sends, `2026-10-21` what the TypeScript client 1.14.0 sends.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == "2023-06-01".len()
        && bytes.iter().enumerate().all(|(index, byte)| match index {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// The API key of a request, from either header that carries one.
pub(crate) fn presented_key(headers: &HeaderMap) -> Option<&str> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    header("x-api-key").or_else(|| header("authorization")?.strip_prefix("Bearer "))
}

/// Checks the body of a request for a message.
///
/// A count of tokens needs no `max_tokens`.
pub(crate) fn validate_body(body: &Value, needs_max_tokens: bool) -> Result<(), Rejection> {
    let Some(fields) = body.as_object() else {
        return Err(Rejection::invalid("Input should be a valid dictionary"));
    };
    for required in ["model", "messages", "max_tokens"] {
        let is_needed = needs_max_tokens || required != "max_tokens";
        if is_needed && !fields.contains_key(required) {
            return Err(Rejection::invalid(format!("{required}: Field required")));
        }
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(Rejection::invalid("model: Input should be a valid string"));
    }
    if needs_max_tokens && body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return Err(Rejection::invalid(
            "max_tokens: Input should be greater than or equal to 1",
        ));
    }
    let Some(messages) = body["messages"].as_array() else {
        return Err(Rejection::invalid("messages: Input should be a valid list"));
    };
    validate_messages(messages)
}

fn validate_messages(messages: &[Value]) -> Result<(), Rejection> {
    validate_roles(messages)?;
    for message in messages {
        validate_content(message)?;
    }
    validate_tool_uses(messages)
}

fn validate_roles(messages: &[Value]) -> Result<(), Rejection> {
    for (index, message) in messages.iter().enumerate() {
        if !matches!(
            message["role"].as_str(),
            Some("user" | "assistant" | "system")
        ) {
            return Err(Rejection::invalid(format!(
                "messages.{index}.role: Input should be 'user' or 'assistant'"
            )));
        }
    }
    match messages.iter().find(|message| message["role"] != "system") {
        None => Err(Rejection::invalid(
            "messages: at least one message is required",
        )),
        Some(message) if message["role"] != "user" => Err(Rejection::invalid(
            "messages: first message must use the \"user\" role",
        )),
        Some(_) => Ok(()),
    }
}

fn validate_content(message: &Value) -> Result<(), Rejection> {
    match &message["content"] {
        Value::String(text) if text.is_empty() => Err(Rejection::invalid(
            "messages: text content blocks must be non-empty",
        )),
        Value::String(_) => Ok(()),
        Value::Array(blocks) => {
            if blocks.iter().any(|block| {
                block["type"] == "text" && block["text"].as_str().is_none_or(str::is_empty)
            }) {
                return Err(Rejection::invalid(
                    "messages: text content blocks must be non-empty",
                ));
            }
            Ok(())
        }
        _ => Err(Rejection::invalid(
            "messages: all messages must have non-empty content except for the optional final assistant message",
        )),
    }
}

/// Where a tool use or a tool result stands.
#[derive(Debug, Clone, Copy)]
struct Position {
    message: usize,
    block: usize,
}

/// The tool uses and tool results of one turn.
#[derive(Debug, Default)]
struct ToolTurn<'a> {
    is_assistant: bool,
    first_message: usize,
    uses: BTreeMap<&'a str, Position>,
    results: Vec<(&'a str, Position)>,
}

fn validate_tool_uses(messages: &[Value]) -> Result<(), Rejection> {
    validate_ids(messages)?;
    let turns = tool_turns(messages);
    for (index, turn) in turns.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|index| turns.get(index));
        validate_results(turn, previous)?;
        if turn.is_assistant {
            validate_answered(turn, turns.get(index + 1))?;
        }
    }
    Ok(())
}

fn validate_ids(messages: &[Value]) -> Result<(), Rejection> {
    let mut seen = HashSet::new();
    for (message, block, id) in blocks_of_type(messages, "tool_use", "id") {
        let well_formed = !id.is_empty()
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if !well_formed {
            return Err(Rejection::invalid(format!(
                "messages.{message}.content.{block}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            )));
        }
        if !seen.insert(id) {
            return Err(Rejection::invalid(format!(
                "messages.{message}.content.{block}: `tool_use` ids must be unique"
            )));
        }
    }
    Ok(())
}

fn blocks_of_type<'a>(
    messages: &'a [Value],
    kind: &'static str,
    id_field: &'static str,
) -> impl Iterator<Item = (usize, usize, &'a str)> {
    messages
        .iter()
        .enumerate()
        .flat_map(move |(message, value)| {
            value["content"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
                .filter(move |(_, block)| block["type"] == kind)
                .map(move |(block, value)| {
                    (message, block, value[id_field].as_str().unwrap_or_default())
                })
        })
}

fn tool_turns(messages: &[Value]) -> Vec<ToolTurn<'_>> {
    let mut turns: Vec<ToolTurn<'_>> = Vec::new();
    for (message, value) in messages.iter().enumerate() {
        let is_assistant = match value["role"].as_str() {
            Some("assistant") => true,
            Some("user") => false,
            _ => continue,
        };
        if turns
            .last()
            .is_none_or(|turn| turn.is_assistant != is_assistant)
        {
            turns.push(ToolTurn {
                is_assistant,
                first_message: message,
                ..ToolTurn::default()
            });
        }
        let Some(turn) = turns.last_mut() else {
            continue;
        };
        for (block, value) in value["content"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let position = Position { message, block };
            match value["type"].as_str() {
                Some("tool_use") => {
                    turn.uses
                        .insert(value["id"].as_str().unwrap_or_default(), position);
                }
                Some("tool_result") => turn
                    .results
                    .push((value["tool_use_id"].as_str().unwrap_or_default(), position)),
                _ => {}
            }
        }
    }
    turns
}

fn validate_results(turn: &ToolTurn<'_>, previous: Option<&ToolTurn<'_>>) -> Result<(), Rejection> {
    let mut answered = HashSet::new();
    for (id, Position { message, block }) in &turn.results {
        if !previous.is_some_and(|previous| previous.uses.contains_key(id)) {
            return Err(Rejection::invalid(format!(
                "messages.{message}.content.{block}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. \
                 Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )));
        }
        if !answered.insert(*id) {
            return Err(Rejection::invalid(format!(
                "messages.{message}.content.{block}: each tool_use must have a single result. \
                 Found multiple `tool_result` blocks with id: {id}"
            )));
        }
    }
    Ok(())
}

fn validate_answered(turn: &ToolTurn<'_>, next: Option<&ToolTurn<'_>>) -> Result<(), Rejection> {
    let answered: HashSet<&str> = next
        .iter()
        .flat_map(|next| next.results.iter().map(|(id, _)| *id))
        .collect();
    let mut open: Vec<_> = turn
        .uses
        .iter()
        .filter(|(id, _)| !answered.contains(*id))
        .collect();
    open.sort_by_key(|(_, position)| (position.message, position.block));
    let Some((_, first)) = open.first() else {
        return Ok(());
    };
    let ids: Vec<_> = open.iter().map(|(id, _)| **id).collect();
    Err(Rejection::invalid(format!(
        "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. \
         Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        first.message.max(turn.first_message),
        ids.join(", ")
    )))
}
