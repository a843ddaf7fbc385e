//! What a case file says.

use std::collections::BTreeMap;

use mock_messages_api::Script;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A scripted conversation with a CLI, driven directly: no adapter, no tap.
///
/// In every text, `${cwd}` stands for the directory the CLI works in, `${outside}` for one beside it, and, from the
/// second process on, `${session}` for the session of the first.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseDocument {
    /// What the case shows, in one sentence.
    pub title: String,
    /// The numbered behaviours that it shows; see `scenarios/behaviours.yaml`.
    #[serde(default)]
    pub shows: Vec<String>,
    /// What the Messages API answers, for all processes.
    #[serde(default)]
    pub model: Script,
    /// The tools of the SDK MCP server `tools`; without it `pay` (a write) and `look_up` (read-only).
    #[serde(default = "default_tools")]
    pub tools: BTreeMap<String, ToolDocument>,
    /// The processes, one after the other, on the same directories.
    pub runs: Vec<RunDocument>,
}

/// A tool of the SDK MCP server.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDocument {
    /// For the model; the tool's name without it.
    #[serde(default)]
    pub description: Option<String>,
    /// The properties of its input schema.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// Whether it carries `readOnlyHint`.
    #[serde(default)]
    pub read_only: bool,
    /// Its answers, the nth to the nth call; the last is given from then on.
    #[serde(default = "default_returns")]
    pub returns: Vec<CallAnswer>,
}

/// What a tool answers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CallAnswer {
    /// One text block.
    Text(String),
    /// One text block of many equal lines.
    Lines {
        /// The line, without its end.
        line: String,
        /// How many.
        count: usize,
    },
    /// A whole `tools/call` result.
    Result(Map<String, Value>),
    /// A JSON-RPC error with this message.
    Error(String),
    /// An error in place of a control response.
    ControlError(String),
    /// No answer, unless a step gives one.
    Never,
}

/// One process of the CLI.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunDocument {
    /// The user's text; sent once the CLI is initialized.
    pub prompt: Option<String>,
    /// Resumes the first process's session, with `--await-initialize`.
    pub resume: bool,
    /// Arguments on top of the usual ones; a flag that is usual too takes its place.
    pub arguments: Vec<String>,
    /// Usual flags that are left out, without their values.
    pub without: Vec<String>,
    /// The whole command line, in place of the usual one.
    pub only_arguments: Option<Vec<String>>,
    /// Variables on top of the usual ones; `null` takes one away.
    pub environment: BTreeMap<String, Option<String>>,
    /// Files that are written before the start, by path below `cwd`.
    pub files: BTreeMap<String, String>,
    /// Files that are written before the start beside `cwd`, by path below `${outside}`.
    pub files_outside: BTreeMap<String, String>,
    /// A directory below `cwd` that this process works in.
    pub directory: Option<String>,
    /// Where the transcripts come from.
    pub transcripts: Transcripts,
    /// The hooks that `initialize` registers, by event.
    pub hooks: BTreeMap<String, Vec<HookDocument>>,
    /// Answers to permission questions, the nth to the nth; the last is given from then on. With it, the CLI is told
    /// to ask.
    pub can_use_tool: Option<Vec<PermissionAnswer>>,
    /// How the SDK MCP server behaves in this process.
    pub server: ServerDocument,
    /// Other keys of the `initialize` request.
    pub initialize: Map<String, Value>,
    /// What the host does, in order. Without it: initialize, send the prompt if there is one, wait for the result, close
    /// stdin.
    pub steps: Option<Vec<Step>>,
}

/// Where the transcripts of a process come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transcripts {
    /// The process before has left them.
    #[default]
    Kept,
    /// A new config directory, built from the entries that the process before has mirrored.
    Mirrored,
    /// The same, without the entries of deferrals.
    MirroredWithoutDeferrals,
    /// A new, empty config directory.
    None,
}

/// One matcher of a hook event, with one callback.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookDocument {
    /// The matcher; `null` without it.
    #[serde(default)]
    pub matcher: Option<String>,
    /// Seconds.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Its answers, the nth to the nth question; the last is given from then on.
    pub answers: Vec<HookAnswer>,
}

/// What a hook answers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HookAnswer {
    /// Lets the tool run.
    Allow,
    /// Refuses, with the reason `not today`.
    Deny,
    /// Asks the user.
    Ask,
    /// Defers the call.
    Defer,
    /// Gives no decision.
    None,
    /// No answer, unless a step gives one.
    Never,
    /// A decision with details.
    Decide(HookDecision),
    /// A whole answer.
    Output(Map<String, Value>),
    /// An error in place of an answer.
    Error(String),
}

/// A hook's decision with details.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookDecision {
    /// `allow`, `deny`, `ask`, `defer` or anything else; none without it.
    #[serde(
        default,
        rename(serialize = "permissionDecision"),
        skip_serializing_if = "Option::is_none"
    )]
    pub decision: Option<String>,
    /// Why.
    #[serde(
        default,
        rename(serialize = "permissionDecisionReason"),
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
    /// The input to use instead.
    #[serde(
        default,
        rename(serialize = "updatedInput"),
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_input: Option<Map<String, Value>>,
    /// A note to the model.
    #[serde(
        default,
        rename(serialize = "additionalContext"),
        skip_serializing_if = "Option::is_none"
    )]
    pub additional_context: Option<String>,
}

/// What the host answers to a permission question.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PermissionAnswer {
    /// Lets the tool run with the input as asked.
    Allow,
    /// Refuses, with the message `not allowed`.
    Deny,
    /// No answer, unless a step gives one.
    Never,
    /// A whole answer.
    Output(Map<String, Value>),
    /// An error in place of an answer.
    Error(String),
}

/// How the SDK MCP server behaves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerDocument {
    /// Its answer to `initialize`.
    pub initialize: ServerAnswer,
    /// Its answer to `tools/list`.
    pub list: ServerAnswer,
    /// The tools that it has, of the case's; all without it.
    pub tools: Option<Vec<String>>,
}

/// What the server answers to a request of its own life cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerAnswer {
    /// What is due.
    #[default]
    Answer,
    /// A JSON-RPC error.
    Error,
    /// Nothing.
    Never,
}

/// One thing that the host does.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Sends `initialize` with the hooks.
    Initialize,
    /// Sends a user text.
    User(String),
    /// Sends a user message with these content blocks.
    Content(Vec<Value>),
    /// Sends a line as it is.
    Line(String),
    /// Sends a control request.
    Control(Map<String, Value>),
    /// Sends an interrupt.
    Interrupt,
    /// Waits for the next such thing.
    Await(Awaited),
    /// Answers the nth hook question.
    AnswerHook(HookReply),
    /// Answers the nth permission question.
    AnswerPermission(PermissionReply),
    /// Answers the nth tool call.
    AnswerCall(CallReply),
    /// Closes stdin.
    Close,
    /// Sends a signal to the CLI.
    Signal(SignalName),
}

/// What is waited for: the next one that was not waited for yet.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Awaited {
    /// The answer to the last control request of the host.
    Response,
    /// A `result` frame.
    Result,
    /// The session is idle.
    Idle,
    /// A hook question.
    Hook,
    /// A permission question.
    Permission,
    /// A `tools/call`.
    Call,
    /// A request at the Messages API.
    Request,
    /// The process has ended.
    Exit,
    /// A frame that holds all of this.
    Frame(Map<String, Value>),
}

/// An answer to a hook question.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookReply {
    /// Which question of the process, from 1.
    pub nth: usize,
    /// The answer.
    pub answer: HookAnswer,
}

/// An answer to a permission question.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionReply {
    /// Which question of the process, from 1.
    pub nth: usize,
    /// The answer.
    pub answer: PermissionAnswer,
}

/// An answer to a tool call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallReply {
    /// Which call of the process, from 1.
    pub nth: usize,
    /// The answer.
    pub answer: CallAnswer,
}

/// A signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignalName {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

fn default_tools() -> BTreeMap<String, ToolDocument> {
    let property = |kind: &str| serde_json::json!({"type": kind});
    let tool = |input: &[(&str, &str)], read_only, answer: &str| ToolDocument {
        description: None,
        input: input
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), property(kind)))
            .collect(),
        read_only,
        returns: vec![CallAnswer::Text(answer.to_owned())],
    };
    BTreeMap::from([
        (
            "look_up".to_owned(),
            tool(&[("order", "string")], true, "found"),
        ),
        (
            "pay".to_owned(),
            tool(&[("order", "string"), ("amount", "number")], false, "paid"),
        ),
    ])
}

fn default_returns() -> Vec<CallAnswer> {
    vec![CallAnswer::Text("done".to_owned())]
}
