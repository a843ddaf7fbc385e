//! One tool call: hooks, permission, execution.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::events;
use crate::frames;
use crate::hooks::{PreToolUse, Verdict, ask_pre_tool_use};
use crate::mcp::CallOutcome;
use crate::permissions::{
    Denial, DenialKind, HostVerdict, Outcome, Subject, decide, read_host_verdict, texts,
};
use crate::quirks::Quirk;
use crate::session::Session;
use crate::tools::{self, BuiltinOutcome, Refusal, Tool};

/// A tool use that a reply asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    /// The transcript entry that holds the call.
    pub(crate) assistant_uuid: String,
    /// The prompt the call belongs to; a resumed call belongs to none.
    pub(crate) prompt_id: Option<Uuid>,
}

/// Where a call is, for whoever interrupts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Hooks or the host are being asked, or nothing has happened yet.
    Undecided,
    /// The host has been asked whether the call may run.
    Asking,
    Running,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settled {
    pub(crate) call: Call,
    pub(crate) hooks: HookTraces,
    pub(crate) ending: Ending,
}

/// What hooks left to be written down.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct HookTraces {
    /// How many PreToolUse hooks answered.
    pub(crate) answered: usize,
    /// How many PostToolUse hooks answered.
    pub(crate) answered_after: usize,
    pub(crate) additional_contexts: Vec<(String, String)>,
    /// What PreToolUse hooks had to say to the person, with the uuid under which it was shown.
    pub(crate) system_messages: Vec<(Value, String)>,
    pub(crate) blocking: Vec<(String, String)>,
    /// A hook wants the turn to end, for this reason.
    pub(crate) stop: Option<(String, String)>,
}

/// The ways a call can end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    Deferred {
        /// The input as the host is shown it.
        input: Value,
    },
    Denied(Denial),
    /// The tool does not exist or its input is invalid; nobody was asked.
    Refused(Refusal),
    Succeeded {
        content: Value,
        structured: Value,
        states_success: bool,
        permission: Value,
    },
    Failed {
        text: String,
        permission: Value,
    },
    /// Interrupted by the host or by a signal.
    Interrupted {
        /// The tool was running; a signal does not tell (observed on CLI 2.1.316).
        while_running: bool,
        /// The host had been asked for its permission.
        asking: bool,
    },
    /// The connection ended while the tool ran, or a resumed call was interrupted.
    CutOff {
        permission: Option<Value>,
    },
    /// Nobody will answer the hook any more.
    Cancelled,
}

/// Runs a call to its end.
pub(crate) async fn run_call(session: Rc<Session>, call: Call, phase: Rc<Cell<Phase>>) -> Settled {
    let mut hooks = HookTraces::default();
    let ending = settle(&session, &call, &phase, &mut hooks).await;
    Settled {
        call,
        hooks,
        ending,
    }
}

async fn settle(
    session: &Rc<Session>,
    call: &Call,
    phase: &Cell<Phase>,
    traces: &mut HookTraces,
) -> Ending {
    let Some(tool) = tools::find(session, &call.name) else {
        return Ending::Refused(Refusal {
            text: tools::no_such_tool(&call.name),
            told: None,
        });
    };
    let input = match prepare(session, call, &tool) {
        Ok(input) => input,
        Err(refusal) => return Ending::Refused(refusal),
    };
    let mut hooks = ask_hooks(session, call, &tool, &input).await;
    for message in &hooks.system_messages {
        let text = format!("PreToolUse:{} says: {message}", call.name);
        let frame = frames::informational(session, &text);
        session.output.frame(&frame);
        let note = (frame["uuid"].clone(), message.clone());
        traces.system_messages.push(note);
    }
    traces.answered = hooks.answered;
    let contexts = std::mem::take(&mut hooks.additional_contexts);
    let tagged = contexts
        .into_iter()
        .map(|context| ("PreToolUse".to_owned(), context));
    traces.additional_contexts.extend(tagged);
    let input = hooks.updated_input.clone().unwrap_or(input);
    let permission = match permit(session, call, phase, &tool, &hooks.verdict, &input).await {
        Permit::Run { permission, input } => (permission, input),
        Permit::Defer => return Ending::Deferred { input },
        Permit::Deny(denial) if denial.kind == DenialKind::NotNow => return Ending::Cancelled,
        Permit::Deny(denial) => return Ending::Denied(denial),
    };
    let (permission, input) = permission;
    phase.set(Phase::Running);
    let started = Instant::now();
    let outcome = execute(session, call, &tool, &input).await;
    session.ledger.borrow_mut().tool_time += started.elapsed();
    finish(
        session,
        call,
        &tool,
        &input,
        outcome,
        permission,
        traces,
        started.elapsed(),
    )
    .await
}

/// Input that cannot be parsed never reaches a hook; built-in tools check theirs.
fn prepare(session: &Session, call: &Call, tool: &Tool) -> Result<Value, Refusal> {
    let unparsed = &call.input["__unparsedToolInput"];
    if let (Some(raw), Some(length)) = (unparsed["raw"].as_str(), unparsed["len"].as_u64()) {
        return Err(Refusal {
            text: format!(
                "<tool_use_error>InputValidationError: {} was called with input that could not be \
                 parsed as JSON.\nYou sent (first {length} of {length} bytes): {raw}\nCommon \
                 causes: cut-off or unescaped text. Retry with valid JSON.</tool_use_error>",
                call.name
            ),
            told: Some(format!(
                "InputValidationError: JSON parse failed ({length} bytes)"
            )),
        });
    }
    let input = by_position(&call.input);
    match tool {
        Tool::Builtin(builtin) => builtin.prepare(session, &input),
        Tool::Mcp(_) => Ok(input),
    }
}

/// To hooks and tools, a list is an object by position; the model keeps its list (observed on CLI 2.1.316).
fn by_position(input: &Value) -> Value {
    match input {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (index.to_string(), item.clone()))
            .collect(),
        other => other.clone(),
    }
}

async fn ask_hooks(session: &Session, call: &Call, tool: &Tool, input: &Value) -> PreToolUse {
    let resumed = call.prompt_id.is_none();
    let hooks = if resumed && session.quirks.has(&Quirk::ResumeSkipsHook) {
        Vec::new()
    } else {
        session
            .hooks
            .borrow()
            .matching("PreToolUse", Some(&call.name))
    };
    let mut hook_input = events::common_input(session, call.prompt_id, "PreToolUse");
    hook_input["tool_name"] = json!(call.name);
    hook_input["tool_input"] = input.clone();
    hook_input["tool_use_id"] = json!(call.id);
    if let Some(server) = tool.server() {
        hook_input["mcp_server"] = server;
    }
    let mut answer = ask_pre_tool_use(&session.host, &hooks, &hook_input, &call.id).await;
    if answer.verdict == Verdict::Defer {
        if session.quirks.has(&Quirk::DeferIgnored) {
            answer.verdict = Verdict::None;
        } else if session.quirks.has(&Quirk::DeferAsksCanUseTool) {
            answer.verdict = Verdict::Ask { reason: None };
        }
    }
    let allowed = matches!(answer.verdict, Verdict::Allow { .. });
    if allowed && resumed && session.quirks.has(&Quirk::ResumeAsksCanUseTool) {
        answer.verdict = Verdict::Ask { reason: None };
    }
    answer
}

enum Permit {
    Run { permission: Value, input: Value },
    Defer,
    Deny(Denial),
}

async fn permit(
    session: &Rc<Session>,
    call: &Call,
    phase: &Cell<Phase>,
    tool: &Tool,
    verdict: &Verdict,
    input: &Value,
) -> Permit {
    let allowance = tool.allowance(session, input);
    let subject = Subject {
        tool: &call.name,
        input,
        mcp: matches!(tool, Tool::Mcp(_)),
        allowance: &allowance,
        free_reason: tool.free_reason(),
    };
    let can_ask = session.arguments.permission_prompt_over_stdio;
    let outcome = decide(
        session.mode.get(),
        verdict,
        &session.rules.borrow(),
        can_ask,
        subject,
    );
    match outcome {
        Outcome::Run { permission } => Permit::Run {
            permission,
            input: input.clone(),
        },
        Outcome::Defer => Permit::Defer,
        Outcome::Deny(denial) => Permit::Deny(denial),
        Outcome::Ask { request } => {
            phase.set(Phase::Asking);
            ask_host(session, call, tool, input, request).await
        }
    }
}

async fn ask_host(
    session: &Rc<Session>,
    call: &Call,
    tool: &Tool,
    input: &Value,
    reasons: serde_json::Map<String, Value>,
) -> Permit {
    let mut request = json!({"subtype": "can_use_tool", "tool_name": call.name});
    if let Some(server) = tool.server() {
        request["mcp_server"] = server;
    }
    request["display_name"] = json!(tool.display_name());
    request["input"] = input.clone();
    if let Some(description) = tool.asked_about(session, input) {
        request["description"] = description;
    }
    for (name, value) in reasons {
        request[name] = value;
    }
    request["tool_use_id"] = json!(call.id);
    session.enter_state("requires_action");
    let suggestions = request["permission_suggestions"].clone();
    let asked_by_hook = request["decision_reason_type"] == "hook";
    let outside = request["decision_reason_type"] == "workingDir";
    let answer = {
        let asked = session.host.ask(request);
        tokio::pin!(asked);
        // The hook is told of the question, not waited for.
        events::permission_request(session, call, tool, input, &suggestions);
        asked.await
    };
    session.enter_state("running");
    match read_host_verdict(answer, asked_by_hook) {
        HostVerdict::Deny(denial) => Permit::Deny(denial),
        HostVerdict::Allow {
            updated_input,
            updated_permissions,
        } => {
            session.rules.borrow_mut().update(&updated_permissions);
            let lasting = updated_permissions
                .as_array()
                .is_some_and(|updates| !updates.is_empty());
            Permit::Run {
                permission: json!({
                    "decision": "accept",
                    "source": "user_temporary",
                    "grant_scope": if lasting { "session" } else { "once" },
                    "asked_by_hook": asked_by_hook,
                    "outside": outside,
                }),
                input: updated_input.unwrap_or_else(|| input.clone()),
            }
        }
    }
}

async fn execute(session: &Session, call: &Call, tool: &Tool, input: &Value) -> BuiltinOutcome {
    match tool {
        Tool::Builtin(builtin) => builtin.run(session, input).await,
        Tool::Mcp(tool) => {
            let timeout = session.environment.number("MCP_TOOL_TIMEOUT");
            let outcome = session
                .mcp
                .call(
                    &session.host,
                    tool,
                    input,
                    &call.id,
                    timeout.map(Duration::from_millis),
                )
                .await;
            match outcome {
                CallOutcome::Content {
                    content,
                    structured,
                } => BuiltinOutcome::Success {
                    content,
                    structured,
                    states_success: false,
                },
                CallOutcome::Error(text) => BuiltinOutcome::Error(text),
            }
        }
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one use; a struct would only rename them"
)]
async fn finish(
    session: &Session,
    call: &Call,
    tool: &Tool,
    input: &Value,
    outcome: BuiltinOutcome,
    permission: Value,
    traces: &mut HookTraces,
    duration: Duration,
) -> Ending {
    let mut hook_input = json!({
        "tool_name": call.name,
        "tool_input": input,
    });
    let event = match &outcome {
        BuiltinOutcome::Success { structured, .. } => {
            hook_input["tool_response"] = structured.clone();
            "PostToolUse"
        }
        BuiltinOutcome::Error(_) => "PostToolUseFailure",
    };
    hook_input["tool_use_id"] = json!(call.id);
    if let BuiltinOutcome::Error(text) = &outcome {
        hook_input["error"] = json!(text);
        hook_input["is_interrupt"] = json!(false);
    }
    hook_input["duration_ms"] = json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    if let Some(server) = tool.server() {
        hook_input["mcp_server"] = server;
    }
    let answers = events::ask(
        session,
        call.prompt_id,
        event,
        Some(&call.name),
        hook_input,
        Some(&call.id),
    )
    .await;
    if event == "PostToolUse" {
        traces.answered_after = answers.len();
    }
    for answer in answers {
        let context = answer
            .additional_context
            .map(|text| (event.to_owned(), text));
        traces.additional_contexts.extend(context);
        if let Some(reason) = answer.stop {
            traces.stop = Some((event.to_owned(), reason));
        }
        traces
            .blocking
            .extend(answer.block.map(|text| (event.to_owned(), text)));
    }
    match outcome {
        BuiltinOutcome::Success {
            content,
            structured,
            states_success,
        } => Ending::Succeeded {
            content,
            structured,
            states_success,
            permission,
        },
        BuiltinOutcome::Error(text) if text == texts::INTERRUPTED_CALL => Ending::CutOff {
            permission: Some(permission),
        },
        BuiltinOutcome::Error(text) => Ending::Failed { text, permission },
    }
}

impl Ending {
    /// Whether the host itself asked for the turn to end.
    pub(crate) fn ends_turn(&self) -> bool {
        let ending = [DenialKind::HostInterrupt, DenialKind::HostInterruptForHook];
        matches!(self, Self::Denied(denial) if ending.contains(&denial.kind))
    }
}
