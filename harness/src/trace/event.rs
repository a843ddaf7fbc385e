//! One observation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the trace format, written in its first line.
pub const TRACE_VERSION: u32 = 1;

/// One observation, as a line of `trace.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceEvent {
    /// Place in the one order of the cell, from 1.
    pub seq: u64,
    /// Nanoseconds on the source's monotonic clock since the cell began.
    pub at_ns: u64,
    /// Where it was observed.
    pub lane: Lane,
    /// The worker it belongs to, such as `worker-1`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worker: Option<String>,
    /// The CLI process it belongs to, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spawn: Option<usize>,
    /// What happened, within the lane.
    pub kind: String,
    /// Short values to match and to show.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub fields: BTreeMap<String, String>,
    /// The whole of it.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    pub payload: Value,
}

/// Where something was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// The Messages API.
    Api,
    /// The Claude Code CLI: its life and its frames, both ways.
    Cli,
    /// Handlers of custom tools.
    Tool,
    /// The runner protocol.
    Runner,
    /// Commit boundaries of Steps.
    Step,
    /// Faults as they were applied.
    Fault,
    /// The harness itself: steps, session status, verdicts.
    Harness,
}
