//! What must hold at the end, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Entries, Located, Node};
use crate::protocol::CallOutcome;
use crate::scenario::{Direction, SessionStatus};

/// What must hold when the steps are done. What is not named is not checked, beside the invariants of every cell.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExpectDocument {
    /// By tool: what the ledger of side effects shows.
    pub(crate) ledger: Entries<LedgerDocument>,
    /// The final records of tool calls, in order.
    pub(crate) tool_calls: Option<Vec<ToolCallDocument>>,
    /// Main model requests that were answered.
    pub(crate) requests: Option<usize>,
    /// CLI processes started for a segment.
    pub(crate) segments: Option<usize>,
    /// Counted frames.
    pub(crate) frames: Vec<Located<FrameCountDocument>>,
    /// The types of the Steps, in order.
    pub(crate) steps: Option<Vec<String>>,
    /// The text of the last message.
    pub(crate) last_message: Option<String>,
    /// How the last turn failed.
    pub(crate) last_turn_error: Option<TurnErrorDocument>,
    /// The session's status.
    pub(crate) status: Option<SessionStatus>,
}

/// What the ledger shows for one tool.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LedgerDocument {
    /// Effects done.
    pub(crate) effects: Option<usize>,
    /// Calls that reached the handler.
    pub(crate) calls: Option<usize>,
    /// The arguments of each effect, in order.
    pub(crate) arguments: Option<Vec<Node>>,
}

/// One final record.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolCallDocument {
    /// The tool's own name.
    pub(crate) tool: Located<String>,
    /// How the call ended.
    pub(crate) outcome: CallOutcome,
    /// The recorded text, exactly.
    pub(crate) output: Option<String>,
    /// The recorded arguments.
    pub(crate) arguments: Option<Node>,
}

/// How often a frame was seen.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrameCountDocument {
    /// To (`in`) or from (`out`) the CLI.
    pub(crate) frame: Direction,
    /// The frame's type.
    #[serde(rename = "type")]
    pub(crate) frame_type: Option<String>,
    /// The frame's subtype, or that of the control request in it.
    pub(crate) subtype: Option<String>,
    /// Only in this CLI process, counted by spawns from 1.
    pub(crate) spawn: Option<Located<usize>>,
    /// Values that must be found in the frame, by JSON pointer.
    #[serde(default)]
    pub(crate) matching: Entries<Node>,
    /// How often, exactly.
    pub(crate) count: usize,
    /// Only in these variants.
    #[serde(rename = "in")]
    pub(crate) variants: Option<Located<Vec<Located<String>>>>,
}

/// How the last turn failed: `none`, or `contains` with a part of the error.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnErrorDocument {
    /// It did not.
    None,
    /// With an error that contains this text.
    Contains(String),
}
