//! Writing down how a call ended: the user frame, the transcript entry, the attachments.

use serde_json::{Value, json};
use uuid::Uuid;

use super::call::{Call, Ending, Settled};
use crate::clock;
use crate::frames;
use crate::permissions::{Denial, DenialKind, texts};
use crate::session::Session;
use crate::transcript::{attachment_entry, user_entry};

/// A settled call, ready to be shown and written.
pub(crate) struct Report {
    pub(crate) entry: Value,
    assistant_uuid: String,
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
    if resumed && settled.hooks.answered > 0 && !hook_denied {
        show_hook_success(session, call, "PreToolUse");
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
            decision
                .retain(|member, _| !["grant_scope", "asked_by_hook"].contains(&member.as_str()));
        }
        frame["tool_result_meta"] = json!([meta]);
    }
    session.output.frame(&frame);
    if resumed && settled.hooks.answered_after > 0 {
        show_hook_success(session, call, "PostToolUse");
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
        let parent = Some(self.assistant_uuid.as_str());
        session.transcript.chain_to(parent, self.entry);
        for note in self.notes {
            session.transcript.chain(note);
        }
    }
}

/// What hooks said beside their decision; the model is reminded of it after the result.
fn notes(session: &Session, settled: &Settled) -> Vec<Value> {
    let call = &settled.call;
    let contexts = settled
        .hooks
        .additional_contexts
        .iter()
        .map(|(event, text)| {
            let attachment = json!({
                "type": "hook_additional_context",
                "content": [text],
                "hookName": format!("{event}:{}", call.name),
                "toolUseID": call.id,
                "hookEvent": event,
            });
            (
                attachment,
                format!("{event}:{} hook additional context: {text}", call.name),
            )
        });
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
    contexts
        .chain(blocking)
        .chain(stop)
        .map(|(attachment, told)| {
            attachment_entry(&session.stamp, attachment, Some(("system", &told)))
        })
        .collect()
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
            Ending::Refused { text } => Self::refused(call, text),
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
        }
    }

    /// The structured result of a refused input has no tags around it.
    fn refused(call: &Call, text: &str) -> Self {
        let bare = text
            .trim_start_matches("<tool_use_error>")
            .trim_end_matches("</tool_use_error>");
        Self {
            structured: json!(bare),
            ..Self::error(call, text)
        }
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
            DenialKind::NobodyToAsk | DenialKind::HookAsked => (
                "user-rejected",
                Some(json!({"decision": "reject", "source": "config"})),
            ),
            DenialKind::Host => (
                "permission-rule",
                Some(json!({"decision": "reject", "source": "user_reject"})),
            ),
            DenialKind::HostForHook => (
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
            own_denial: own_denial.map(|(reason_type, reason)| OwnDenial {
                text: denial.text.clone(),
                reason_type,
                reason,
            }),
            ..Self::error(call, &denial.text)
        }
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
        if call.name == "Bash" && self.structured.is_object() {
            members["sandboxed"] = json!(false);
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
                    if decision["asked_by_hook"] != true {
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
