//! What a tool does to the world, and what follows from it for its calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::tool::ToolAnnotations;

/// The name under which the adapter's own tools are served to the CLI.
pub(crate) const TOOL_SERVER_NAME: &str = "tools";

/// What a call of a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Changes nothing; may be repeated freely.
    Read,
    /// Changes something, but a repetition under the same idempotency key changes nothing more.
    IdempotentWrite,
    /// Changes something each time it runs, so it runs at most once.
    NonIdempotentWrite,
    /// Not known; treated like [`ToolEffect::NonIdempotentWrite`].
    Unclassified,
}

impl ToolEffect {
    /// Whether calls with this effect wait for approval unless a policy says otherwise.
    pub(crate) fn waits_by_default(self) -> bool {
        matches!(self, Self::NonIdempotentWrite | Self::Unclassified)
    }

    /// Whether a call with this effect must not be attempted a second time.
    pub(crate) fn is_single_attempt(self) -> bool {
        matches!(self, Self::NonIdempotentWrite | Self::Unclassified)
    }
}

/// The application's word on one tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    effect: Option<ToolEffect>,
    approval: Option<bool>,
}

impl ToolPolicy {
    /// A policy that classifies the tool; its approval follows from the effect.
    #[must_use]
    pub fn new(effect: ToolEffect) -> Self {
        Self {
            effect: Some(effect),
            approval: None,
        }
    }

    /// Makes every call wait for approval, whatever the effect.
    #[must_use]
    pub fn requires_approval(self) -> Self {
        Self {
            approval: Some(true),
            ..self
        }
    }

    /// Lets every call run without approval, whatever the effect.
    #[must_use]
    pub fn without_approval(self) -> Self {
        Self {
            approval: Some(false),
            ..self
        }
    }
}

/// How the calls of one tool are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// The call runs inside the CLI's turn.
    Inline,
    /// The call leaves the turn and runs in a Step of its own.
    Deferred(DeferredTreatment),
}

/// How a call that leaves the turn is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeferredTreatment {
    pub(crate) kind: ToolKind,
    pub(crate) needs_approval: bool,
    pub(crate) single_attempt: bool,
}

/// Who runs a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    /// The adapter, through the application's handler.
    Custom,
    /// The CLI itself, or an MCP server that it talks to.
    Cli,
}

/// The name by which policies, approvals and records know a tool.
///
/// A custom tool goes by its own name, everything else by the CLI's name for it.
pub(crate) fn own_name(cli_name: &str) -> &str {
    custom_tool_name(cli_name).unwrap_or(cli_name)
}

/// The own name of a tool of the adapter's server, from the name the CLI uses.
pub(crate) fn custom_tool_name(cli_name: &str) -> Option<&str> {
    cli_name
        .strip_prefix("mcp__")?
        .strip_prefix(TOOL_SERVER_NAME)?
        .strip_prefix("__")
}

/// Everything that decides how a tool's calls are treated.
#[derive(Clone, Debug)]
pub(crate) struct ToolPolicies {
    policies: BTreeMap<String, ToolPolicy>,
    default_effect: ToolEffect,
}

impl ToolPolicies {
    pub(crate) fn new(policies: BTreeMap<String, ToolPolicy>, default_effect: ToolEffect) -> Self {
        Self {
            policies,
            default_effect,
        }
    }

    /// How a call of a custom tool is treated.
    pub(crate) fn custom_tool(
        &self,
        name: &str,
        annotations: &ToolAnnotations,
        always_leaves: bool,
    ) -> Treatment {
        let (effect, needs_approval) = self.classify(name, annotations.effect());
        if effect == ToolEffect::Read && !needs_approval && !always_leaves {
            return Treatment::Inline;
        }
        Treatment::Deferred(DeferredTreatment {
            kind: ToolKind::Custom,
            needs_approval,
            single_attempt: effect.is_single_attempt(),
        })
    }

    /// How a call of a tool that the CLI runs is treated.
    pub(crate) fn cli_tool(&self, name: &str) -> Treatment {
        let (effect, needs_approval) = self.classify(name, None);
        if !needs_approval {
            return Treatment::Inline;
        }
        Treatment::Deferred(DeferredTreatment {
            kind: ToolKind::Cli,
            needs_approval,
            single_attempt: effect.is_single_attempt(),
        })
    }

    fn classify(&self, name: &str, annotated: Option<ToolEffect>) -> (ToolEffect, bool) {
        let policy = self.policies.get(name).copied().unwrap_or_default();
        let effect = policy.effect.or(annotated).unwrap_or(self.default_effect);
        let needs_approval = policy.approval.unwrap_or(effect.waits_by_default());
        (effect, needs_approval)
    }
}
