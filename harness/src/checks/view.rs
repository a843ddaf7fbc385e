//! The trace, as the checks ask for it.

use std::sync::Arc;

use serde_json::Value;

use crate::cell::{StepFailure, snapshot_of};
use crate::protocol::{
    Approval, Effect, PendingInterrupt, Snapshot, ToolCallParams, ToolDefinition,
};
use crate::scenario::Plan;
use crate::trace::{Lane, TraceEvent};

/// The trace of one cell, as the checks ask for it.
pub(super) struct View<'a> {
    pub(super) plan: &'a Plan,
    pub(super) events: &'a [Arc<TraceEvent>],
    pub(super) failure: Option<&'a StepFailure>,
}

/// A handler's call, or its effect.
pub(super) struct Call<'a> {
    pub(super) event: &'a TraceEvent,
    pub(super) params: ToolCallParams,
}

/// A person's answer.
pub(super) struct Resolution {
    pub(super) seq: u64,
    pub(super) approved: bool,
    pub(super) interrupt: PendingInterrupt,
}

impl<'a> View<'a> {
    pub(super) fn of(
        &self,
        lane: Lane,
        kind: &'a str,
    ) -> impl Iterator<Item = &'a TraceEvent> + use<'a> {
        self.events
            .iter()
            .map(Arc::as_ref)
            .filter(move |event| event.lane == lane && event.kind == kind)
    }

    /// Calls that reached a handler.
    pub(super) fn calls(&self) -> Vec<Call<'a>> {
        self.tool_events("called")
    }

    /// The ledger: effects, in order.
    pub(super) fn effects(&self) -> Vec<Call<'a>> {
        self.tool_events("effect_done")
    }

    fn tool_events(&self, kind: &'a str) -> Vec<Call<'a>> {
        self.of(Lane::Tool, kind)
            .filter_map(|event| {
                let params = serde_json::from_value(event.payload.clone()).ok()?;
                Some(Call { event, params })
            })
            .collect()
    }

    /// The answers of the person, in order.
    pub(super) fn resolutions(&self) -> Vec<Resolution> {
        self.of(Lane::Harness, "resolved")
            .filter_map(|event| {
                let interrupt =
                    serde_json::from_value(event.payload.get("interrupt")?.clone()).ok()?;
                let approved = event
                    .fields
                    .get("approved")
                    .is_some_and(|approved| approved == "true");
                Some(Resolution {
                    seq: event.seq,
                    approved,
                    interrupt,
                })
            })
            .collect()
    }

    /// The session when everything was done.
    pub(super) fn last_snapshot(&self) -> Option<Snapshot> {
        self.events
            .iter()
            .rev()
            .find_map(|event| snapshot_of(event))
    }

    pub(super) fn tool(&self, name: &str) -> Option<&'a ToolDefinition> {
        let agent = &self.plan.agent;
        agent
            .tools
            .iter()
            .chain(agent.tool_sources.iter().flat_map(|source| &source.tools))
            .find(|tool| tool.name == name)
    }

    /// Whether a person must be asked before a custom tool runs.
    pub(super) fn needs_approval(&self, name: &str) -> bool {
        self.tool(name)
            .is_some_and(|tool| match (tool.approval, effect_of(tool)) {
                (Some(Approval::Required), _) => true,
                (Some(Approval::NotRequired), _) => false,
                (None, Effect::Unclassified | Effect::NonIdempotentWrite) => true,
                (None, Effect::Read | Effect::IdempotentWrite) => false,
            })
    }

    /// Whether a custom tool may have at most one effect a call, whatever happens.
    pub(super) fn is_single_attempt(&self, name: &str) -> bool {
        self.tool(name).is_some_and(|tool| {
            matches!(
                effect_of(tool),
                Effect::Unclassified | Effect::NonIdempotentWrite
            )
        })
    }

    /// The model requests, oldest first, with the journal's word on each.
    pub(super) fn requests(&self) -> Vec<Request<'a>> {
        let arrived: Vec<&TraceEvent> = self.of(Lane::Api, "request").collect();
        self.of(Lane::Api, "journalled")
            .filter_map(|journalled| {
                let number = journalled.fields.get("number")?;
                let event = arrived
                    .iter()
                    .find(|event| event.fields.get("number") == Some(number))?;
                Some(Request { event, journalled })
            })
            .collect()
    }

    /// The model requests that the script answered.
    pub(super) fn answered_requests(&self) -> Vec<Request<'a>> {
        self.requests()
            .into_iter()
            .filter(|request| request.has_outcome("answered"))
            .collect()
    }

    /// Whether the last turn ended with an answer.
    pub(super) fn completed(&self) -> bool {
        self.last_snapshot().is_some_and(|snapshot| {
            snapshot.status == crate::scenario::SessionStatus::Idle
                && snapshot.last_turn_error.is_none()
        })
    }
}

/// A model request.
pub(super) struct Request<'a> {
    pub(super) event: &'a TraceEvent,
    pub(super) journalled: &'a TraceEvent,
}

impl Request<'_> {
    pub(super) fn has_outcome(&self, outcome: &str) -> bool {
        self.journalled
            .fields
            .get("outcome")
            .is_some_and(|found| found == outcome)
    }

    /// The content blocks of its user messages, in order; a plain string is one text block.
    pub(super) fn user_blocks(&self) -> Vec<Value> {
        let messages = self
            .event
            .payload
            .get("messages")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        messages
            .into_iter()
            .filter(|message| message.get("role").and_then(Value::as_str) == Some("user"))
            .flat_map(|message| blocks(message.get("content")))
            .collect()
    }

    /// The texts of its user messages, in order.
    pub(super) fn user_texts(&self) -> Vec<String> {
        self.user_blocks()
            .iter()
            .filter_map(|block| block.get("text")?.as_str().map(str::to_owned))
            .collect()
    }

    /// What it says came of a tool use.
    pub(super) fn tool_result(&self, tool_use_id: &str) -> Option<String> {
        self.user_blocks()
            .iter()
            .find(|block| block.get("tool_use_id").and_then(Value::as_str) == Some(tool_use_id))
            .map(|block| text_of(block.get("content")))
    }
}

/// Content as blocks.
pub(super) fn blocks(content: Option<&Value>) -> Vec<Value> {
    match content {
        Some(Value::String(text)) => vec![serde_json::json!({"type": "text", "text": text})],
        Some(Value::Array(blocks)) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// The text of content, block after block.
pub(super) fn text_of(content: Option<&Value>) -> String {
    let texts: Vec<String> = blocks(content)
        .iter()
        .filter_map(|block| block.get("text")?.as_str().map(str::to_owned))
        .collect();
    texts.join("\n")
}

/// A tool's effect: its own, or what its annotations say.
fn effect_of(tool: &ToolDefinition) -> Effect {
    let hint = |name: &str| {
        tool.annotations
            .as_ref()
            .and_then(|annotations| annotations.get(name))
            .and_then(Value::as_bool)
            == Some(true)
    };
    tool.effect
        .unwrap_or(match (hint("readOnlyHint"), hint("idempotentHint")) {
            (true, _) => Effect::Read,
            (false, true) => Effect::IdempotentWrite,
            (false, false) => Effect::Unclassified,
        })
}
