//! Whether a tool call may run: modes, rules, hooks and the host's answer.

mod can_use_tool;
mod decide;
mod mode;
mod rules;
pub(crate) mod texts;

pub(crate) use can_use_tool::{HostVerdict, read_host_verdict};
pub(crate) use decide::{Allowance, AskReason, Denial, DenialKind, Outcome, Subject, decide};
pub(crate) use mode::PermissionMode;
pub(crate) use rules::Rules;
