//! What the API's error messages mean.

use serde_json::Value;

/// What the API can find wrong with the calls and results of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mistake {
    MissingResult,
    OrphanedResult,
    DuplicateId,
}

impl Mistake {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::MissingResult => "due to tool use concurrency issues.",
            Self::OrphanedResult => "orphaned tool_result in conversation history.",
            Self::DuplicateId => "duplicate tool_use ID in conversation history.",
        }
    }
}

pub(super) fn is_unpaid(message: &str) -> bool {
    message.to_lowercase().contains("credit balance is too low")
}

pub(super) fn conversation_mistake(message: &str) -> Option<Mistake> {
    if message.contains("ids were found without `tool_result` blocks") {
        Some(Mistake::MissingResult)
    } else if message.contains("unexpected `tool_use_id` found in `tool_result` blocks") {
        Some(Mistake::OrphanedResult)
    } else if message.contains("`tool_use` ids must be unique") {
        Some(Mistake::DuplicateId)
    } else {
        None
    }
}

pub(super) fn is_context_overflow(message: &str) -> bool {
    message.to_lowercase().contains("prompt is too long")
        || message.contains("exceed context limit")
}

pub(super) fn prompt_too_long(message: &str) -> String {
    let numbers: Vec<&str> = message
        .split(|character: char| !character.is_ascii_digit())
        .filter(|number| !number.is_empty())
        .collect();
    match numbers.as_slice() {
        [size, limit] => format!(
            "Prompt is too long · the request is ~{size} tokens (limit {limit}) but nothing is left \
             to compact"
        ),
        _ => "Prompt is too long · this conversation is a single exchange and cannot be compacted \
              — the request size comes mostly from system prompt, tool definitions, or \
              attachments."
            .to_owned(),
    }
}

/// The message of an error body: of the envelope, of an HTML page's heading, or the status itself.
pub(super) fn message_of(body: &str, reason: &str) -> String {
    if body.trim().is_empty() {
        return "status code (no body)".to_owned();
    }
    if let Ok(envelope) = serde_json::from_str::<Value>(body) {
        let message = envelope["error"]["message"].as_str();
        return message.map_or_else(|| envelope.to_string(), str::to_owned);
    }
    let heading = body
        .split_once("<h1>")
        .and_then(|(_, rest)| rest.split_once("</h1>"))
        .map(|(heading, _)| {
            heading
                .trim()
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim()
        });
    heading.unwrap_or(reason).to_owned()
}
