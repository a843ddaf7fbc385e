//! Content blocks of a scripted reply.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One content block of a reply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "BlockFields")]
pub enum Block {
    /// Text that the user sees.
    Text(String),
    /// Reasoning; an empty signature means that no `signature_delta` is sent at all.
    Thinking {
        /// The reasoning text.
        text: String,
        /// The signature; derived from the block's position when absent.
        signature: Option<String>,
    },
    /// Reasoning that the API hides, as opaque data.
    RedactedThinking(String),
    /// A tool use.
    Call(ToolCall),
    /// Any other block, sent as it is written.
    Other {
        /// The whole content block, with its `type`.
        block: Map<String, Value>,
        /// `delta` objects that follow its start.
        deltas: Vec<Value>,
    },
}

/// A tool use in a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool: its exact name, or the part after `mcp__<server>__` when that is unique among the request's tools.
    pub tool: String,
    /// The tool use id; derived from the block's position when absent.
    pub id: Option<String>,
    /// What the model passes to the tool.
    pub input: CallInput,
}

/// The input of a tool use.
#[derive(Debug, Clone, PartialEq)]
pub enum CallInput {
    /// A JSON value.
    Json(Value),
    /// Text sent in place of JSON, to see what becomes of unreadable input.
    Raw(String),
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A tool use with a derived id.
    pub fn call(tool: impl Into<String>, input: Value) -> Self {
        Self::Call(ToolCall {
            tool: tool.into(),
            id: None,
            input: CallInput::Json(input),
        })
    }
}

/// A content block: exactly one of `text`, `thinking`, `redacted_thinking`, `call` or `block`, and what belongs to it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BlockFields {
    /// Text that the user sees.
    text: Option<String>,
    /// Reasoning text.
    thinking: Option<String>,
    /// With `thinking`: its signature. Derived when absent; `""` sends none.
    signature: Option<String>,
    /// Reasoning that the API hides, as opaque data.
    redacted_thinking: Option<String>,
    /// A tool use: the tool's exact name, or its name without `mcp__<server>__` when only one server offers it.
    /// A name that no tool of the request has is sent as written.
    call: Option<String>,
    /// With `call`: the input, `{}` when absent.
    input: Option<Value>,
    /// With `call`: text sent in place of the input's JSON, to see what becomes of unreadable input.
    raw_input: Option<String>,
    /// With `call`: the tool use id, in place of the one derived from the block's position.
    id: Option<String>,
    /// A content block of any other type, sent as it is written.
    block: Option<Map<String, Value>>,
    /// With `block`: `delta` objects sent after its start.
    deltas: Option<Vec<Value>>,
}

impl BlockFields {
    fn kinds(&self) -> Vec<&'static str> {
        [
            ("text", self.text.is_some()),
            ("thinking", self.thinking.is_some()),
            ("redacted_thinking", self.redacted_thinking.is_some()),
            ("call", self.call.is_some()),
            ("block", self.block.is_some()),
        ]
        .into_iter()
        .filter_map(|(kind, present)| present.then_some(kind))
        .collect()
    }

    fn refuse_strays(&self, kind: &str) -> Result<(), String> {
        let strays = [
            ("signature", "thinking", self.signature.is_some()),
            ("input", "call", self.input.is_some()),
            ("raw_input", "call", self.raw_input.is_some()),
            ("id", "call", self.id.is_some()),
            ("deltas", "block", self.deltas.is_some()),
        ];
        match strays
            .into_iter()
            .find(|(_, owner, present)| *present && *owner != kind)
        {
            Some((stray, owner, _)) => Err(format!(
                "`{stray}` belongs to a `{owner}` block, but this is a `{kind}` block"
            )),
            None => Ok(()),
        }
    }
}

impl JsonSchema for Block {
    fn schema_name() -> Cow<'static, str> {
        "Block".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BlockFields::json_schema(generator)
    }
}

impl TryFrom<BlockFields> for Block {
    type Error = String;

    fn try_from(fields: BlockFields) -> Result<Self, String> {
        let kinds = fields.kinds();
        let [kind] = kinds[..] else {
            return Err(if kinds.is_empty() {
                "a content block needs one of `text`, `thinking`, `redacted_thinking`, `call`, `block`"
                    .to_owned()
            } else {
                format!(
                    "a content block has one kind, but this has `{}`; write them as separate blocks",
                    kinds.join("`, `")
                )
            });
        };
        fields.refuse_strays(kind)?;
        Ok(match fields {
            BlockFields {
                text: Some(text), ..
            } => Self::Text(text),
            BlockFields {
                thinking: Some(text),
                signature,
                ..
            } => Self::Thinking { text, signature },
            BlockFields {
                redacted_thinking: Some(data),
                ..
            } => Self::RedactedThinking(data),
            BlockFields {
                call: Some(tool),
                input,
                raw_input,
                id,
                ..
            } => Self::Call(ToolCall {
                tool,
                id,
                input: call_input(input, raw_input)?,
            }),
            BlockFields { block, deltas, .. } => Self::Other {
                block: block.unwrap_or_default(),
                deltas: deltas.unwrap_or_default(),
            },
        })
    }
}

fn call_input(input: Option<Value>, raw: Option<String>) -> Result<CallInput, String> {
    match (input, raw) {
        (Some(_), Some(_)) => {
            Err("`input` and `raw_input` exclude each other; keep one of them".to_owned())
        }
        (None, Some(raw)) => Ok(CallInput::Raw(raw)),
        (input, None) => Ok(CallInput::Json(
            input.unwrap_or_else(|| Value::Object(Map::new())),
        )),
    }
}
