//! The ids of a reply, and finding a reply again in a later request's history.

use serde_json::Value;

use crate::{
    request::{History, Turn},
    script::{Block, EventsReply, MessageReply, Reply, ToolCall},
};

/// Where a reply stands: all its ids derive from this, so that the same request gets the same bytes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplyIdentity {
    exchange: usize,
    attempt: usize,
    occurrence: usize,
}

impl ReplyIdentity {
    pub(crate) fn new(exchange: usize, attempt: usize, occurrence: usize) -> Self {
        Self {
            exchange,
            attempt,
            occurrence,
        }
    }

    pub(crate) fn message_id(self) -> String {
        format!("msg_{}{}", self.exchange + 1, self.suffix())
    }

    /// The id of the tool use in the block at a position from 0.
    pub(crate) fn tool_use_id(self, block: usize, call: &ToolCall) -> String {
        call.id
            .clone()
            .unwrap_or_else(|| self.derived("toolu", block))
    }

    pub(crate) fn signature(self, block: usize) -> String {
        self.derived("signature", block)
    }

    fn derived(self, prefix: &str, block: usize) -> String {
        format!(
            "{prefix}_{}_{}{}",
            self.exchange + 1,
            block + 1,
            self.suffix()
        )
    }

    fn suffix(self) -> String {
        let attempt = match self.attempt {
            0 => String::new(),
            attempt => format!("_attempt{}", attempt + 1),
        };
        let occurrence = match self.occurrence {
            0 => String::new(),
            occurrence => format!("_again{occurrence}"),
        };
        attempt + &occurrence
    }
}

/// What a reply leaves in the history of later requests.
#[derive(Debug)]
pub(crate) struct ReplyTrace {
    tool_use_ids: Vec<String>,
    texts: Vec<String>,
}

impl ReplyTrace {
    pub(crate) fn new(identity: ReplyIdentity, reply: &Reply) -> Self {
        match reply {
            Reply::Message(message) => Self::of_message(identity, message),
            Reply::Events(events) => Self::of_events(events),
            Reply::Status(_) => Self {
                tool_use_ids: Vec::new(),
                texts: Vec::new(),
            },
        }
    }

    fn of_message(identity: ReplyIdentity, message: &MessageReply) -> Self {
        let blocks = || message.content.iter().enumerate();
        Self {
            tool_use_ids: blocks()
                .filter_map(|(index, block)| match block {
                    Block::Call(call) => Some(identity.tool_use_id(index, call)),
                    Block::Other { block, .. } => owned(block.get("id")),
                    _ => None,
                })
                .collect(),
            texts: blocks()
                .filter_map(|(_, block)| match block {
                    Block::Text(text) | Block::Thinking { text, .. } => Some(text.clone()),
                    Block::Other { block, .. } => owned(block.get("text")),
                    _ => None,
                })
                .filter(|text| !text.trim().is_empty())
                .collect(),
        }
    }

    fn of_events(reply: &EventsReply) -> Self {
        let data = || reply.events.iter().filter_map(|event| event.data.as_ref());
        let mut texts: Vec<String> = Vec::new();
        for event in data() {
            if event["type"] == "content_block_start" {
                texts.push(String::new());
            }
            if let (Some(text), Some(part)) = (texts.last_mut(), event["delta"]["text"].as_str()) {
                text.push_str(part);
            }
        }
        texts.retain(|text| !text.trim().is_empty());
        Self {
            tool_use_ids: data()
                .filter_map(|event| owned(event["content_block"].get("id")))
                .collect(),
            texts,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tool_use_ids.is_empty() && self.texts.is_empty()
    }

    pub(crate) fn into_tool_use_ids(self) -> Vec<String> {
        self.tool_use_ids
    }

    /// Whether this reply is what the history ends with.
    ///
    /// The tool use itself may be gone from the history while its result is there, since a resumed CLI drops all
    /// but one of several deferred calls (observed on CLI 2.1.316); so a result is as good as the use.
    pub(crate) fn ends(&self, history: &History<'_>) -> bool {
        history
            .last_tool_results()
            .any(|(id, _)| self.has_tool_use(id))
            || history
                .last_assistant_turn()
                .is_some_and(|turn| self.is_in(turn))
    }

    /// Whether an assistant turn holds this reply or what a fault left of it.
    pub(crate) fn is_in(&self, turn: &Turn<'_>) -> bool {
        if turn.tool_use_ids().next().is_some() {
            return turn.tool_use_ids().any(|id| self.has_tool_use(id));
        }
        turn.texts()
            .next_back()
            .is_some_and(|last| self.texts.iter().any(|text| text.trim() == last.trim()))
    }

    fn has_tool_use(&self, id: &str) -> bool {
        let first_occurrence = id.rsplit_once("_again").map_or(id, |(first, _)| first);
        self.tool_use_ids
            .iter()
            .any(|own| own == id || own == first_occurrence)
    }
}

fn owned(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}
