//! Reading the host's answer to `can_use_tool`.

use serde_json::{Value, json};

use super::{Denial, DenialKind, texts};
use crate::control::HostError;

/// What the host decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HostVerdict {
    Allow {
        updated_input: Option<Value>,
        updated_permissions: Value,
    },
    Deny(Denial),
}

/// Reads an answer; whatever is not one of the two documented forms refuses the call.
pub(crate) fn read_host_verdict(
    answer: Result<Value, HostError>,
    asked_by_hook: bool,
) -> HostVerdict {
    let deny = |text: String, kind| HostVerdict::Deny(Denial { text, kind });
    let answer = match answer {
        Ok(answer) => answer,
        Err(HostError::InputClosed) => {
            return deny(
                texts::PERMISSION_STREAM_CLOSED.to_owned(),
                DenialKind::HostError,
            );
        }
        Err(HostError::Refused(message)) => {
            let text = format!("Tool permission request failed: Error: {message}");
            return deny(text, DenialKind::HostError);
        }
    };
    match (answer["behavior"].as_str(), answer["message"].as_str()) {
        (Some("allow"), _) => HostVerdict::Allow {
            updated_input: Some(answer["updatedInput"].clone()).filter(Value::is_object),
            updated_permissions: answer
                .get("updatedPermissions")
                .cloned()
                .unwrap_or_else(|| json!([])),
        },
        (Some("deny"), Some(message)) if answer["interrupt"] == Value::Bool(true) => {
            let (text, kind) = if asked_by_hook {
                (message, DenialKind::HostInterruptForHook)
            } else {
                (texts::REJECTED, DenialKind::HostInterrupt)
            };
            deny(text.to_owned(), kind)
        }
        (Some("deny"), Some(message)) if asked_by_hook => {
            deny(message.to_owned(), DenialKind::HostForHook)
        }
        (Some("deny"), Some(message)) => deny(message.to_owned(), DenialKind::Host),
        _ => deny(
            texts::INVALID_PERMISSION_RESULT.to_owned(),
            DenialKind::HostError,
        ),
    }
}
