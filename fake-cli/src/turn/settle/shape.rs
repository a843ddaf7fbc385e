//! The members of a result that depend on how its call ended.

use serde_json::{Value, json};

use crate::permissions::{Denial, DenialKind, texts};
use crate::tools::Refusal;
use crate::turn::call::{Call, Ending};

/// A denial by the program itself, which has a frame of its own.
pub(super) struct OwnDenial {
    pub(super) text: String,
    pub(super) reason_type: Option<&'static str>,
    /// Of the hook that wanted the user to be asked.
    pub(super) reason: Option<String>,
}

/// The members of a result that depend on how the call ended (observed on CLI 2.1.316).
pub(super) struct Shape {
    pub(super) block: Value,
    pub(super) structured: Value,
    pub(super) meta: Option<Value>,
    pub(super) own_denial: Option<OwnDenial>,
    /// The host went away instead of answering.
    pub(super) unanswered: bool,
    /// What an MCP server said beside the content that the model is told.
    pub(super) mcp_meta: Option<Value>,
}

impl Shape {
    pub(super) fn of(call: &Call, ending: &Ending) -> Option<Self> {
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

    pub(super) fn entry_members(&self, call: &Call, mode: &str) -> Value {
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
