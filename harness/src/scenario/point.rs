//! Observation points: what of the trace a step, a barrier or a fault names.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::trace::{Lane, TraceEvent};

/// One or more events of the trace, named by what they are and where they happen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Point {
    /// What is observed.
    pub subject: Subject,
    /// Which occurrence, counted from the start of the cell; `None` means the first for a barrier or
    /// a wait, and each one for a fault or a count.
    pub nth: Option<usize>,
    /// Only in this CLI process, counted by spawns from 1.
    pub spawn: Option<usize>,
    /// Values that must be found at these JSON pointers of the payload.
    pub matching: BTreeMap<String, Value>,
}

/// What is observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Subject {
    /// A model request has arrived at the Messages API; it has no answer yet.
    ApiRequest,
    /// An event of a streamed response is about to be sent.
    ApiEvent {
        /// SSE event type, such as `message_stop`.
        event: String,
    },
    /// A line on the CLI's stdin (`In`) or stdout (`Out`).
    Frame {
        /// Which way.
        direction: Direction,
        /// The frame's `type`.
        frame_type: Option<String>,
        /// The frame's `subtype`, or that of the control request in it.
        subtype: Option<String>,
    },
    /// The CLI process.
    Cli(CliPhase),
    /// A custom tool's handler.
    Tool {
        /// The tool's own name.
        tool: String,
        /// Where in the call.
        phase: ToolPhase,
    },
    /// A commit boundary of a Step.
    Gate {
        /// Step type, such as `RunModel`.
        step: String,
        /// Which boundary.
        at: GatePhase,
    },
    /// A message of the runner protocol.
    Runner {
        /// The method.
        method: String,
        /// Who sent it and which half.
        phase: RunnerPhase,
    },
}

/// Which way a frame goes, seen from the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the CLI.
    In,
    /// From the CLI.
    Out,
}

/// A moment in the life of a CLI process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CliPhase {
    /// About to start; its argv can still be changed.
    Spawned,
    /// Ended.
    Exited,
}

/// A moment in a call of a custom tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolPhase {
    /// The handler was entered; nothing has happened yet.
    Called,
    /// The effect is on the ledger; the reply has not left.
    EffectDone,
    /// The reply was written.
    Replied,
}

/// A commit boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GatePhase {
    /// Planned, not performed.
    BeforePerform,
    /// Performed, not committed.
    Performed,
    /// About to commit.
    BeforeCommit,
    /// Committed.
    Committed,
}

/// Half of a runner protocol exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunnerPhase {
    /// The harness sent the request.
    Sent,
    /// The runner answered it.
    Answered,
    /// The runner sent this request or notification.
    Received,
}

macro_rules! wire_name {
    ($($name:ty),*) => {$(
        impl $name {
            /// The name used in scenarios and in the trace.
            #[must_use]
            pub fn wire_name(self) -> String {
                serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
            }
        }
    )*};
}
wire_name!(Direction, CliPhase, ToolPhase, GatePhase, RunnerPhase);

impl Point {
    /// Whether `event` is one of the events this point names, whichever occurrence it is.
    #[must_use]
    pub fn matches(&self, event: &TraceEvent) -> bool {
        self.spawn.is_none_or(|spawn| event.spawn == Some(spawn))
            && self.subject.matches(event)
            && self
                .matching
                .iter()
                .all(|(pointer, value)| event.payload.pointer(pointer) == Some(value))
    }

    /// Whether what the point names can be held back, not only awaited.
    #[must_use]
    pub fn can_hold(&self) -> bool {
        match &self.subject {
            Subject::ApiRequest
            | Subject::ApiEvent { .. }
            | Subject::Frame { .. }
            | Subject::Gate { .. } => true,
            Subject::Cli(phase) => *phase == CliPhase::Spawned,
            Subject::Tool { phase, .. } => *phase != ToolPhase::Replied,
            Subject::Runner { .. } => false,
        }
    }
}

impl Subject {
    fn matches(&self, event: &TraceEvent) -> bool {
        let is = |lane: Lane, kind: &str| event.lane == lane && event.kind == kind;
        let field =
            |name: &str, value: &str| event.fields.get(name).is_some_and(|found| found == value);
        match self {
            Self::ApiRequest => is(Lane::Api, "request"),
            Self::ApiEvent { event: name } => is(Lane::Api, "event") && field("type", name),
            Self::Frame {
                direction,
                frame_type,
                subtype,
            } => {
                is(Lane::Cli, "frame")
                    && field("direction", &direction.wire_name())
                    && frame_type.as_ref().is_none_or(|name| field("type", name))
                    && subtype.as_ref().is_none_or(|name| field("subtype", name))
            }
            Self::Cli(phase) => is(Lane::Cli, &phase.wire_name()),
            Self::Tool { tool, phase } => is(Lane::Tool, &phase.wire_name()) && field("tool", tool),
            Self::Gate { step, at } => is(Lane::Step, &at.wire_name()) && field("step", step),
            Self::Runner { method, phase } => {
                is(Lane::Runner, &phase.wire_name()) && field("method", method)
            }
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::ApiRequest => write!(formatter, "a model request")?,
            Subject::ApiEvent { event } => write!(formatter, "the response event {event}")?,
            Subject::Frame {
                direction,
                frame_type,
                subtype,
            } => {
                write!(
                    formatter,
                    "a frame {} the CLI",
                    if *direction == Direction::In {
                        "to"
                    } else {
                        "from"
                    }
                )?;
                for name in [frame_type, subtype].into_iter().flatten() {
                    write!(formatter, " {name}")?;
                }
            }
            Subject::Cli(phase) => write!(formatter, "the CLI {}", phase.wire_name())?,
            Subject::Tool { tool, phase } => {
                write!(formatter, "tool {tool} {}", phase.wire_name())?
            }
            Subject::Gate { step, at } => write!(formatter, "step {step} at {}", at.wire_name())?,
            Subject::Runner { method, phase } => {
                write!(formatter, "{method} {}", phase.wire_name())?
            }
        }
        if let Some(spawn) = self.spawn {
            write!(formatter, " in CLI process {spawn}")?;
        }
        if let Some(nth) = self.nth {
            write!(formatter, ", occurrence {nth}")?;
        }
        Ok(())
    }
}
