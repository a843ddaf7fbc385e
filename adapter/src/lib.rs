//! Durable agent sessions on the Claude Code CLI.
//!
//! An agent is described once, as a [`ClaudeAgent`]. A [`SessionClient`] starts sessions, sends
//! messages and answers interrupts; a [`Worker`], in the same process or another one, drives the
//! CLI and runs the tools. Both meet in an engine, of which there is one so far: the
//! [`EmbeddedEngine`] with a state directory on one machine.

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod agent;
mod cli;
mod client;
mod engine;
mod mcp;
mod segment;
mod session;
mod worker;

pub use agent::built_in::CLAUDE_CODE_BUILT_IN_TOOL_NAMES;
pub use agent::connector::{ConnectorCall, ConnectorOperation, ConnectorOutcome};
pub use agent::definition::{
    AgentError, ClaudeAgent, ClaudeAgentBuilder, OptionsFactory, ToolSource,
};
pub use agent::hook::{ApplicationHook, HookHandler};
pub use agent::options::{ClaudeAgentOptions, OptionsContext, OptionsError, PermissionMode};
pub use agent::policy::{ToolEffect, ToolPolicy};
#[doc(hidden)]
pub use agent::sabotage::Sabotage;
pub use agent::session_options::AgentSessionOptions;
pub use agent::tool::{
    DeferredToolExecution, Tool, ToolAnnotations, ToolContent, ToolError, ToolHandler, ToolOutput,
    current_deferred_tool_execution,
};
pub use client::SessionClient;
pub use engine::contract::{
    EngineError, GatePoint, LiveEvent, SessionChange, StepGate, StepObserver,
};
pub use engine::embedded::engine::EmbeddedEngine;
pub use session::event::{Resolution, SessionEvent};
pub use session::export::ExportedSession;
pub use session::message::MessageRole;
pub use session::record::{APPROVED_CLI_TOOL_OUTPUT, ToolCallOutcome};
pub use session::snapshot::{
    InterruptKind, PendingInterrupt, SessionStatus, Snapshot, SnapshotMessage, SnapshotStep,
    SnapshotToolCall, Usage,
};
pub use session::step::{RetryPolicy, StepOutcome, StepType};
pub use worker::{Worker, WorkerBuilder};
