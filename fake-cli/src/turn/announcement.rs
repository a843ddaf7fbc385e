//! What the model is told of its surroundings, and what the transcript keeps of it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::context::note_latch;
use crate::clock;
use crate::session::Session;
use crate::transcript::attachment_entry;

/// Tokens that a turn may add to the conversation, as the model is told.
const TOKEN_BUDGET: u64 = 15_000_000;

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
