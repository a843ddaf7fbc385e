//! Writing down how a call ended: the user frame, the transcript entry, the attachments.

use serde_json::{Value, json};
use uuid::Uuid;

use super::call::{Call, Ending, Settled};
use crate::clock;
use crate::frames;
use crate::permissions::{Denial, DenialKind, texts};
use crate::session::Session;
use crate::tools::Refusal;
use crate::transcript::{attachment_entry, user_entry};

/// A settled call, ready to be shown and written.
pub(crate) struct Report {
    pub(crate) entry: Value,
    assistant_uuid: String,
    /// What comes before the result.
    preface: Vec<Value>,
    notes: Vec<Value>,
}

/// Shows a settled call to the host and returns what belongs in the transcript; `None` for a deferred
/// call, which has no result.
pub(crate) fn show(session: &Session, settled: &Settled, resumed: bool) -> Option<Report> {
    let call = &settled.call;
    let shape = Shape::of(call, &settled.ending)?;
    if let Some(denied) = &shape.own_denial {
        session
            .output
            .frame(&permission_denied(session, call, denied));
    }
    let hook_denied =
        matches!(&settled.ending, Ending::Denied(denial) if denial.kind == DenialKind::Hook);
    if resumed && !hook_denied {
        for _ in 0..settled.hooks.answered {
            show_hook_success(session, call, "PreToolUse");
        }
    }
    let uuid = Uuid::new_v4();
    let mut frame = json!({
        "type": "user",
        "message": {"role": "user", "content": [shape.block]},
        "parent_tool_use_id": null,
        "session_id": session.id,
        "uuid": uuid,
        "timestamp": clock::timestamp(),
        "tool_use_result": shape.structured,
    });
    if let Some(meta) = &shape.meta {
        let mut meta = meta.clone();
        if let Some(decision) = meta
            .get_mut("permission_decision")
            .and_then(Value::as_object_mut)
        {
            decision.retain(|member, _| {
                !["grant_scope", "asked_by_hook", "outside"].contains(&member.as_str())
            });
        }
        frame["tool_result_meta"] = json!([meta]);
    }
    session.output.frame(&frame);
    if resumed {
        for _ in 0..settled.hooks.answered_after {
            show_hook_success(session, call, "PostToolUse");
        }
    }
    let entry = user_entry(
        &session.stamp,
        call.prompt_id,
        &json!([shape.block]),
        uuid,
        false,
        shape.entry_members(call, session.mode.get().as_str()),
    );
    Some(Report {
        entry,
        assistant_uuid: call.assistant_uuid.clone(),
        preface: preface(session, settled),
        notes: notes(session, settled),
    })
}

impl Report {
    /// The content of the result.
    pub(crate) fn content(&self) -> &Value {
        &self.entry["message"]["content"][0]["content"]
    }

    /// Writes the entry: a result's parent is the call, not what came between.
    pub(crate) fn write(self, session: &Session) {
        for note in self.preface {
            session
                .transcript
                .chain_to(Some(&self.assistant_uuid), note);
        }
        let parent = Some(self.assistant_uuid.as_str());
        session.transcript.chain_to(parent, self.entry);
        for note in self.notes {
            session.transcript.chain(note);
        }
    }
}

/// What PreToolUse hooks said beside their decision.
fn preface(session: &Session, settled: &Settled) -> Vec<Value> {
    let call = &settled.call;
    let messages = settled.hooks.system_messages.iter().map(|(uuid, text)| {
        let attachment = json!({
            "type": "hook_system_message",
            "content": text,
            "hookName": format!("PreToolUse:{}", call.name),
            "toolUseID": call.id,
            "hookEvent": "PreToolUse",
        });
        let mut entry = attachment_entry(&session.stamp, attachment, None);
        entry["uuid"] = uuid.clone();
        entry
    });
    let contexts = additional_contexts(session, settled, |event| event == "PreToolUse");
    messages.chain(contexts).collect()
}

fn additional_contexts(
    session: &Session,
    settled: &Settled,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<Value> {
    let call = &settled.call;
    let contexts = settled.hooks.additional_contexts.iter();
    contexts
        .filter(|(event, _)| is_wanted(event))
        .map(|(event, text)| {
            let attachment = json!({
                "type": "hook_additional_context",
                "content": [text],
                "hookName": format!("{event}:{}", call.name),
                "toolUseID": call.id,
                "hookEvent": event,
            });
            let told = format!("{event}:{} hook additional context: {text}", call.name);
            attachment_entry(&session.stamp, attachment, Some(("system", &told)))
        })
        .collect()
}

/// What hooks said after the call; the model is reminded of it after the result.
fn notes(session: &Session, settled: &Settled) -> Vec<Value> {
    let call = &settled.call;
    let blocking = settled.hooks.blocking.iter().map(|(event, text)| {
        let attachment = json!({
            "type": "hook_blocking_error",
            "hookName": format!("{event}:{}", call.name),
            "toolUseID": call.id,
            "hookEvent": event,
            "blockingError": {"blockingError": text, "command": "callback"},
        });
        (
            attachment,
            format!("{event}:{} hook blocking error: {text}", call.name),
        )
    });
    let stop = settled.hooks.stop.iter().map(|(event, reason)| {
        let attachment = json!({
            "type": "hook_stopped_continuation",
            "message": reason,
            "hookName": format!("{event}:{}", call.name),
            "toolUseID": call.id,
            "hookEvent": event,
        });
        let told = format!("{event}:{} hook stopped continuation: {reason}", call.name);
        (attachment, told)
    });
    let others = blocking.chain(stop).map(|(attachment, told)| {
        attachment_entry(&session.stamp, attachment, Some(("system", &told)))
    });
    let mut notes = additional_contexts(session, settled, |event| event != "PreToolUse");
    notes.extend(others);
    notes
}

/// In a resumed call, a hook's success is shown as an attachment that is not written.
pub(crate) fn show_hook_success(session: &Session, call: &Call, event: &str) {
    let attachment = json!({
        "type": "hook_success",
        "hookName": format!("{event}:Callback"),
        "toolUseID": call.id,
        "hookEvent": event,
        "content": "",
        "command": "callback",
    });
    let uuid = json!(Uuid::new_v4());
    session
        .output
        .frame(&frames::attachment(session, &attachment, &uuid));
}

/// The entry that makes a deferral survive the process.
pub(crate) fn deferral_entry(session: &Session, call: &Call, input: &Value) -> Value {
    let attachment = json!({
        "type": "hook_deferred_tool",
        "toolUseID": call.id,
        "toolName": call.name,
        "toolInput": input,
        "hookName": "settings",
        "hookEvent": "PreToolUse",
        "permissionMode": session.mode.get().as_str(),
    });
    attachment_entry(&session.stamp, attachment, None)
}

fn permission_denied(session: &Session, call: &Call, denied: &OwnDenial) -> Value {
    let mut frame = json!({
        "type": "system",
        "subtype": "permission_denied",
        "tool_name": call.name,
        "tool_use_id": call.id,
    });
    if let Some(reason) = denied.reason_type {
        frame["decision_reason_type"] = json!(reason);
    }
    if let Some(reason) = &denied.reason {
        frame["decision_reason"] = json!(reason);
    }
    frame["message"] = json!(denied.text);
    frame["uuid"] = json!(Uuid::new_v4());
    frame["session_id"] = json!(session.id);
    frame
}

/// A denial by the program itself, which has a frame of its own.
struct OwnDenial {
    text: String,
    reason_type: Option<&'static str>,
    /// Of the hook that wanted the user to be asked.
    reason: Option<String>,
}

/// The members of a result that depend on how the call ended (observed on CLI 2.1.316).
struct Shape {
    block: Value,
    structured: Value,
    meta: Option<Value>,
    own_denial: Option<OwnDenial>,
    /// The host went away instead of answering.
    unanswered: bool,
    /// What an MCP server said beside the content that the model is told.
    mcp_meta: Option<Value>,
}

impl Shape {
    fn of(call: &Call, ending: &Ending) -> Option<Self> {
        Some(match ending {
            Ending::Deferred { .. } => return None,
            Ending::Succeeded {
                content,
                structured,
                states_success,
                permission,
            } => Self::success(call, content, structured, *states_success, permission),
            Ending::Failed { text, permission } => Self {
                meta: Some(json!({"id": call.id, "permission_decision": permission})),
                ..Self::error(call, text)
            },
            Ending::Refused(refusal) => Self::refused(call, refusal),
            Ending::Denied(denial) => Self::denied(call, denial),
            Ending::CutOff { permission } => {
                let mut meta = json!({"id": call.id, "non_execution_kind": "interrupted"});
                if let Some(permission) = permission {
                    meta["permission_decision"] = permission.clone();
                }
                Self {
                    meta: Some(meta),
                    ..Self::error(call, texts::INTERRUPTED_CALL)
                }
            }
            Ending::Cancelled => Self {
                structured: json!(texts::NOT_NOW),
                meta: Some(json!({"id": call.id, "non_execution_kind": "cancelled"})),
                ..Self::error(call, texts::NOT_NOW)
            },
            Ending::Interrupted { while_running, .. } => {
                let correction = if *while_running {
                    texts::STOPPED_WHILE_RUNNING
                } else {
                    ""
                };
                Self {
                    structured: json!("User rejected tool use"),
                    meta: Some(json!({"id": call.id, "non_execution_kind": "user-rejected"})),
                    ..Self::error(call, &format!("{}{correction}", texts::REJECTED))
                }
            }
        })
    }

    fn success(
        call: &Call,
        content: &Value,
        structured: &Value,
        states_success: bool,
        permission: &Value,
    ) -> Self {
        let mut block = json!({
            "tool_use_id": call.id,
            "type": "tool_result",
            "content": content,
        });
        if states_success {
            block["is_error"] = json!(false);
        }
        Self {
            block,
            structured: structured.clone(),
            meta: Some(json!({"id": call.id, "permission_decision": permission})),
            own_denial: None,
            unanswered: false,
            mcp_meta: structured
                .get("structuredContent")
                .map(|content| json!({"structuredContent": content})),
        }
    }

    fn error(call: &Call, text: &str) -> Self {
        Self {
            block: json!({
                "type": "tool_result",
                "content": text,
                "is_error": true,
                "tool_use_id": call.id,
            }),
            structured: json!(format!("Error: {text}")),
            meta: None,
            own_denial: None,
            unanswered: false,
            mcp_meta: None,
        }
    }

    /// Hosts are told of a refused input in another form than the model, without tags.
    fn refused(call: &Call, refusal: &Refusal) -> Self {
        let text = refusal.text.as_str();
        let bare = text
            .strip_prefix("<tool_use_error>")
            .and_then(|text| text.strip_suffix("</tool_use_error>"));
        let mut shape = Self::error(call, text);
        if let Some(told) = refusal.told.as_deref().or(bare) {
            shape.structured = json!(told);
        }
        shape
    }

    fn denied(call: &Call, denial: &Denial) -> Self {
        let (kind, decision) = match denial.kind {
            DenialKind::Hook => (
                "permission-rule",
                Some(json!({"decision": "reject", "source": "hook", "reason_type": "hook"})),
            ),
            DenialKind::Mode => (
                "permission-rule",
                Some(json!({"decision": "reject", "source": "config", "reason_type": "mode"})),
            ),
            DenialKind::Rule => (
                "permission-rule",
                Some(json!({"decision": "reject", "source": "config", "reason_type": "rule"})),
            ),
            DenialKind::NobodyToAsk
            | DenialKind::HookAsked
            | DenialKind::OutsideWorkingDirectory => (
                "user-rejected",
                Some(json!({"decision": "reject", "source": "config"})),
            ),
            DenialKind::Host => (
                "permission-rule",
                Some(json!({"decision": "reject", "source": "user_reject"})),
            ),
            DenialKind::HostForHook | DenialKind::HostInterruptForHook => (
                "permission-rule",
                Some(json!({"decision": "reject", "source": "user_reject", "asked_by_hook": true})),
            ),
            DenialKind::HostError => (
                "permission-rule",
                Some(json!({"decision": "reject", "source": "config", "reason_type": "other"})),
            ),
            DenialKind::HostInterrupt => ("user-rejected", None),
            // Nobody decided: the result has no members about it.
            DenialKind::HookTimeout | DenialKind::NotNow => return Self::error(call, &denial.text),
        };
        let mut meta = json!({"id": call.id, "non_execution_kind": kind});
        if let Some(decision) = decision {
            meta["permission_decision"] = decision;
        }
        let own_denial = match denial.kind {
            DenialKind::Mode => Some((Some("mode"), None)),
            DenialKind::NobodyToAsk => Some((None, None)),
            DenialKind::OutsideWorkingDirectory => {
                Some((Some("workingDir"), Some(texts::OUTSIDE.to_owned())))
            }
            DenialKind::HookAsked => Some((Some("hook"), Some(denial.text.clone()))),
            _ => None,
        };
        let structured = match denial.kind {
            DenialKind::HostInterrupt => json!("User rejected tool use"),
            _ => json!(format!("Error: {}", denial.text)),
        };
        Self {
            meta: Some(meta),
            structured,
            unanswered: denial.text == texts::PERMISSION_STREAM_CLOSED,
            own_denial: own_denial.map(|(reason_type, reason)| OwnDenial {
                text: denial.text.clone(),
                reason_type,
                reason,
            }),
            ..Self::error(call, &denial.text)
        }
    }

    fn is_outside(&self) -> bool {
        self.own_denial
            .as_ref()
            .is_some_and(|denial| denial.reason_type == Some("workingDir"))
    }

    fn was_asked_by_hook(&self) -> bool {
        self.own_denial
            .as_ref()
            .is_some_and(|denial| denial.reason.is_some())
    }

    fn entry_members(&self, call: &Call, mode: &str) -> Value {
        let mut members = json!({"toolUseResult": self.structured});
        let meta = self.meta.as_ref();
        if let Some(kind) = meta.and_then(|meta| meta.get("non_execution_kind")) {
            members["toolDenialKind"] = kind.clone();
        }
        let ran = meta.is_some_and(|meta| meta["permission_decision"]["decision"] == "accept");
        if call.name == "Bash" && ran {
            members["sandboxed"] = json!(false);
        }
        if self.unanswered {
            members["toolDenialUnanswered"] = json!("stream-closed");
        }
        if let Some(mcp) = &self.mcp_meta {
            members["toolUseResult"] = self.block["content"].clone();
            members["mcpMeta"] = mcp.clone();
        }
        members["sourceToolAssistantUUID"] = json!(call.assistant_uuid);
        if let Some(decision) = meta.and_then(|meta| meta.get("permission_decision")) {
            let mut saved = json!({
                "decision": decision["decision"],
                "source": decision["source"],
            });
            if let Some(reason) = decision.get("reason_type") {
                saved["reasonType"] = reason.clone();
            }
            match (decision["source"].as_str(), decision["decision"].as_str()) {
                (Some("hook"), Some("reject")) => saved["reasonCode"] = json!("hook:PreToolUse"),
                (Some("config"), Some("reject")) if decision["reason_type"] == "rule" => {
                    saved["ruleSource"] = json!("cliArg");
                    saved["reasonCode"] = json!("rule:cliArg");
                }
                (Some("config"), Some("accept")) if decision["reason_type"] == "rule" => {
                    saved["ruleSource"] = json!("cliArg");
                }
                (Some("config"), Some("reject")) if self.is_outside() => {
                    saved["reasonCode"] = json!("workingDir");
                }
                (Some("config"), Some("reject")) if self.was_asked_by_hook() => {
                    saved["reasonCode"] = json!("hook:PreToolUse");
                }
                (Some("config"), Some("reject")) if decision["reason_type"] == "mode" => {
                    saved["reasonCode"] = json!(format!("mode:{mode}"));
                }
                (Some("config"), Some("reject")) => saved["reasonCode"] = json!("unknown"),
                (Some("user_temporary"), _) if decision["reason_type"] == "rule" => {
                    saved["ruleSource"] = json!("session");
                }
                (Some("user_reject"), _) if decision["asked_by_hook"] == true => {
                    saved["reasonCode"] = json!("permissionPromptTool");
                }
                (Some("user_reject"), _) => saved["reasonCode"] = json!("unknown"),
                (Some("user_temporary"), _) => {
                    saved["grantScope"] = decision["grant_scope"].clone();
                    if decision["outside"] == true {
                        saved["reasonCode"] = json!("workingDir");
                    } else if decision["asked_by_hook"] != true {
                        saved["reasonCode"] = json!("unknown");
                    }
                }
                _ => {}
            }
            members["permissionDecision"] = saved;
        }
        members
    }
}
