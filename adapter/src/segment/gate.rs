//! Decides about every tool call of one segment. Pure: the driver asks, the gate answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::agent::definition::ClaudeAgent;
use crate::agent::policy::{DeferredTreatment, ToolKind, Treatment, custom_tool_name, own_name};
use crate::agent::sabotage::Sabotage;
use crate::session::record::{DeferredCall, ToolCallOutcome, ToolCallRecord};

/// A tool call as a hook or a permission request describes it.
#[derive(Clone, Debug)]
pub(crate) struct AskedCall {
    /// The tool's name in the CLI.
    pub(crate) tool: String,
    pub(crate) tool_use_id: String,
    pub(crate) in_subagent: bool,
}

/// The answer to a hook or a permission request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The call goes on, with these arguments instead of its own if there are any.
    Allow { arguments: Option<Value> },
    /// The call leaves the turn.
    Defer,
    /// The call does not run; the model reads the reason.
    Deny { reason: String },
}

/// What the MCP server does with a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Passage {
    /// The handler runs inside the turn.
    RunInline,
    /// The handler does not run; this is what the record says.
    Recorded(ToolCallRecord),
    /// The handler does not run and nothing is recorded.
    Refused { reason: String },
}

#[derive(Clone, Debug, PartialEq)]
enum Decision {
    Inline,
    Deferred,
    Resumed,
    Denied,
}

/// The decisions of one segment.
pub(crate) struct Gate {
    agent: ClaudeAgent,
    /// The record that this segment was started to deliver.
    resumed: Option<ToolCallRecord>,
    /// Ids of this turn's calls that have a final record.
    recorded: BTreeSet<String>,
    decisions: BTreeMap<String, Decision>,
    /// The id of the call that leaves the turn.
    deferred: Option<String>,
    /// Whether the CLI took the resumed call up: a later call under its id is another one.
    resumed_asked: bool,
    collision: Option<String>,
}

impl Gate {
    pub(crate) fn new(
        agent: ClaudeAgent,
        resumed: Option<ToolCallRecord>,
        recorded: BTreeSet<String>,
    ) -> Self {
        Self {
            agent,
            resumed,
            recorded,
            decisions: BTreeMap::new(),
            deferred: None,
            resumed_asked: false,
            collision: None,
        }
    }

    /// The call that left the turn, if one did.
    pub(crate) fn deferred(&self) -> Option<&str> {
        self.deferred.as_deref()
    }

    /// The custom tool that a tool of this CLI shares its name with, once one was called.
    pub(crate) fn collision(&self) -> Option<&str> {
        self.collision.as_deref()
    }

    /// Whether the call that this segment was started for, if any, was taken up by the CLI.
    pub(crate) fn resumption_is_complete(&self) -> bool {
        self.resumed.is_none() || self.resumed_asked
    }

    /// Whether this is the call that the segment was started for.
    ///
    /// It keeps its recorded arguments, whatever an application hook would make of them.
    pub(crate) fn is_resumed(&self, tool_use_id: &str) -> bool {
        !self.resumed_asked && self.resumed_record(tool_use_id).is_some()
    }

    /// Answers the `PreToolUse` hook.
    pub(crate) fn pre_tool_use(&mut self, call: &AskedCall) -> Verdict {
        let (verdict, decision) = if self.is_resumed(&call.tool_use_id) {
            self.resumed_asked = true;
            (self.resumed_verdict(&call.tool_use_id), Decision::Resumed)
        } else {
            let verdict = self.decide(call);
            let decision = match &verdict {
                Verdict::Allow { .. } => Decision::Inline,
                Verdict::Defer => Decision::Deferred,
                Verdict::Deny { .. } => Decision::Denied,
            };
            (verdict, decision)
        };
        self.decisions.insert(call.tool_use_id.clone(), decision);
        verdict
    }

    /// Takes note that an application hook denies the call.
    pub(crate) fn deny(&mut self, call: &AskedCall) {
        self.decisions
            .insert(call.tool_use_id.clone(), Decision::Denied);
    }

    /// Answers a permission request: the CLI skipped the hook, or ignored its deferral.
    pub(crate) fn can_use_tool(&mut self, call: &AskedCall) -> Verdict {
        match self.decisions.get(&call.tool_use_id) {
            Some(Decision::Deferred) => {
                self.decisions
                    .insert(call.tool_use_id.clone(), Decision::Denied);
                self.deferred = None;
                return Verdict::Deny {
                    reason: call_again_text(own_name(&call.tool)),
                };
            }
            Some(Decision::Inline) => return Verdict::Allow { arguments: None },
            Some(Decision::Resumed) => return self.resumed_verdict(&call.tool_use_id),
            Some(Decision::Denied) | None => {}
        }
        match self.pre_tool_use(call) {
            Verdict::Defer => self.can_use_tool(call),
            verdict => verdict,
        }
    }

    /// Says what the MCP server does with a call of a custom tool.
    pub(crate) fn tools_call(&mut self, tool: &str, tool_use_id: Option<&str>) -> Passage {
        let decision = tool_use_id.and_then(|id| self.decisions.get(id));
        match (decision, tool_use_id) {
            (Some(Decision::Inline), _) => Passage::RunInline,
            (Some(Decision::Resumed), Some(id)) => match self.resumed_record(id) {
                Some(record) => Passage::Recorded(record.clone()),
                None => refused(tool),
            },
            _ => refused(tool),
        }
    }

    /// The call that left the turn, made complete by what the CLI recorded of it.
    pub(crate) fn deferred_call(
        &self,
        id: &str,
        tool: &str,
        arguments: Value,
    ) -> Option<DeferredCall> {
        let Treatment::Deferred(treatment) = self.agent.treatment(tool) else {
            return None;
        };
        Some(DeferredCall {
            tool_use_id: id.to_owned(),
            tool: own_name(tool).to_owned(),
            arguments,
            kind: treatment.kind,
            needs_approval: treatment.needs_approval,
            single_attempt: treatment.single_attempt,
        })
    }

    fn decide(&mut self, call: &AskedCall) -> Verdict {
        if self.is_repeated(&call.tool_use_id) {
            return Verdict::Deny {
                reason: call_again_text(own_name(&call.tool)),
            };
        }
        if self.agent.tool(&call.tool).is_some() {
            self.collision = Some(call.tool.clone());
            return Verdict::Deny {
                reason: format!(
                    "{} did not run: a custom tool has the same name.",
                    call.tool
                ),
            };
        }
        match self.agent.treatment(&call.tool) {
            Treatment::Inline => Verdict::Allow { arguments: None },
            Treatment::Deferred(treatment) => self.defer(call, treatment),
        }
    }

    fn defer(&mut self, call: &AskedCall, treatment: DeferredTreatment) -> Verdict {
        let tool = own_name(&call.tool);
        if call.in_subagent {
            return Verdict::Deny {
                reason: format!(
                    "{tool} did not run. It cannot run inside a subagent. \
                     Call {tool} from the main conversation."
                ),
            };
        }
        if self.deferred.is_some() {
            if self.agent.is_sabotaged(Sabotage::AllowSecondWrite) {
                return Verdict::Allow { arguments: None };
            }
            if !self.agent.is_sabotaged(Sabotage::DeferTwice) {
                return Verdict::Deny {
                    reason: call_again_text(tool),
                };
            }
        }
        debug_assert!(treatment.kind == ToolKind::Custom || treatment.needs_approval);
        self.deferred = Some(call.tool_use_id.clone());
        Verdict::Defer
    }

    fn resumed_record(&self, tool_use_id: &str) -> Option<&ToolCallRecord> {
        self.resumed
            .as_ref()
            .filter(|record| record.call.tool_use_id == tool_use_id)
    }

    fn resumed_verdict(&self, tool_use_id: &str) -> Verdict {
        let Some(record) = self.resumed_record(tool_use_id) else {
            return Verdict::Allow { arguments: None };
        };
        let is_cli_tool = record.call.kind == ToolKind::Cli;
        if is_cli_tool && record.outcome != ToolCallOutcome::Succeeded {
            return Verdict::Deny {
                reason: record.output.clone(),
            };
        }
        Verdict::Allow {
            arguments: Some(record.call.arguments.clone()),
        }
    }

    /// Whether the id already stands for a call of this turn: the model may use one twice.
    fn is_repeated(&self, tool_use_id: &str) -> bool {
        self.recorded.contains(tool_use_id) || self.deferred.as_deref() == Some(tool_use_id)
    }
}

fn call_again_text(tool: &str) -> String {
    format!(
        "{tool} did not run. Only one tool call per reply can run outside this turn, and another \
         call already does. Call {tool} again by itself."
    )
}

fn refused(tool: &str) -> Passage {
    Passage::Refused {
        reason: format!(
            "{} did not run: the call was not decided upon.",
            custom_tool_name(tool).unwrap_or(tool)
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::options::ClaudeAgentOptions;
    use crate::agent::policy::{ToolEffect, ToolPolicy};
    use crate::agent::tool::{Tool, ToolError, ToolOutput};

    const PUBLISH: &str = "mcp__tools__publish";

    fn gate(resumed: Option<ToolCallRecord>) -> Gate {
        let tool = |name: &str| {
            Tool::typed(name, name, |_: Vec<String>| async {
                Ok::<_, ToolError>(ToolOutput::default())
            })
        };
        let agent = ClaudeAgent::builder(|_| Ok(ClaudeAgentOptions::default()))
            .tool(tool("publish"))
            .tool(tool("lookup"))
            .tool_policy("lookup", ToolPolicy::new(ToolEffect::Read))
            .tool_policy("Read", ToolPolicy::new(ToolEffect::Read))
            .build()
            .expect("the tools differ");
        let recorded = resumed
            .iter()
            .map(|record| record.call.tool_use_id.clone())
            .collect();
        Gate::new(agent, resumed, recorded)
    }

    fn record(tool: &str, kind: ToolKind, outcome: ToolCallOutcome) -> ToolCallRecord {
        ToolCallRecord {
            call: DeferredCall {
                tool_use_id: "toolu_1".into(),
                tool: tool.into(),
                arguments: json!({"message": "draft"}),
                kind,
                needs_approval: true,
                single_attempt: true,
            },
            outcome,
            output: "what the record says".into(),
        }
    }

    fn asked(tool: &str, id: &str) -> AskedCall {
        AskedCall {
            tool: tool.into(),
            tool_use_id: id.into(),
            in_subagent: false,
        }
    }

    fn is_denied(verdict: &Verdict, part: &str) -> bool {
        matches!(verdict, Verdict::Deny { reason } if reason.contains(part))
    }

    // covers: hook-allow-inline, hook-defer-first, tool-decision-by-id, tool-no-decision-no-run
    #[test]
    fn reads_run_inside_and_one_write_leaves() {
        let mut gate = gate(None);
        let inside = Verdict::Allow { arguments: None };
        assert_eq!(gate.pre_tool_use(&asked("mcp__tools__lookup", "a")), inside);
        assert_eq!(gate.pre_tool_use(&asked("Read", "b")), inside);
        assert_eq!(gate.pre_tool_use(&asked(PUBLISH, "c")), Verdict::Defer);
        assert_eq!(gate.deferred(), Some("c"));
        let bash = gate.pre_tool_use(&asked("Bash", "d"));
        assert!(is_denied(&bash, "Call Bash again by itself."), "{bash:?}");
        assert_eq!(gate.tools_call("lookup", Some("a")), Passage::RunInline);
        for id in [Some("c"), Some("unheard of"), None] {
            let passage = gate.tools_call("publish", id);
            assert!(matches!(passage, Passage::Refused { .. }), "{passage:?}");
        }
    }

    #[test]
    fn a_repeated_id_is_another_call() {
        let mut gate = gate(None);
        assert_eq!(gate.pre_tool_use(&asked(PUBLISH, "a")), Verdict::Defer);
        assert!(is_denied(&gate.pre_tool_use(&asked(PUBLISH, "a")), "again"));
    }

    // covers: hook-subagent-denied
    #[test]
    fn a_write_inside_a_subagent_is_denied() {
        let mut gate = gate(None);
        let call = AskedCall {
            in_subagent: true,
            ..asked(PUBLISH, "a")
        };
        assert!(is_denied(&gate.pre_tool_use(&call), "main conversation"));
        assert_eq!(gate.deferred(), None);
    }

    // covers: hook-ignored-defer
    #[test]
    fn an_ignored_deferral_is_denied_when_the_cli_asks_for_permission() {
        let mut gate = gate(None);
        assert_eq!(gate.pre_tool_use(&asked(PUBLISH, "a")), Verdict::Defer);
        let verdict = gate.can_use_tool(&asked(PUBLISH, "a"));
        assert!(is_denied(&verdict, "Call publish again by itself."));
        assert_eq!(gate.deferred(), None);
        let passage = gate.tools_call("publish", Some("a"));
        assert!(matches!(passage, Passage::Refused { .. }));
    }

    // covers: res-hook-from-record, res-custom-succeeded, res-custom-rejected
    #[test]
    fn a_resumed_call_is_answered_from_its_record() {
        for outcome in [ToolCallOutcome::Succeeded, ToolCallOutcome::Rejected] {
            let record = record("publish", ToolKind::Custom, outcome);
            let mut gate = gate(Some(record.clone()));
            assert!(!gate.resumption_is_complete());
            let verdict = gate.pre_tool_use(&asked(PUBLISH, "toolu_1"));
            let arguments = Some(json!({"message": "draft"}));
            assert_eq!(verdict, Verdict::Allow { arguments });
            let passage = gate.tools_call("publish", Some("toolu_1"));
            assert_eq!(passage, Passage::Recorded(record));
            assert!(gate.resumption_is_complete());
        }
    }

    // covers: res-can-use-tool
    #[test]
    fn a_skipped_hook_changes_nothing_of_the_answer() {
        let record = record("publish", ToolKind::Custom, ToolCallOutcome::Succeeded);
        let mut gate = gate(Some(record.clone()));
        let arguments = Some(json!({"message": "draft"}));
        let verdict = gate.can_use_tool(&asked(PUBLISH, "toolu_1"));
        assert_eq!(verdict, Verdict::Allow { arguments });
        let passage = gate.tools_call("publish", Some("toolu_1"));
        assert_eq!(passage, Passage::Recorded(record));
    }

    // covers: res-cli-rejected
    #[test]
    fn a_rejected_tool_of_the_cli_is_denied_with_the_rejection() {
        let record = record("Bash", ToolKind::Cli, ToolCallOutcome::Rejected);
        let mut gate = gate(Some(record));
        let verdict = gate.pre_tool_use(&asked("Bash", "toolu_1"));
        assert!(is_denied(&verdict, "what the record says"));
    }

    #[test]
    fn a_call_under_the_id_of_the_resumed_one_does_not_get_its_record() {
        let record = record("publish", ToolKind::Custom, ToolCallOutcome::Succeeded);
        let mut gate = gate(Some(record));
        gate.pre_tool_use(&asked(PUBLISH, "toolu_1"));
        gate.tools_call("publish", Some("toolu_1"));
        let verdict = gate.pre_tool_use(&asked(PUBLISH, "toolu_1"));
        assert!(is_denied(&verdict, "again"), "{verdict:?}");
        let passage = gate.tools_call("publish", Some("toolu_1"));
        assert!(matches!(passage, Passage::Refused { .. }));
    }

    #[test]
    fn a_tool_of_the_cli_with_a_custom_tools_name_is_noticed() {
        let mut gate = gate(None);
        let verdict = gate.pre_tool_use(&asked("publish", "a"));
        assert!(is_denied(&verdict, "same name"));
        assert_eq!(gate.collision(), Some("publish"));
    }
}
