//! Writing down how a call ended: the user frame, the transcript entry, the attachments.

mod shape;

use serde_json::{Value, json};
use uuid::Uuid;

use shape::{OwnDenial, Shape};

use super::call::{Call, Ending, Settled};
use crate::clock;
use crate::frames;
use crate::permissions::DenialKind;
use crate::session::Session;
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
