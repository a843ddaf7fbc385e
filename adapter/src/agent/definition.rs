//! The agent: what the application builds once and gives to clients and workers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::agent::built_in::CLAUDE_CODE_BUILT_IN_TOOL_NAMES;
use crate::agent::options::{ClaudeAgentOptions, OptionsContext, OptionsError};
use crate::agent::policy::{ToolEffect, ToolPolicies, ToolPolicy, Treatment, custom_tool_name};
use crate::agent::sabotage::Sabotage;
use crate::agent::session_options::AgentSessionOptions;
use crate::agent::tool::Tool;
use crate::session::step::RetryPolicy;

/// The flow type of agents and clients that name none.
pub(crate) const DEFAULT_FLOW_TYPE: &str = "ClaudeAgent";

/// Makes the options of every attempt of a segment.
#[async_trait]
pub trait OptionsFactory: Send + Sync + 'static {
    /// The options; to be the same for the same session.
    ///
    /// # Errors
    ///
    /// An error fails the attempt.
    async fn options(&self, context: OptionsContext) -> Result<ClaudeAgentOptions, OptionsError>;
}

#[async_trait]
impl<F> OptionsFactory for F
where
    F: Fn(OptionsContext) -> Result<ClaudeAgentOptions, OptionsError> + Send + Sync + 'static,
{
    async fn options(&self, context: OptionsContext) -> Result<ClaudeAgentOptions, OptionsError> {
        self(context)
    }
}

/// An agent cannot be built as described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Two custom tools share a name.
    #[error("define tool {0}: another tool has that name; rename one of them")]
    DuplicateTool(String),
    /// A custom tool has the name of a tool of the CLI.
    #[error("define tool {0}: Claude Code has a tool of that name; rename it")]
    ReservedName(String),
    /// A tool's input schema is no valid JSON Schema.
    #[error("define tool {tool}: its input schema is not valid: {reason}")]
    InputSchema {
        /// The tool.
        tool: String,
        /// What is wrong with the schema.
        reason: String,
    },
    /// The flow type says nothing.
    #[error("register an agent under a blank flow type: give it a name")]
    BlankFlowType,
    /// Fewer than one attempt.
    #[error("set max_attempts to 0: a Step needs at least one attempt")]
    NoAttempts,
}

/// Tools of one origin whose every call leaves the turn, reads included.
#[derive(Clone, Debug)]
pub struct ToolSource {
    pub(crate) tools: Vec<Tool>,
}

impl ToolSource {
    /// A source of the given tools.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Self {
        let tools = tools
            .into_iter()
            .map(|tool| Tool {
                always_leaves_turn: true,
                ..tool
            })
            .collect();
        Self { tools }
    }
}

/// An agent on the Claude Code CLI. Cheap to clone.
#[derive(Clone)]
pub struct ClaudeAgent {
    definition: Arc<AgentDefinition>,
}

struct AgentDefinition {
    options_factory: Arc<dyn OptionsFactory>,
    tools: BTreeMap<String, Tool>,
    policies: ToolPolicies,
    cli: PathBuf,
    flow_type: String,
    retry: RetryPolicy,
    run_model_timeout: Duration,
    tool_timeout: Duration,
    sabotage: Option<Sabotage>,
}

impl std::fmt::Debug for ClaudeAgent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ClaudeAgent")
            .field("flow_type", &self.definition.flow_type)
            .field("tools", &self.definition.tools.keys())
            .field("cli", &self.definition.cli)
            .finish_non_exhaustive()
    }
}

impl ClaudeAgent {
    /// Begins an agent with its options factory.
    pub fn builder(options_factory: impl OptionsFactory) -> ClaudeAgentBuilder {
        ClaudeAgentBuilder {
            options_factory: Arc::new(options_factory),
            tools: Vec::new(),
            cli: PathBuf::from("claude"),
            flow_type: DEFAULT_FLOW_TYPE.to_owned(),
            session: AgentSessionOptions::default(),
            sabotage: None,
        }
    }

    /// The options of one attempt, checked.
    pub(crate) async fn options(
        &self,
        context: OptionsContext,
    ) -> Result<ClaudeAgentOptions, OptionsError> {
        let options = self.definition.options_factory.options(context).await?;
        let names: Vec<String> = self.tools().map(Tool::cli_name).collect();
        options.validate(|tool| self.treatment(tool) != Treatment::Inline, &names)?;
        Ok(options)
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.definition.tools.values()
    }

    /// The custom tool of this own name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.definition.tools.get(name)
    }

    /// How calls of a tool, by its name in the CLI, are treated.
    pub(crate) fn treatment(&self, cli_name: &str) -> Treatment {
        match custom_tool_name(cli_name).and_then(|name| self.tool(name)) {
            Some(tool) => self.definition.policies.custom_tool(
                &tool.name,
                &tool.annotations,
                tool.always_leaves_turn,
            ),
            None => self.definition.policies.cli_tool(cli_name),
        }
    }

    pub(crate) fn cli(&self) -> &PathBuf {
        &self.definition.cli
    }

    /// The type of the sessions that this agent works on.
    #[must_use]
    pub fn flow_type(&self) -> &str {
        &self.definition.flow_type
    }

    pub(crate) fn retry(&self) -> RetryPolicy {
        self.definition.retry
    }

    pub(crate) fn run_model_timeout(&self) -> Duration {
        self.definition.run_model_timeout
    }

    pub(crate) fn tool_timeout(&self) -> Duration {
        self.definition.tool_timeout
    }

    pub(crate) fn sabotage(&self) -> Option<Sabotage> {
        self.definition.sabotage
    }

    pub(crate) fn is_sabotaged(&self, sabotage: Sabotage) -> bool {
        self.definition.sabotage == Some(sabotage)
    }
}

/// Describes an agent piece by piece.
#[must_use]
pub struct ClaudeAgentBuilder {
    options_factory: Arc<dyn OptionsFactory>,
    tools: Vec<Tool>,
    cli: PathBuf,
    flow_type: String,
    session: AgentSessionOptions,
    sabotage: Option<Sabotage>,
}

impl ClaudeAgentBuilder {
    /// Sets the type of the sessions that the agent works on; `ClaudeAgent` unless set.
    ///
    /// Every process that starts such sessions or works on them names the same type: workers by
    /// their agents, clients by [`SessionClient::of_flow`](crate::SessionClient::of_flow).
    pub fn flow_type(mut self, flow_type: impl Into<String>) -> Self {
        self.flow_type = flow_type.into();
        self
    }

    /// Sets all session options at once, instead of those set before.
    pub fn session_options(mut self, options: AgentSessionOptions) -> Self {
        self.session = options;
        self
    }

    /// Adds a custom tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds the tools of a source.
    pub fn tool_source(mut self, source: ToolSource) -> Self {
        self.tools.extend(source.tools);
        self
    }

    /// Sets the policy of a tool: a custom tool by its own name, a tool of the CLI by the CLI's
    /// name, a tool of an external MCP server as `mcp__<server>__<tool>`.
    pub fn tool_policy(mut self, tool: impl Into<String>, policy: ToolPolicy) -> Self {
        self.session.tool_policies.insert(tool.into(), policy);
        self
    }

    /// Sets the effect of tools without policy and annotation; `Unclassified` unless set.
    pub fn default_tool_effect(mut self, effect: ToolEffect) -> Self {
        self.session.default_tool_effect = effect;
        self
    }

    /// Sets the CLI's program; `claude` on the search path unless set.
    pub fn cli(mut self, program: impl Into<PathBuf>) -> Self {
        self.cli = program.into();
        self
    }

    /// Sets how often Steps are attempted.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.session.retry = retry;
        self
    }

    /// Sets how long one segment may take; 15 minutes unless set.
    pub fn run_model_timeout(mut self, timeout: Duration) -> Self {
        self.session.run_model_timeout = timeout;
        self
    }

    /// Sets how long one attempt of a tool call may take; 15 minutes unless set.
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.session.tool_timeout = timeout;
        self
    }

    /// Breaks a promise on purpose, for testing what watches over it.
    #[doc(hidden)]
    pub fn sabotage(mut self, sabotage: Sabotage) -> Self {
        self.sabotage = Some(sabotage);
        self
    }

    /// Checks the description.
    ///
    /// # Errors
    ///
    /// [`AgentError`] names the tool or setting that cannot be.
    pub fn build(self) -> Result<ClaudeAgent, AgentError> {
        let session = self.session;
        if session.retry.max_attempts == 0 {
            return Err(AgentError::NoAttempts);
        }
        if self.flow_type.trim().is_empty() {
            return Err(AgentError::BlankFlowType);
        }
        Ok(ClaudeAgent {
            definition: Arc::new(AgentDefinition {
                options_factory: self.options_factory,
                tools: checked_tools(self.tools)?,
                policies: ToolPolicies::new(session.tool_policies, session.default_tool_effect),
                cli: self.cli,
                flow_type: self.flow_type,
                retry: session.retry,
                run_model_timeout: session.run_model_timeout,
                tool_timeout: session.tool_timeout,
                sabotage: self.sabotage,
            }),
        })
    }
}

fn checked_tools(tools: Vec<Tool>) -> Result<BTreeMap<String, Tool>, AgentError> {
    let reserved: BTreeSet<&str> = CLAUDE_CODE_BUILT_IN_TOOL_NAMES.iter().copied().collect();
    let mut checked = BTreeMap::new();
    for tool in tools {
        if reserved.contains(tool.name.as_str()) {
            return Err(AgentError::ReservedName(tool.name));
        }
        let schema = serde_json::Value::Object(tool.input_schema.clone());
        if let Err(error) = jsonschema::validator_for(&schema) {
            return Err(AgentError::InputSchema {
                tool: tool.name,
                reason: error.to_string(),
            });
        }
        if let Some(tool) = checked.insert(tool.name.clone(), tool) {
            return Err(AgentError::DuplicateTool(tool.name));
        }
    }
    Ok(checked)
}
