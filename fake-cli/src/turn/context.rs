//! What surrounds the user's words: notes in the transcript.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::clock;
use crate::frames;
use crate::permissions::texts;
use crate::session::Session;
use crate::transcript::{attachment_entry, system_entry, user_entry};

/// A prompt comes or goes.
pub(crate) fn queue_operation(session: &Session, operation: &str, content: Option<&str>) {
    let mut entry = json!({
        "type": "queue-operation",
        "operation": operation,
        "timestamp": clock::timestamp(),
        "sessionId": session.id,
    });
    if let Some(content) = content {
        entry["content"] = json!(content);
    }
    session.transcript.note(entry);
}

/// A prompt has come; `words` if it is plain words. The note waits while a deferred call is still to be taken up, and
/// while the entries of a reply that is complete are still to be written (observed on CLI 2.1.316).
pub(crate) fn note_prompt(session: &Session, words: Option<&str>) {
    if let Some(early) = session.early_prompts.borrow_mut().as_mut() {
        early.push(words.map(str::to_owned));
        return;
    }
    queue_operation(session, "enqueue", words);
}

/// The deferred call is taken up.
pub(crate) fn note_continuation(session: &Session) {
    queue_operation(session, "enqueue", Some(texts::CONTINUE));
    release_prompts(session);
    queue_operation(session, "dequeue", None);
}

/// Prompts that come from now on are noted later.
pub(crate) fn hold_prompts(session: &Session) {
    session.early_prompts.borrow_mut().get_or_insert_default();
}

/// Notes what has come meanwhile.
pub(crate) fn release_prompts(session: &Session) {
    for words in session.early_prompts.take().into_iter().flatten() {
        queue_operation(session, "enqueue", words.as_deref());
    }
}

/// Writes the user's words.
pub(crate) fn write_prompt(
    session: &Session,
    prompt_id: Uuid,
    uuid: Uuid,
    content: &Value,
    index: u64,
) {
    let members = json!({
        "permissionMode": session.mode.get().as_str(),
        "promptSource": "sdk",
        "turnOrigin": "sdk",
        "turnPosition": {"promptIndex": 0, "turnIndex": index},
    });
    let entry = user_entry(
        &session.stamp,
        Some(prompt_id),
        content,
        uuid,
        false,
        members,
    );
    session.transcript.chain(entry);
}

/// Writes the words that continue a resumed call.
pub(crate) fn write_continuation(session: &Session, prompt_id: Uuid, uuid: Uuid, index: u64) {
    let members = json!({
        "permissionMode": session.mode.get().as_str(),
        "promptSource": "system",
        "turnOrigin": "system",
        "turnPosition": {"promptIndex": 0, "turnIndex": index},
    });
    let words = json!(texts::CONTINUE);
    let entry = user_entry(&session.stamp, Some(prompt_id), &words, uuid, true, members);
    session.transcript.chain(entry);
}

/// A Stop hook made the model go on.
pub(crate) fn stop_hook_objected(session: &Session, question: &str, reason: &str) {
    let attachment = json!({
        "type": "hook_blocking_error",
        "hookName": "Stop:Callback",
        "toolUseID": question,
        "hookEvent": "Stop",
        "blockingError": {"blockingError": reason, "command": "callback"},
    });
    let told = format!("Stop:Callback hook blocking error from command: \"callback\": {reason}");
    let entry = attachment_entry(&session.stamp, attachment, Some(("system", &told)));
    session.transcript.chain(entry);
}

/// Sums up what the Stop hooks said; `question` is the id under which they were asked.
pub(crate) fn summarise_stop_hooks(
    session: &Session,
    question: &str,
    hooks: usize,
    objection: Option<&str>,
) {
    let errors: Vec<&str> = objection.into_iter().collect();
    let members = json!({
        "subtype": "stop_hook_summary",
        "hookCount": hooks,
        "hookInfos": vec![json!({"command": "callback"}); hooks],
        "hookErrors": errors,
        "hookAdditionalContext": [],
        "preventedContinuation": false,
        "stopReason": "",
        "hasOutput": objection.is_some(),
        "level": "suggestion",
        "toolUseID": question,
    });
    session
        .transcript
        .chain(system_entry(&session.stamp, members));
}

/// Tells the person something, on the screen and in the transcript.
pub(crate) fn inform(session: &Session, text: &str) {
    let frame = frames::informational(session, text);
    let members = json!({
        "subtype": "informational",
        "content": text,
        "isMeta": false,
        "level": "notice",
    });
    let mut entry = system_entry(&session.stamp, members);
    entry["uuid"] = frame["uuid"].clone();
    session.output.frame(&frame);
    session.transcript.chain(entry);
}

/// Prompts that came while the turn ran become part of it (observed on CLI 2.1.316).
pub(crate) fn absorb_queued_prompts(session: &Session) {
    let absorbed: Vec<_> = session
        .prompts
        .take()
        .into_iter()
        .map(|prompt| {
            (
                prompt.uuid,
                Uuid::new_v4(),
                super::run::text_of(&prompt.content),
            )
        })
        .collect();
    for (uuid, delivery, text) in &absorbed {
        let attachment = json!({
            "type": "queued_command",
            "prompt": text,
            "source_uuid": uuid,
            "delivery_id": delivery,
            "commandMode": "prompt",
            "timestamp": clock::timestamp(),
        });
        let told = format!("The user sent a new message while you were working:\n{text}");
        let entry = attachment_entry(&session.stamp, attachment, Some(("system", &told)));
        session.transcript.chain(entry);
    }
    for (uuid, delivery, text) in absorbed {
        session.transcript.note(json!({
            "type": "queue-operation",
            "operation": "remove",
            "timestamp": clock::timestamp(),
            "sessionId": session.id,
            "content": text,
            "reason": "absorbed_mid_turn",
            "commandUuid": uuid,
            "deliveryId": delivery,
        }));
    }
}

/// Notes the latest prompt and the end of the chain.
pub(crate) fn note_progress(session: &Session) {
    let leaf = session.transcript.leaf();
    let (prompt, latched) = {
        let mut ledger = session.ledger.borrow_mut();
        ledger.touched = true;
        let latched = std::mem::replace(&mut ledger.progress_noted, true);
        (ledger.last_prompt.clone(), latched)
    };
    session.transcript.note(json!({
        "type": "last-prompt",
        "lastPrompt": prompt,
        "leafUuid": leaf,
        "sessionId": session.id,
    }));
    if !latched {
        note_latch(session);
    }
}

pub(super) fn note_latch(session: &Session) {
    session
        .transcript
        .note(json!({"type": "atis-latch", "atis": "", "sessionId": session.id}));
}

/// The turn has come to its limit.
pub(crate) fn note_limit(session: &Session, limit: u64, turns: u64) {
    let attachment = json!({
        "type": "max_turns_reached",
        "maxTurns": limit,
        "turnCount": turns,
        "exitCommitted": false,
    });
    let entry = attachment_entry(&session.stamp, attachment, None);
    session.transcript.chain(entry);
}

/// A resumed session notes its mode.
pub(crate) fn note_mode(session: &Session) {
    let noted = {
        let mut ledger = session.ledger.borrow_mut();
        // A fork repeats it at its end.
        std::mem::replace(&mut ledger.mode_noted, true) && !ledger.forked
    };
    if session.resumed && !noted {
        session
            .transcript
            .note(json!({"type": "mode", "mode": "normal", "sessionId": session.id}));
    }
}
