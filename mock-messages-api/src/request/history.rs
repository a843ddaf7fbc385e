//! A request's messages as turns.

use serde_json::Value;

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
}

/// Consecutive messages of one role, joined as the API joins them.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<Content<'a>>,
}

/// One content block of a turn; a message that is a plain string counts as one text block.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    Text(&'a str),
    ToolUse { id: &'a str, name: &'a str },
    ToolResult { id: &'a str, block: &'a Value },
    Other(&'a Value),
}

/// A request as selection sees it.
#[derive(Debug)]
pub(crate) struct History<'a> {
    pub(crate) body: &'a Value,
    pub(crate) turns: Vec<Turn<'a>>,
}

impl<'a> History<'a> {
    /// Reads the messages of a request body. Messages with the role `system` are skipped: the CLI puts its notes
    /// to the model there, also after the last user message (observed on CLI 2.1.316).
    pub(crate) fn new(body: &'a Value) -> Self {
        let mut turns: Vec<Turn<'a>> = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten() {
            let role = match message["role"].as_str() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => continue,
            };
            let blocks = contents(&message["content"]);
            match turns.last_mut() {
                Some(turn) if turn.role == role => turn.blocks.extend(blocks),
                _ => turns.push(Turn { role, blocks }),
            }
        }
        Self { body, turns }
    }

    /// What the user side says last; empty when the history ends with the assistant.
    pub(crate) fn last_user_blocks(&self) -> &[Content<'a>] {
        match self.turns.last() {
            Some(turn) if turn.role == Role::User => &turn.blocks,
            _ => &[],
        }
    }

    /// The last text of the user, reminders left aside.
    pub(crate) fn last_user_text(&self) -> Option<&'a str> {
        self.last_user_blocks()
            .iter()
            .rev()
            .find_map(|content| match content {
                Content::Text(text) if !is_reminder(text) => Some(*text),
                _ => None,
            })
    }

    /// The last turn of the assistant that the user has answered, or that ends the history.
    pub(crate) fn last_assistant_turn(&self) -> Option<&Turn<'a>> {
        self.turns
            .iter()
            .rev()
            .find(|turn| turn.role == Role::Assistant)
    }

    pub(crate) fn assistant_turns(&self) -> impl Iterator<Item = &Turn<'a>> {
        self.turns
            .iter()
            .filter(|turn| turn.role == Role::Assistant)
    }

    /// The tool results of the last user turn with their tool use ids.
    pub(crate) fn last_tool_results(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.last_user_blocks()
            .iter()
            .filter_map(|content| match content {
                Content::ToolResult { id, block } => Some((*id, *block)),
                _ => None,
            })
    }

    /// The name of the tool that a tool use id of the history called.
    pub(crate) fn called_tool(&self, tool_use_id: &str) -> Option<&'a str> {
        self.turns
            .iter()
            .flat_map(|turn| &turn.blocks)
            .find_map(|content| match content {
                Content::ToolUse { id, name } if *id == tool_use_id => Some(*name),
                _ => None,
            })
    }

    /// The system prompt, its blocks joined by line breaks.
    pub(crate) fn system(&self) -> String {
        text_of(&self.body["system"])
    }

    pub(crate) fn model(&self) -> &'a str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub(crate) fn asks_for_stream(&self) -> bool {
        self.body["stream"].as_bool().unwrap_or_default()
    }

    /// The names of the tools that the request offers.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &'a str> {
        self.body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str())
    }
}

impl<'a> Turn<'a> {
    pub(crate) fn tool_use_ids(&self) -> impl Iterator<Item = &'a str> {
        self.blocks.iter().filter_map(|content| match content {
            Content::ToolUse { id, .. } => Some(*id),
            _ => None,
        })
    }

    pub(crate) fn texts(&self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.blocks.iter().filter_map(|content| match content {
            Content::Text(text) => Some(*text),
            Content::Other(block) => block["thinking"].as_str(),
            _ => None,
        })
    }
}

/// Whether `offered` is the tool that a script calls `called`: by its exact name or by its name on an MCP server.
pub(crate) fn tool_is_called(offered: &str, called: &str) -> bool {
    offered == called
        || offered
            .strip_prefix("mcp__")
            .and_then(|rest| rest.split_once("__"))
            .is_some_and(|(_, tool)| tool == called)
}

/// The text of a `content` that is a string or a list of blocks, joined by line breaks.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// A text without the reminder that the CLI appends to a tool result for models that take no messages with the role
/// `system` (observed on CLI 2.1.316 with `claude-haiku-4-5`).
pub(crate) fn without_trailing_reminder(text: &str) -> &str {
    text.trim_end()
        .strip_suffix("</system-reminder>")
        .and_then(|rest| rest.rsplit_once("<system-reminder>"))
        .map_or(text, |(before, _)| before.trim_end())
}

fn contents(content: &Value) -> Vec<Content<'_>> {
    match content {
        Value::String(text) => vec![Content::Text(text)],
        Value::Array(blocks) => blocks.iter().map(block_content).collect(),
        _ => Vec::new(),
    }
}

fn block_content(block: &Value) -> Content<'_> {
    let text = |field: &str| block[field].as_str();
    match text("type") {
        Some("text") => Content::Text(text("text").unwrap_or_default()),
        Some("tool_use") => Content::ToolUse {
            id: text("id").unwrap_or_default(),
            name: text("name").unwrap_or_default(),
        },
        Some("tool_result") => Content::ToolResult {
            id: text("tool_use_id").unwrap_or_default(),
            block,
        },
        _ => Content::Other(block),
    }
}

fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with("<system-reminder>")
}
