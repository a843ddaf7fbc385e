//! What a cell runs: a scenario lowered for one variant, with every name resolved.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::ModelScript;
use super::point::Point;
use crate::protocol::{AgentDefinition, Capability};

/// One scenario for one variant: everything a cell needs besides a runner and a CLI.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// `theme/name`, from the file's place.
    pub scenario: String,
    /// The variant, when the scenario has any.
    pub variant: Option<String>,
    /// The sentence that the scenario proves.
    pub title: String,
    /// Requirement ids.
    pub covers: Vec<String>,
    /// Capabilities a runner must have; without one the cell is not applicable.
    pub requires: Vec<Capability>,
    /// The kinds of CLI that can show it; on another the cell is not applicable. All when empty.
    pub clis: Vec<CliKind>,
    /// What the runner is told to build. `options.cwd` is filled by the cell.
    pub agent: AgentDefinition,
    /// What each custom tool does when it is called.
    pub tools: BTreeMap<String, ToolBehaviour>,
    /// What the model answers.
    pub model: ModelScript,
    /// Standing faults, armed before the first step.
    pub faults: Vec<Fault>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// What must hold at the end.
    pub expect: Expectations,
    /// Upper bound for one step, when the scenario needs another than the default of the CLI.
    pub step_timeout: Option<Duration>,
}

impl Plan {
    /// Whether this kind of CLI can show what the scenario proves.
    #[must_use]
    pub fn can_run_on(&self, cli: CliKind) -> bool {
        self.clis.is_empty() || self.clis.contains(&cli)
    }
}

/// A kind of Claude Code CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CliKind {
    /// `fake-claude`, which misbehaves on demand.
    Fake,
    /// A real one.
    Real,
}

/// What a scripted tool answers once its effect is on the ledger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToolBehaviour {
    /// A text; `{name}` stands for an argument.
    Returns(String),
    /// A result with `is_error`.
    Fails(String),
    /// A handler that raises: a JSON-RPC error to the adapter.
    Raises(String),
}

/// One step, with its place in the file for messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step {
    /// 1-based line in the scenario file.
    pub line: usize,
    /// What the step does.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum StepKind {
    /// Do something now.
    Act(Action),
    /// Wait for something.
    Await(Awaited),
    /// Hold what `point` names, wherever it came in the meantime, act, and let it go.
    At {
        /// What is held.
        point: Point,
        /// What happens while it is held.
        actions: Vec<Action>,
    },
}

/// What a step waits for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Awaited {
    /// The session has this status after the last action.
    Status(SessionStatus),
    /// A pending interrupt for this tool, with these arguments when given.
    Interrupt {
        /// The tool's own name.
        tool: String,
        /// The arguments a person must be shown.
        arguments: Option<Value>,
    },
    /// An observation, also one that is already in the trace.
    Point(Point),
}

/// Status of a session as a snapshot states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// Nothing is due.
    Idle,
    /// A turn runs.
    Running,
    /// A person is asked.
    Waiting,
}

/// What the harness can do at a step or a barrier.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Action {
    /// `session/start` with a first message.
    StartSession(Option<String>),
    /// `session/send`.
    Send {
        /// The message.
        text: String,
        /// What `accepted` must say.
        accepted: bool,
    },
    /// `session/resolve` of the pending interrupt for a tool (or of the one answered before, when it is answered again).
    Resolve {
        /// The tool's own name.
        tool: String,
        /// The person's answer.
        decision: Decision,
        /// What `accepted` must say.
        accepted: bool,
    },
    /// `session/cancel`.
    CancelTurn {
        /// What `accepted` must say.
        accepted: bool,
    },
    /// Start a worker process and let it work.
    LaunchWorker,
    /// `worker/stop`, `shutdown`, and wait for the exit.
    StopWorker,
    /// SIGKILL.
    Kill(Target),
    /// SIGTERM.
    Terminate(Target),
    /// SIGSTOP.
    Freeze(Target),
    /// SIGCONT.
    Thaw(Target),
}

/// A person's answer to an interrupt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Decision {
    /// The call may run.
    Approve,
    /// The call must not run; the model is told this text, or the adapter's default.
    Reject(Option<String>),
}

/// Whom a signal goes to. The newest worker or CLI is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The worker and all its descendants, whatever their group or session.
    WorkerTree,
    /// The worker process alone; its children live on.
    WorkerOnly,
    /// The Claude Code CLI and its descendants.
    Cli,
}

/// A standing fault: what happens at a point, each time the point is met unless it is counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fault {
    /// 1-based line in the scenario file.
    pub line: usize,
    /// Where.
    pub point: Point,
    /// What.
    pub effect: FaultEffect,
}

/// What a standing fault does to the thing it meets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FaultEffect {
    /// Change the argv of a CLI at its spawn.
    Argv {
        /// Flags taken out, with their values.
        drop: Vec<String>,
        /// Arguments put at the end.
        add: Vec<String>,
    },
    /// Hold a frame, a request or a call until one of these points is observed.
    HoldUntil(Vec<Point>),
    /// A frame that never arrives.
    Drop,
    /// A frame that arrives this many times.
    Duplicate {
        /// Times in all, at least 2.
        times: usize,
    },
    /// Lines delivered before the frame.
    Inject {
        /// Whole lines, without line ends.
        lines: Vec<String>,
    },
    /// A frame delivered in two writes, cut after this many bytes.
    Split {
        /// Bytes of the first write.
        after: usize,
    },
    /// An HTTP response that ends in a TCP reset at this point.
    Reset,
    /// An HTTP response that ends without its end at this point.
    Truncate,
}

/// What must hold when the steps are done.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Expectations {
    /// By tool, what the ledger must show.
    pub ledger: BTreeMap<String, ExpectedLedger>,
    /// The final records, in order, as the snapshot lists them.
    pub tool_calls: Option<Vec<ExpectedToolCall>>,
    /// Main model requests that were answered.
    pub requests: Option<usize>,
    /// CLI processes started for a segment.
    pub segments: Option<usize>,
    /// Counted frames.
    pub frames: Vec<ExpectedFrames>,
    /// Step types in order, as the snapshot lists them.
    pub steps: Option<Vec<String>>,
    /// Text of the last message.
    pub last_message: Option<String>,
    /// Whether the last turn failed, and with which text.
    pub last_turn_error: Option<ExpectedTurnError>,
    /// Status after the last step.
    pub status: Option<SessionStatus>,
}

/// What the ledger must show for one tool.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExpectedLedger {
    /// Effects done.
    pub effects: Option<usize>,
    /// Calls that reached the handler.
    pub calls: Option<usize>,
    /// The arguments of each effect, in order.
    pub arguments: Option<Vec<Value>>,
}

/// One expected final record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExpectedToolCall {
    /// The tool's own name.
    pub tool: String,
    /// `succeeded`, `failed`, `rejected` or `outcome_unknown`.
    pub outcome: crate::protocol::CallOutcome,
    /// The recorded text, exactly.
    pub output: Option<String>,
    /// The recorded arguments.
    pub arguments: Option<Value>,
}

/// How often a frame must have been seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExpectedFrames {
    /// 1-based line in the scenario file.
    pub line: usize,
    /// Which frames; `nth` is not used.
    pub point: Point,
    /// How many.
    pub count: usize,
}

/// What `last_turn_error` must be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ExpectedTurnError {
    /// No error.
    None,
    /// An error whose text contains this.
    Contains(String),
}
