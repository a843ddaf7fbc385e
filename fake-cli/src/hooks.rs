//! Hooks that the host registers in `initialize` and answers over the control protocol.

mod answer;
mod pre_tool_use;
mod registry;

pub(crate) use answer::{Decision, HookAnswer};
pub(crate) use pre_tool_use::{PreToolUse, Verdict, ask_pre_tool_use};
pub(crate) use registry::{HookRegistry, RegisteredHook};
