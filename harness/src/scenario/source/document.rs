//! The whole file.

use mock_messages_api::Script;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{AgentDocument, Entries, ExpectDocument, FaultDocument, Located, Node, StepDocument};
use crate::protocol::Capability;
use crate::scenario::CliKind;

/// A scenario: what an adapter is asked to do, what goes wrong meanwhile, and what must hold.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Scenario", rename = "Scenario")]
pub(crate) struct ScenarioDocument {
    /// The sentence that the scenario proves.
    pub(crate) title: Located<String>,
    /// Ids of the requirements it proves, from `requirements.yaml`.
    #[serde(default)]
    pub(crate) covers: Vec<Located<String>>,
    /// What a runner must be able to do; without it the scenario is not applicable.
    #[serde(default)]
    pub(crate) requires: Vec<Capability>,
    /// The kinds of CLI that can show it, when not all can; on another the scenario is not applicable.
    #[serde(default)]
    pub(crate) clis: Vec<CliKind>,
    /// Variants by name, each with a sentence. Steps, faults and frame counts name theirs with `in`.
    #[serde(default)]
    pub(crate) variants: Entries<String>,
    /// The agent.
    #[serde(default)]
    pub(crate) agent: AgentDocument,
    /// What the model answers.
    pub(crate) model: Script,
    /// Standing faults, armed before the first step.
    #[serde(default)]
    pub(crate) faults: Vec<Located<FaultDocument>>,
    /// What happens, in order.
    pub(crate) steps: Located<Vec<Located<StepDocument>>>,
    /// What must hold at the end.
    #[serde(default)]
    pub(crate) expect: ExpectDocument,
    /// Seconds that one step may take; the default depends on the CLI.
    pub(crate) step_timeout_seconds: Option<u64>,
}

/// The model's script once more, as it is written, for the places of the tools it names.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ModelSource {
    pub(crate) model: Node,
}
