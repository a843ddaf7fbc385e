//! A scripted message with its ids, tool names and token counts filled in.

use serde_json::{Map, Value, json};

use super::{ResolvedTool, cut::pieces_of_text, resolve_tool};
use crate::{
    identity::ReplyIdentity,
    request::History,
    script::{Block, CallInput, MessageReply, StreamOptions, TokenUsage},
};

/// A message as it goes out.
#[derive(Debug)]
pub(crate) struct RenderedMessage {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) blocks: Vec<RenderedBlock>,
    pub(crate) stop_reason: String,
    pub(crate) stop_sequence: Option<String>,
    usage: TokenUsage,
    /// What the script left open and had to be guessed.
    pub(crate) doubts: Vec<String>,
}

/// A content block, both whole and as it is streamed.
#[derive(Debug)]
pub(crate) struct RenderedBlock {
    /// The block of a reply that is not streamed.
    pub(crate) whole: Value,
    /// The block of `content_block_start`.
    pub(crate) start: Value,
    /// The deltas in order.
    pub(crate) deltas: Vec<Value>,
}

const DEFAULT_DELTA_CHARS: std::num::NonZeroUsize =
    std::num::NonZeroUsize::new(24).expect("24 is not zero");
const DEFAULT_INPUT_TOKENS: u64 = 10;

impl RenderedMessage {
    pub(crate) fn new(
        reply: &MessageReply,
        identity: ReplyIdentity,
        history: &History<'_>,
    ) -> Self {
        let mut doubts = Vec::new();
        let blocks = reply
            .content
            .iter()
            .enumerate()
            .map(|(index, block)| {
                let renderer = BlockRenderer {
                    index,
                    identity,
                    history,
                    stream: &reply.stream,
                };
                renderer.render(block, &mut doubts)
            })
            .collect();
        Self {
            id: reply.id.clone().unwrap_or_else(|| identity.message_id()),
            model: reply
                .model
                .clone()
                .unwrap_or_else(|| history.model().to_owned()),
            blocks,
            stop_reason: stop_reason(reply),
            stop_sequence: reply.stop_sequence.clone(),
            usage: reply.usage,
            doubts,
        }
    }

    /// The body of a reply that is not streamed.
    pub(crate) fn whole(&self) -> Value {
        let content: Vec<_> = self.blocks.iter().map(|block| &block.whole).collect();
        let mut message = self.envelope(self.output_tokens());
        message["content"] = json!(content);
        message["stop_reason"] = json!(self.stop_reason);
        message["stop_sequence"] = json!(self.stop_sequence);
        message
    }

    /// The message of `message_start`.
    pub(crate) fn start(&self) -> Value {
        self.envelope(1)
    }

    /// The usage of `message_delta`.
    pub(crate) fn final_usage(&self) -> Value {
        json!({
            "input_tokens": self.input_tokens(),
            "cache_creation_input_tokens": self.usage.cache_creation_input_tokens,
            "cache_read_input_tokens": self.usage.cache_read_input_tokens,
            "output_tokens": self.output_tokens(),
        })
    }

    fn envelope(&self, output_tokens: u64) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {
                "input_tokens": self.input_tokens(),
                "cache_creation_input_tokens": self.usage.cache_creation_input_tokens,
                "cache_read_input_tokens": self.usage.cache_read_input_tokens,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": self.usage.cache_creation_input_tokens,
                    "ephemeral_1h_input_tokens": 0,
                },
                "output_tokens": output_tokens,
                "service_tier": "standard",
            },
        })
    }

    fn input_tokens(&self) -> u64 {
        self.usage.input_tokens.unwrap_or(DEFAULT_INPUT_TOKENS)
    }

    fn output_tokens(&self) -> u64 {
        self.usage.output_tokens.unwrap_or_else(|| {
            let characters: usize = self
                .blocks
                .iter()
                .map(|block| block.whole.to_string().len())
                .sum();
            tokens_of(characters).max(1)
        })
    }
}

/// A rough count of the tokens of a request, for `count_tokens`.
pub(crate) fn estimated_input_tokens(body: &Value) -> u64 {
    let length = ["system", "tools", "messages"]
        .into_iter()
        .filter_map(|field| body.get(field))
        .map(|value| value.to_string().len())
        .sum();
    tokens_of(length)
}

fn tokens_of(characters: usize) -> u64 {
    const CHARACTERS_PER_TOKEN: usize = 4;
    characters.div_ceil(CHARACTERS_PER_TOKEN) as u64
}

fn stop_reason(reply: &MessageReply) -> String {
    let calls = reply
        .content
        .iter()
        .any(|block| matches!(block, Block::Call(_)));
    reply
        .stop_reason
        .clone()
        .unwrap_or_else(|| if calls { "tool_use" } else { "end_turn" }.to_owned())
}

struct BlockRenderer<'a> {
    index: usize,
    identity: ReplyIdentity,
    history: &'a History<'a>,
    stream: &'a StreamOptions,
}

impl BlockRenderer<'_> {
    fn render(&self, block: &Block, doubts: &mut Vec<String>) -> RenderedBlock {
        match block {
            Block::Text(text) => RenderedBlock {
                whole: json!({"type": "text", "text": text}),
                start: json!({"type": "text", "text": ""}),
                deltas: self.deltas("text_delta", "text", text),
            },
            Block::Thinking { text, signature } => self.thinking(text, signature.as_deref()),
            Block::RedactedThinking(data) => {
                let whole = json!({"type": "redacted_thinking", "data": data});
                RenderedBlock {
                    start: whole.clone(),
                    whole,
                    deltas: Vec::new(),
                }
            }
            Block::Call(call) => {
                let resolved = resolve_tool(&call.tool, self.history.tools());
                if let ResolvedTool::Ambiguous(tools) = &resolved {
                    doubts.push(format!(
                        "the call `{}` means any of [{}]; write the whole name",
                        call.tool,
                        tools.join(", ")
                    ));
                }
                let id = self.identity.tool_use_id(self.index, call);
                self.tool_use(&id, resolved.name(&call.tool), &call.input)
            }
            Block::Other { block, deltas } => RenderedBlock {
                whole: Value::Object(block.clone()),
                start: Value::Object(block.clone()),
                deltas: deltas.clone(),
            },
        }
    }

    fn thinking(&self, text: &str, signature: Option<&str>) -> RenderedBlock {
        let signature =
            signature.map_or_else(|| self.identity.signature(self.index), str::to_owned);
        let mut deltas = self.deltas("thinking_delta", "thinking", text);
        if !signature.is_empty() {
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
        }
        RenderedBlock {
            whole: json!({"type": "thinking", "thinking": text, "signature": signature}),
            start: json!({"type": "thinking", "thinking": "", "signature": ""}),
            deltas,
        }
    }

    fn tool_use(&self, id: &str, name: &str, input: &CallInput) -> RenderedBlock {
        let block =
            |input: &Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let (whole, text) = match input {
            CallInput::Json(value) => (value.clone(), value.to_string()),
            CallInput::Raw(raw) => (
                serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.clone())),
                raw.clone(),
            ),
        };
        RenderedBlock {
            whole: block(&whole),
            start: block(&Value::Object(Map::new())),
            deltas: self.deltas("input_json_delta", "partial_json", &text),
        }
    }

    fn deltas(&self, kind: &str, field: &str, text: &str) -> Vec<Value> {
        let size = self.stream.delta_chars.unwrap_or(DEFAULT_DELTA_CHARS);
        pieces_of_text(text, size)
            .into_iter()
            .map(|piece| json!({"type": kind, field: piece}))
            .collect()
    }
}
