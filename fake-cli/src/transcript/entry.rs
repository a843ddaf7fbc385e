//! The shapes of transcript entries.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::clock;

/// What every entry of a process says about it.
#[derive(Debug, Clone)]
pub(crate) struct EntryStamp {
    pub(crate) session_id: Uuid,
    pub(crate) entrypoint: String,
    pub(crate) working_directory: String,
    pub(crate) version: String,
}

impl EntryStamp {
    fn members(&self) -> Value {
        json!({
            "userType": "external",
            "entrypoint": self.entrypoint,
            "cwd": self.working_directory,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": "HEAD",
        })
    }
}

/// Joins objects; members keep the order in which they are given.
fn joined(parts: &[Value]) -> Value {
    let mut whole = Map::new();
    for part in parts.iter().filter_map(Value::as_object) {
        for (name, value) in part {
            whole.insert(name.clone(), value.clone());
        }
    }
    Value::Object(whole)
}

/// A user entry: a prompt, a tool result or an injected text. `before` and `after` hold the members
/// that differ between those, on either side of the common ones.
pub(crate) fn user_entry(
    stamp: &EntryStamp,
    prompt_id: Option<Uuid>,
    content: &Value,
    uuid: Uuid,
    is_meta: bool,
    after: Value,
) -> Value {
    let mut head = json!({"parentUuid": null, "isSidechain": false});
    if let Some(prompt_id) = prompt_id {
        head["promptId"] = json!(prompt_id);
    }
    let mut body = json!({
        "type": "user",
        "message": {"role": "user", "content": content},
    });
    if is_meta {
        body["isMeta"] = json!(true);
    }
    body["uuid"] = json!(uuid);
    body["timestamp"] = json!(clock::timestamp());
    joined(&[head, body, after, stamp.members()])
}

/// One content block of a reply.
pub(crate) fn assistant_entry(
    stamp: &EntryStamp,
    message: Value,
    uuid: Uuid,
    timestamp: &str,
    members: Value,
    effort: Value,
) -> Value {
    joined(&[
        json!({"parentUuid": null, "isSidechain": false, "message": message}),
        members,
        json!({"type": "assistant", "uuid": uuid, "timestamp": timestamp}),
        effort,
        stamp.members(),
    ])
}

/// Something that the program itself has to tell.
pub(crate) fn system_entry(stamp: &EntryStamp, members: Value) -> Value {
    joined(&[
        json!({"parentUuid": null, "isSidechain": false, "type": "system"}),
        members,
        json!({"timestamp": clock::timestamp(), "uuid": Uuid::new_v4()}),
        stamp.members(),
    ])
}

/// Something that happened beside the conversation. `rendered` is what the model is told about it,
/// with the role it is told in.
pub(crate) fn attachment_entry(
    stamp: &EntryStamp,
    attachment: Value,
    rendered: Option<(&str, &str)>,
) -> Value {
    let mut extra = json!({});
    if let Some((role, text)) = rendered {
        let reminder = format!("<system-reminder>\n{text}\n</system-reminder>");
        extra["rendered"] = json!([{"content": reminder}]);
        extra["renderedRole"] = json!(role);
        if role == "user" {
            extra["renderedBesideToolResult"] = json!(true);
        }
    }
    joined(&[
        json!({
            "parentUuid": null,
            "isSidechain": false,
            "attachment": attachment,
            "type": "attachment",
            "uuid": Uuid::new_v4(),
            "timestamp": clock::timestamp(),
        }),
        extra,
        stamp.members(),
    ])
}
