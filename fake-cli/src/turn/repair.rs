//! Calls that a dead process left behind.

use serde_json::{Value, json};
use uuid::Uuid;

use super::synthetic_reply::synthetic_message;
use crate::clock;
use crate::permissions::texts;
use crate::session::Session;
use crate::transcript::{assistant_entry, has_tool_result, user_entry};

/// Calls that a dead process left without a result get one that says so, before anything else is
/// said (observed on CLI 2.1.316).
pub(crate) fn repair_dangling_calls(session: &Session) {
    if !session.resumed || session.ledger.borrow().touched {
        return;
    }
    let dangling = session.transcript.read(dangling_calls);
    let unanswered = session.transcript.read(ends_with_user);
    if dangling.is_empty() && !unanswered {
        return;
    }
    for (id, assistant) in dangling {
        let block = json!({
            "type": "tool_result",
            "content": texts::SESSION_ENDED,
            "is_error": true,
            "tool_use_id": id,
        });
        let members = json!({
            "toolUseResult": texts::SESSION_ENDED,
            "toolDenialKind": "interrupted",
            "sourceToolAssistantUUID": assistant,
        });
        let uuid = Uuid::new_v4();
        let entry = user_entry(&session.stamp, None, &json!([block]), uuid, false, members);
        session.transcript.chain_to(Some(&assistant), entry);
    }
    let entry = assistant_entry(
        &session.stamp,
        synthetic_message(texts::NO_RESPONSE),
        Uuid::new_v4(),
        &clock::timestamp(),
        json!({"isApiErrorMessage": false}),
        json!({}),
    );
    session.transcript.chain(entry);
}

/// Whether the user spoke last and got no answer.
fn ends_with_user(entries: &[Value]) -> bool {
    let said = entries
        .iter()
        .rev()
        .find(|entry| entry["type"] == "user" || entry["type"] == "assistant");
    said.is_some_and(|entry| entry["type"] == "user")
}

/// The calls of the last reply that have no result, with their entries; none if a deferral or a
/// prompt came after them.
fn dangling_calls(entries: &[Value]) -> Vec<(String, String)> {
    let last_reply = entries
        .iter()
        .rposition(|entry| entry["type"] == "assistant");
    let Some(last_reply) = last_reply else {
        return Vec::new();
    };
    let message = &entries[last_reply]["message"]["id"];
    entries
        .iter()
        .filter(|entry| entry["type"] == "assistant" && entry["message"]["id"] == *message)
        .flat_map(|entry| {
            let blocks = entry["message"]["content"].as_array().into_iter().flatten();
            blocks.map(move |block| (block, entry))
        })
        .filter(|(block, _)| block["type"] == "tool_use")
        .filter_map(|(block, entry)| {
            let id = block["id"].as_str()?;
            let uuid = entry["uuid"].as_str()?;
            let deferred = entries.iter().any(|entry| {
                let attachment = &entry["attachment"];
                attachment["type"] == "hook_deferred_tool" && attachment["toolUseID"] == *id
            });
            (!deferred && !has_tool_result(entries, id)).then(|| (id.to_owned(), uuid.to_owned()))
        })
        .collect()
}
