//! Performs the attempts of an agent's Steps.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;

use crate::agent::definition::ClaudeAgent;
use crate::agent::options::{ClaudeAgentOptions, OptionsContext};
use crate::agent::policy::ToolKind;
use crate::agent::sabotage::Sabotage;
use crate::agent::tool::{DeferredToolExecution, Tool, within_execution};
use crate::engine::contract::{AttemptScope, PlannedAttempt, StepPerformer, Work};
use crate::segment::conversation::SegmentStart;
use crate::segment::run::{SegmentError, SegmentRequest, run_segment};
use crate::session::event::{AttemptResult, SegmentEnd};
use crate::session::record::{APPROVED_CLI_TOOL_OUTPUT, DeferredCall, ToolCallOutcome};
use crate::session::step::RetryPolicy;

/// Performs the Steps of agents, each for the sessions of its flow type.
pub(crate) struct AgentPerformer {
    flows: BTreeMap<String, Flow>,
}

/// One agent's Steps.
struct Flow {
    agent: ClaudeAgent,
}

impl AgentPerformer {
    pub(crate) fn new(agent: ClaudeAgent) -> Self {
        let mut performer = Self {
            flows: BTreeMap::new(),
        };
        performer.add(agent);
        performer
    }

    pub(crate) fn add(&mut self, agent: ClaudeAgent) {
        self.flows
            .insert(agent.flow_type().to_owned(), Flow { agent });
    }
}

impl Flow {
    async fn run_model(
        &self,
        attempt: &PlannedAttempt,
        start: &Arc<SegmentStart>,
        recorded: &std::collections::BTreeSet<String>,
        scope: &dyn AttemptScope,
    ) -> Option<AttemptResult> {
        let context = OptionsContext {
            flow_id: attempt.session_id.clone(),
            turn_id: attempt.turn_id.clone(),
            attempt: attempt.attempt,
        };
        let options = tokio::select! {
            options = self.agent.options(context) => match options {
                Ok(options) => options,
                Err(error) => return Some(failed(&error)),
            },
            () = scope.cancelled().cancelled() => return None,
        };
        let request = SegmentRequest {
            agent: self.agent.clone(),
            options,
            start: Arc::clone(start),
            recorded: recorded.clone(),
            publish: scope.publish(),
            scratch_directory: scope.scratch_directory().to_owned(),
            cancelled: scope.cancelled().clone(),
        };
        self.leave_something(&request.options);
        match run_segment(request).await {
            Ok(end) => {
                self.run_before_approval(&end).await;
                Some(AttemptResult::Segment(end))
            }
            Err(SegmentError::Cancelled) => None,
            Err(error) => Some(failed(&error)),
        }
    }

    async fn call(
        &self,
        call: &DeferredCall,
        execution: DeferredToolExecution,
        scope: &dyn AttemptScope,
    ) -> Option<AttemptResult> {
        if call.kind == ToolKind::Cli {
            return Some(ended(ToolCallOutcome::Succeeded, APPROVED_CLI_TOOL_OUTPUT));
        }
        let Some(tool) = self.agent.tool(&call.tool) else {
            let text = format!("{} did not run: the agent has no such tool.", call.tool);
            return Some(ended(ToolCallOutcome::Failed, text));
        };
        if let Some(error) = tool.validation_error(&call.arguments) {
            let text = format!("Input validation error: {error}");
            return Some(ended(ToolCallOutcome::Failed, text));
        }
        if let Err(error) = scope.enter_handler().await {
            return Some(failed(&error));
        }
        tokio::select! {
            result = self.run_handler(tool, call, execution) => Some(result),
            () = scope.cancelled().cancelled() => None,
        }
    }

    async fn run_handler(
        &self,
        tool: &Tool,
        call: &DeferredCall,
        execution: DeferredToolExecution,
    ) -> AttemptResult {
        let (arguments, execution) = self.sabotaged_call(tool, call, execution).await;
        let handled = within_execution(Some(execution), tool.handler.call(arguments));
        match tokio::time::timeout(self.agent.tool_timeout(), handled).await {
            Ok(Ok(output)) => {
                let outcome = if output.is_error {
                    ToolCallOutcome::Failed
                } else {
                    ToolCallOutcome::Succeeded
                };
                ended(outcome, output.recorded_text())
            }
            Ok(Err(error)) => failed(&error),
            Err(elapsed) => failed(&elapsed),
        }
    }
}

/// Faults on purpose, each where the promise it breaks is kept.
impl Flow {
    fn leave_something(&self, options: &ClaudeAgentOptions) {
        if self.agent.is_sabotaged(Sabotage::LeaveProcess) {
            // It outlives this process because nothing ties it to it.
            let _ = std::process::Command::new("sleep")
                .arg("600")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
        }
        if let (true, Some(home)) = (
            self.agent.is_sabotaged(Sabotage::LeaveFile),
            options.env.get("HOME"),
        ) {
            let _ = std::fs::write(std::path::Path::new(home).join("left-behind"), "");
        }
    }

    async fn run_before_approval(&self, end: &SegmentEnd) {
        let Some(call) = &end.deferred else { return };
        if let (true, Some(tool)) = (
            self.agent.is_sabotaged(Sabotage::RunBeforeApproval),
            self.agent.tool(&call.tool),
        ) {
            let _ = within_execution(None, tool.handler.call(call.arguments.clone())).await;
        }
    }

    async fn sabotaged_call(
        &self,
        tool: &Tool,
        call: &DeferredCall,
        mut execution: DeferredToolExecution,
    ) -> (serde_json::Value, DeferredToolExecution) {
        let mut arguments = call.arguments.clone();
        if self.agent.is_sabotaged(Sabotage::AlterArguments) {
            arguments["altered"] = true.into();
        }
        if self.agent.is_sabotaged(Sabotage::FreshKeyPerAttempt) {
            execution.idempotency_key = uuid::Uuid::new_v4().to_string();
        }
        if self.agent.is_sabotaged(Sabotage::RunTwice) {
            let repeated = tool.handler.call(arguments.clone());
            let _ = within_execution(Some(execution.clone()), repeated).await;
        }
        (arguments, execution)
    }
}

fn failed(error: &dyn std::error::Error) -> AttemptResult {
    AttemptResult::Failed {
        error: format!("failed to {error}"),
    }
}

fn ended(outcome: ToolCallOutcome, output: impl Into<String>) -> AttemptResult {
    AttemptResult::ToolEnded {
        outcome,
        output: output.into(),
    }
}

impl Flow {
    async fn perform(
        &self,
        attempt: &PlannedAttempt,
        scope: &dyn AttemptScope,
    ) -> Option<AttemptResult> {
        match &attempt.work {
            Work::RunModel { start, recorded } => {
                self.run_model(attempt, start, recorded, scope).await
            }
            Work::Call {
                call,
                idempotency_key,
            } => {
                let execution = DeferredToolExecution {
                    idempotency_key: idempotency_key.clone(),
                    attempt: attempt.attempt,
                    tool_use_id: call.tool_use_id.clone(),
                };
                self.call(call, execution, scope).await
            }
            Work::ResumeTurn => Some(AttemptResult::Resumed),
        }
    }
}

#[async_trait]
impl StepPerformer for AgentPerformer {
    async fn perform(
        &self,
        attempt: &PlannedAttempt,
        scope: &dyn AttemptScope,
    ) -> Option<AttemptResult> {
        // Without the agent the attempt is somebody else's.
        let flow = self.flows.get(&attempt.flow_type)?;
        flow.perform(attempt, scope).await
    }

    fn flow_types(&self) -> Vec<String> {
        self.flows.keys().cloned().collect()
    }

    fn retry(&self, flow_type: &str) -> RetryPolicy {
        self.flows
            .get(flow_type)
            .map_or_else(RetryPolicy::default, |flow| flow.agent.retry())
    }

    fn sabotage(&self, flow_type: &str) -> Option<Sabotage> {
        self.flows.get(flow_type)?.agent.sabotage()
    }
}
