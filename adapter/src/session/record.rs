//! Final records of calls that left the turn.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::policy::ToolKind;

/// What a record keeps as the output of an approved call that the CLI itself runs.
pub const APPROVED_CLI_TOOL_OUTPUT: &str = "approved; the tool runs inside the Claude Code CLI";

/// What the model reads when a call is rejected without a message.
pub(crate) const DEFAULT_REJECTION: &str = "The user rejected this tool call.";

/// How a call that left the turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallOutcome {
    /// The tool ran and reported success.
    Succeeded,
    /// The tool reported failure, or provably did not run.
    Failed,
    /// A person rejected the call; it did not run.
    Rejected,
    /// The call started and nobody knows whether it took effect.
    OutcomeUnknown,
}

impl ToolCallOutcome {
    /// The name in records, notes and snapshots.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }
}

/// A call that leaves the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeferredCall {
    pub(crate) tool_use_id: String,
    /// The own name of a custom tool, or the CLI's name.
    pub(crate) tool: String,
    /// What the person is shown, what runs, and what is recorded.
    pub(crate) arguments: Value,
    pub(crate) kind: ToolKind,
    pub(crate) needs_approval: bool,
    pub(crate) single_attempt: bool,
}

/// The final record of a call that left the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolCallRecord {
    pub(crate) call: DeferredCall,
    pub(crate) outcome: ToolCallOutcome,
    /// The text that the model reads.
    pub(crate) output: String,
}

/// The text for a call that started and whose end nobody saw.
pub(crate) fn outcome_unknown_text(tool: &str) -> String {
    format!(
        "{tool} started, but its outcome is not known: it may or may not have taken effect. \
         Do not repeat it without asking the user first."
    )
}

/// The text for a call whose attempt was handed out but provably never reached the handler.
pub(crate) fn did_not_run_text(tool: &str) -> String {
    format!("{tool} did not run: the worker stopped before the call started.")
}
