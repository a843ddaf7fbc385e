//! The Steps of a turn and their attempts.

use serde::{Deserialize, Serialize};

use crate::session::record::DeferredCall;

/// The kind of a Step, as snapshots and observers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepType {
    /// One turn segment in the CLI.
    RunModel,
    /// Waits for a person.
    AwaitToolApproval,
    /// A tool call that may be attempted again.
    CallTool,
    /// A tool call that is attempted once.
    CallSingleAttemptTool,
    /// Leads from a final record back to the model.
    ResumeTurn,
}

impl StepType {
    /// The name in snapshots.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunModel => "RunModel",
            Self::AwaitToolApproval => "AwaitToolApproval",
            Self::CallTool => "CallTool",
            Self::CallSingleAttemptTool => "CallSingleAttemptTool",
            Self::ResumeTurn => "ResumeTurn",
        }
    }
}

/// How one attempt of a Step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The Step is over and led on.
    Succeeded,
    /// The attempt failed.
    Failed,
    /// The worker died or was cut off during the attempt.
    Interrupted,
}

impl StepOutcome {
    /// The name in snapshots.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A Step with what it works on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Runs a segment: the turn's first one, or the one that resumes the suspended call.
    RunModel,
    AwaitToolApproval(DeferredCall),
    /// `CallTool` or `CallSingleAttemptTool`, as the call says.
    Call(DeferredCall),
    ResumeTurn,
}

impl Step {
    pub(crate) fn step_type(&self) -> StepType {
        match self {
            Self::RunModel => StepType::RunModel,
            Self::AwaitToolApproval(_) => StepType::AwaitToolApproval,
            Self::Call(call) if call.single_attempt => StepType::CallSingleAttemptTool,
            Self::Call(_) => StepType::CallTool,
            Self::ResumeTurn => StepType::ResumeTurn,
        }
    }
}

/// Where a Step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Attempt {
    /// The attempt with this number may start, not before this time (milliseconds of the Unix epoch).
    Due { number: u32, not_before: u64 },
    /// A worker has the attempt. `handler_entered` is written before a tool's handler is called,
    /// so that its absence proves that the handler never ran.
    HandedOut { number: u32, handler_entered: bool },
}

impl Attempt {
    pub(crate) const FIRST: Self = Self::Due {
        number: 1,
        not_before: 0,
    };

    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Due { number, .. } | Self::HandedOut { number, .. } => number,
        }
    }
}

/// One execution of a Step: all its attempts share the id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepExecution {
    pub(crate) id: String,
    pub(crate) step: Step,
    pub(crate) attempt: Attempt,
}

/// How often a Step is attempted and how long it rests in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, the first one included.
    pub max_attempts: u32,
    /// Rest before the second attempt; it doubles for each further one.
    pub first_backoff: std::time::Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            first_backoff: std::time::Duration::from_secs(1),
        }
    }
}

impl RetryPolicy {
    /// The rest after the given failed attempt, in milliseconds; `None` when it was the last.
    pub(crate) fn backoff_after(&self, attempt: u32) -> Option<u64> {
        if attempt >= self.max_attempts {
            return None;
        }
        let factor = 2_u64.saturating_pow(attempt.saturating_sub(1));
        let first = u64::try_from(self.first_backoff.as_millis()).unwrap_or(u64::MAX);
        Some(first.saturating_mul(factor))
    }
}
