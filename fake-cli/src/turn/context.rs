//! What surrounds the user's words: reminders for the model, notes in the transcript.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::clock;
use crate::frames;
use crate::permissions::texts;
use crate::session::Session;
use crate::transcript::{
    assistant_entry, attachment_entry, has_tool_result, system_entry, user_entry,
};

use super::result::synthetic_message;

/// Tokens that a turn may add to the conversation, as the model is told.
const TOKEN_BUDGET: u64 = 15_000_000;

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

/// A prompt has come; `words` if it is plain words. While a deferred call is still to be taken up, the note waits
/// (observed on CLI 2.1.316).
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
    for words in session.early_prompts.take().into_iter().flatten() {
        queue_operation(session, "enqueue", words.as_deref());
    }
    queue_operation(session, "dequeue", None);
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

/// Tells the model where it is; once a session, later only how many tokens are left.
/// `contexts` is what hooks want the model to know with the prompt.
pub(crate) fn announce(session: &Session, contexts: &[String]) {
    let add_contexts = || {
        for text in contexts {
            additional_context(session, "UserPromptSubmit", text);
        }
    };
    let announced = session.transcript.read(last_environment);
    if announced.is_some() {
        if announced.as_deref() != Some(session.stamp.working_directory.as_str()) {
            announce_environment(session, announced.as_deref());
        }
        remind_of_tokens(session, 0);
        add_contexts();
        return;
    }
    let stamp = &session.stamp;
    let chain = |attachment: Value, rendered: Option<(&str, &str)>| {
        session
            .transcript
            .chain(attachment_entry(stamp, attachment, rendered));
    };
    announce_environment(session, None);
    let model = session.model.borrow().name.clone();
    let identity = format!("Model: {model}");
    chain(
        json!({
            "type": "model",
            "identity": {
                "modelId": model,
                "marketingName": session.model.borrow().marketing_name(),
                "knowledgeCutoff": "unknown",
            },
            "text": identity,
        }),
        Some(("system", &identity)),
    );
    remind_of_tokens(session, 0);
    add_contexts();
    note_latch(session);
    chain(json!({"type": "session_context", "context": {}}), None);
    let date = clock::date();
    let today = format!("Today's date is {date}.");
    chain(
        json!({"type": "date", "date": date}),
        Some(("system", &today)),
    );
    if crate::tools::find(session, "Bash").is_some() {
        let change = json!({
            "type": "remote_session_change",
            "url": null,
            "commit": "",
            "pr": "",
            "sendUserFileHint": false,
            "managedCommit": false,
            "managedPr": false,
        });
        chain(change, Some(("user", "Commits need no attribution.")));
    }
    chain(prompt_snapshot(session), None);
}

/// `before` is the working directory that the model was told of earlier.
fn announce_environment(session: &Session, before: Option<&str>) {
    let directory = &session.stamp.working_directory;
    let place = format!("# Environment\nWorking directory: {directory}");
    let mut attachment = json!({
        "type": "environment",
        "snapshot": {
            "workingDirectory": directory,
            "isWorktree": false,
            "isGitRepo": false,
            "additionalWorkingDirectories": session.arguments.additional_directories,
            "platform": std::env::consts::OS,
            "shell": session.environment.shell_name(),
            "osVersion": operating_system(),
        },
    });
    if let Some(before) = before {
        attachment["changes"] = json!([{"field": "workingDirectory", "from": before}]);
    }
    let entry = attachment_entry(&session.stamp, attachment, Some(("system", &place)));
    session.transcript.chain(entry);
}

/// The working directory that the model was told of last.
fn last_environment(entries: &[Value]) -> Option<String> {
    let told = |entry: &&Value| entry["attachment"]["type"] == "environment";
    let latest = entries.iter().rev().find(told)?;
    let directory = &latest["attachment"]["snapshot"]["workingDirectory"];
    Some(directory.as_str().unwrap_or_default().to_owned())
}

/// The application's part of the system prompt.
fn prompt_parts(session: &Session) -> Vec<String> {
    session.system_prompt.borrow().clone()
}

fn tool_snapshots(session: &Session) -> Vec<Value> {
    let snapshot = |tool: Value| {
        let mut snapshot = json!({"name": tool["name"], "description": tool["description"]});
        let name = tool["name"].as_str().unwrap_or_default();
        if let Some(known) = session.mcp.tool(name) {
            snapshot["server"] = json!(known.server);
        }
        snapshot["schema"] = tool;
        snapshot
    };
    crate::tools::definitions(session)
        .into_iter()
        .map(snapshot)
        .collect()
}

fn operating_system() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}

fn prompt_snapshot(session: &Session) -> Value {
    json!({
        "type": "prompt_snapshot",
        "systemPrompt": prompt_parts(session),
        "reminderFold": false,
        "echoWireToolInputs": false,
        "contextRendering": "announced",
    })
}

/// Records the prompt's surroundings once more after the first reply of a session.
pub(crate) fn snapshot_prompt(session: &Session) {
    let taken = session.transcript.read(|entries| {
        entries
            .iter()
            .any(|entry| entry["attachment"].get("cliPrefix").is_some())
    });
    if taken {
        return;
    }
    let snapshot = json!({
        "type": "prompt_snapshot",
        "systemPrompt": prompt_parts(session),
        "tools": tool_snapshots(session),
        "cliPrefix": "",
        "reminderFold": false,
        "echoWireToolInputs": false,
        "contextRendering": "announced",
    });
    let mut snapshot = snapshot;
    let model = session.model.borrow();
    if model.system_turns() {
        snapshot["systemTurns"] = json!(true);
        if model.takes_tool_changes() {
            snapshot["toolChangeHeader"] = json!(true);
            snapshot["inlineTools"] = json!(false);
        }
        snapshot["keptReminders"] = json!(false);
    }
    let entry = attachment_entry(&session.stamp, snapshot, None);
    session.transcript.chain(entry);
}

/// Tells the model how many tokens are left to the turn.
pub(crate) fn remind_of_tokens(session: &Session, used: u64) {
    if session.model.borrow().takes_tool_changes() {
        return;
    }
    let left = TOKEN_BUDGET.saturating_sub(used);
    let text = format!("<total_tokens>{left} tokens left</total_tokens>");
    let attachment = json!({"type": "total_tokens_reminder", "text": text});
    let entry = attachment_entry(&session.stamp, attachment, Some(("system", &text)));
    session.transcript.chain(entry);
}

/// What a hook wants the model to know.
fn additional_context(session: &Session, event: &str, text: &str) {
    let attachment = json!({
        "type": "hook_additional_context",
        "content": [text],
        "hookName": event,
        "toolUseID": format!("hook-{}", Uuid::new_v4()),
        "hookEvent": event,
    });
    let told = format!("{event} hook additional context: {text}");
    let entry = attachment_entry(&session.stamp, attachment, Some(("system", &told)));
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

fn note_latch(session: &Session) {
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
