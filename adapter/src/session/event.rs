//! What may happen to a session, and what has to be written because of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::sabotage::Sabotage;
use crate::session::message::Message;
use crate::session::record::{DeferredCall, ToolCallOutcome, ToolCallRecord};
use crate::session::snapshot::Usage;
use crate::session::step::{RetryPolicy, StepOutcome, StepType};

/// A person's answer to an interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The call may run with the arguments that were shown.
    Approved,
    /// The call must not run; the model reads the message, or a standard text without one.
    Rejected {
        /// Passed on to the model exactly.
        message: Option<String>,
    },
}

/// Something that happens to a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    MessageSent {
        text: String,
    },
    InterruptResolved {
        interrupt_id: String,
        resolution: Resolution,
    },
    TurnCancelled,
    AttemptStarted,
    /// The tool's handler is about to be called.
    HandlerEntered,
    AttemptEnded(AttemptResult),
    /// The worker that had the attempt is gone.
    AttemptInterrupted,
    /// The worker gives the attempt back unused, because it was asked to stop.
    AttemptReleased,
}

/// What an attempt brought.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttemptResult {
    Segment(SegmentEnd),
    ToolEnded {
        outcome: ToolCallOutcome,
        output: String,
    },
    Resumed,
    /// The attempt failed: a segment that did not end properly, or a handler that raised.
    Failed {
        error: String,
    },
}

/// A segment that ended properly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SegmentEnd {
    pub(crate) claude_session_id: String,
    /// All transcript entries of the turn so far, those of earlier segments included.
    pub(crate) turn_entries: Vec<Value>,
    pub(crate) usage: Usage,
    /// The call that leaves the turn, or `None` when the turn is complete.
    pub(crate) deferred: Option<DeferredCall>,
}

/// What the rules need to know besides state and event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    /// Milliseconds of the Unix epoch.
    pub(crate) now: u64,
    pub(crate) retry: RetryPolicy,
    /// A promise to be broken on purpose.
    pub(crate) sabotage: Option<Sabotage>,
}

impl Circumstances {
    pub(crate) fn is_sabotaged(&self, sabotage: Sabotage) -> bool {
        self.sabotage == Some(sabotage)
    }
}

/// What has to be written together with the new state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    AppendMessage(Message),
    AppendSuspendedEntries(Vec<Value>),
    ClearSuspendedEntries,
    ArchiveRecord(ToolCallRecord),
    LogStep(StepLogEntry),
    Publish(SessionEvent),
}

/// One ended attempt, as it is logged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepLogEntry {
    pub(crate) step_execution_id: String,
    pub(crate) step_type: StepType,
    pub(crate) attempt: u32,
    pub(crate) outcome: StepOutcome,
}

/// A live event of a session; kinds may be added, so ignore those you do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionEvent {
    /// A turn began.
    TurnStarted {},
    /// A turn ended, well or not.
    TurnFinished {},
    /// Text of the main conversation, as it is written.
    TextDelta {
        /// The piece of text.
        text: String,
        /// The API's id of the message it belongs to.
        message_id: String,
    },
    /// Thinking of the main conversation, as it is written.
    ReasoningDelta {
        /// The piece of text.
        text: String,
        /// The API's id of the message it belongs to.
        message_id: String,
    },
    /// A tool call began.
    ToolCallStarted {
        /// The model's id of the call.
        tool_call_id: String,
        /// The own name of a custom tool, or the CLI's name.
        tool: String,
    },
    /// A tool call ended.
    ToolCallFinished {
        /// The model's id of the call.
        tool_call_id: String,
        /// The own name of a custom tool, or the CLI's name.
        tool: String,
        /// How it ended.
        outcome: ToolCallOutcome,
    },
    /// A message was stored.
    MessageCommitted {
        /// Its place in the session; filled in when it is stored.
        sequence: u64,
        /// The API's id, for an assistant message.
        message_id: Option<String>,
    },
    /// A call waits for a person.
    InterruptOpened {
        /// What a resolution names.
        interrupt_id: String,
    },
    /// A call waits no longer.
    InterruptClosed {
        /// What a resolution named.
        interrupt_id: String,
    },
}
