//! How the sessions of an agent are run, whatever the agent says to the CLI.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::agent::policy::{ToolEffect, ToolPolicy};
use crate::session::step::RetryPolicy;

/// How the sessions of an agent are run: what its tools do, how often and how long Steps are tried.
///
/// The methods of [`ClaudeAgentBuilder`](crate::ClaudeAgentBuilder) set these one by one; several
/// agents may share one value through
/// [`session_options`](crate::ClaudeAgentBuilder::session_options).
#[derive(Clone, Debug)]
pub struct AgentSessionOptions {
    /// Policies by tool: a custom tool by its own name, a tool of the CLI by the CLI's name, a tool
    /// of an external MCP server as `mcp__<server>__<tool>`.
    pub tool_policies: BTreeMap<String, ToolPolicy>,
    /// The effect of tools without policy and annotation.
    pub default_tool_effect: ToolEffect,
    /// How often Steps are attempted.
    pub retry: RetryPolicy,
    /// How long one segment may take.
    pub run_model_timeout: Duration,
    /// How long one attempt of a tool call may take.
    pub tool_timeout: Duration,
}

impl Default for AgentSessionOptions {
    /// No policies, unclassified tools, three attempts, 15 minutes for a segment and a tool call.
    fn default() -> Self {
        Self {
            tool_policies: BTreeMap::new(),
            default_tool_effect: ToolEffect::Unclassified,
            retry: RetryPolicy::default(),
            run_model_timeout: Duration::from_secs(15 * 60),
            tool_timeout: Duration::from_secs(15 * 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: lim-run-model-timeout
    #[test]
    fn a_segment_may_take_fifteen_minutes() {
        let options = AgentSessionOptions::default();
        assert_eq!(options.run_model_timeout, Duration::from_secs(900));
    }
}
