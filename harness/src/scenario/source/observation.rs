//! Observation points as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Entries, Located, Node};
use crate::scenario::{CliPhase, Direction};

/// Something that can be observed: exactly one of `api`, `frame`, `cli`, `tool`, `step`, `runner`, and what narrows it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub(crate) struct PointDocument {
    /// The Messages API: `request` (arrived, not answered) or `event` (an event of the reply, named by `type`).
    pub(crate) api: Option<Located<ApiMoment>>,
    /// A line to (`in`) or from (`out`) the Claude Code CLI, narrowed by `type` and `subtype`.
    pub(crate) frame: Option<Located<Direction>>,
    /// The CLI process.
    pub(crate) cli: Option<Located<CliPhase>>,
    /// A custom tool's handler, with `phase`: `called`, `effect_done` or `replied`.
    pub(crate) tool: Option<Located<String>>,
    /// A commit boundary of a Step of this type, with `phase`: `before_perform`, `performed`, `before_commit` or `committed`.
    pub(crate) step: Option<Located<String>>,
    /// A method of the runner protocol, with `phase`: `sent`, `answered` or `received`.
    pub(crate) runner: Option<Located<String>>,
    /// With `frame`: the frame's type. With `api: event`: the event's type, such as `message_stop`.
    #[serde(rename = "type")]
    pub(crate) event_type: Option<Located<String>>,
    /// With `frame`: the frame's subtype, or that of the control request in it.
    pub(crate) subtype: Option<Located<String>>,
    /// With `tool`, `step` or `runner`: which moment.
    pub(crate) phase: Option<Located<String>>,
    /// Which occurrence, from 1.
    pub(crate) nth: Option<Located<usize>>,
    /// Only in this CLI process, counted by spawns from 1.
    pub(crate) spawn: Option<Located<usize>>,
    /// Values that must be found in the payload, by JSON pointer (`/message/model`).
    pub(crate) matching: Entries<Node>,
}

/// A moment of an exchange with the Messages API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApiMoment {
    /// A request has arrived.
    Request,
    /// An event of its streamed reply is about to be sent.
    Event,
}
