//! What a hook's answer means.

use serde_json::Value;

/// A hook's decision on a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    Ask,
    Defer,
    Deny,
}

/// One hook's answer, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookAnswer {
    pub(crate) decision: Option<Decision>,
    pub(crate) reason: Option<String>,
    pub(crate) updated_input: Option<Value>,
    pub(crate) additional_context: Option<String>,
    pub(crate) system_message: Option<String>,
    /// The legacy `decision: "block"`, with its reason, as events other than PreToolUse use it.
    pub(crate) block: Option<String>,
    /// `continue: false`, with its stop reason.
    pub(crate) stop: Option<String>,
}

/// An answer whose shape is wrong; it counts as no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Hook JSON output validation failed — {0}")]
pub(crate) struct MalformedAnswer(String);

impl HookAnswer {
    /// Reads the answer to an event.
    ///
    /// # Errors
    /// When a member has a value that the schema does not know; such an answer decides nothing.
    pub(crate) fn read(event: &str, answer: &Value) -> Result<Self, MalformedAnswer> {
        if answer["async"] == Value::Bool(true) {
            return Ok(Self::default());
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut read = Self {
            system_message: text(&answer["systemMessage"]),
            ..Self::default()
        };
        if answer["continue"] == Value::Bool(false) {
            read.stop = Some(text(&answer["stopReason"]).unwrap_or_default());
        }
        match answer["decision"].as_str() {
            Some("approve") => read.decision = Some(Decision::Allow),
            Some("block") => {
                read.decision = Some(Decision::Deny);
                read.reason = text(&answer["reason"]);
                read.block = Some(read.reason.clone().unwrap_or_default());
            }
            Some(other) => {
                return Err(MalformedAnswer(format!(
                    "decision: invalid value {other:?}"
                )));
            }
            None => {}
        }
        let specific = &answer["hookSpecificOutput"];
        if specific["hookEventName"] != *event {
            return Ok(read);
        }
        if let Some(decision) = specific
            .get("permissionDecision")
            .filter(|value| !value.is_null())
        {
            read.decision = Some(match decision.as_str() {
                Some("allow") => Decision::Allow,
                Some("ask") => Decision::Ask,
                Some("defer") => Decision::Defer,
                Some("deny") => Decision::Deny,
                _ => {
                    return Err(MalformedAnswer(format!(
                        "hookSpecificOutput.permissionDecision: invalid value {decision}"
                    )));
                }
            });
            read.reason = text(&specific["permissionDecisionReason"]);
        }
        read.updated_input = specific
            .get("updatedInput")
            .filter(|value| value.is_object())
            .cloned();
        read.additional_context = text(&specific["additionalContext"]);
        Ok(read)
    }
}
