//! What a process of a runner is for, and what it can do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version this harness speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// What a runner's process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Asks, approves and reads; never killed.
    Client,
    /// Does the work; killed at will.
    Worker,
    /// Both in one process, for a runner without the capability `split`.
    Both,
}

/// An axis on which adapters differ; a scenario states which it requires.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// A session outlives the process that runs it.
    Durable,
    /// A tool call can wait for a person.
    Approvals,
    /// Client and worker are processes of their own on one state directory.
    Split,
    /// Commit boundaries are announced by `step/gate`.
    Gates,
    /// Live events are sent.
    Events,
    /// Sessions can be exported and imported in the stored formats.
    Wire,
    /// The options of each attempt are asked for by `options/call`.
    OptionsFactory,
    /// Tool sources whose every call leaves the segment.
    Connectors,
    /// Several workers share one state directory.
    MultiWorker,
    /// A running turn can be cancelled.
    Cancel,
}

impl Capability {
    /// The name used on the wire and in scenarios.
    #[must_use]
    pub fn wire_name(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// `initialize`: the first request of each process.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeParams {
    /// Version the harness speaks.
    pub protocol_version: u32,
    /// What this process is for.
    pub role: Role,
    /// The directory that all processes of the cell share; all durable state goes here.
    pub state_dir: String,
    /// The CLI to start.
    pub cli: CliCommand,
    /// Name of this process, unique in the cell.
    pub worker_id: String,
}

/// How the adapter is to start the Claude Code CLI.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CliCommand {
    /// Absolute path of the executable.
    pub path: String,
    /// The application's environment for it: all of it goes to the CLI.
    pub env: BTreeMap<String, String>,
}

/// Answer to `initialize`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeResult {
    /// Version the runner speaks.
    pub protocol_version: u32,
    /// The process that does the work, not a wrapper around it.
    pub pid: i32,
    /// The runner.
    pub runner: RunnerIdentity,
    /// The adapter behind it.
    pub adapter: AdapterIdentity,
    /// What it can do.
    pub capabilities: Vec<Capability>,
}

/// Who the runner is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunnerIdentity {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Programming language.
    pub language: String,
}

/// Who the adapter is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterIdentity {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// The Agent SDK it builds on, if any.
    pub sdk: Option<String>,
    /// Version of that SDK.
    pub sdk_version: Option<String>,
}
