//! What the model was told, and what the person is told.

use std::collections::BTreeMap;

use serde_json::Value;

use super::table::Finding;
use super::view::{Request, View, text_of};
use crate::protocol::{MessageRole, ToolCallRecord};
use crate::trace::{Lane, TraceEvent};

pub(super) fn record_reaches_model(view: &View<'_>) -> Vec<Finding> {
    let (Some(snapshot), true) = (view.last_snapshot(), view.completed()) else {
        return Vec::new();
    };
    let requests = view.answered_requests();
    let Some(last) = requests.last() else {
        return Vec::new();
    };
    let accepted = accepted_texts(view);
    snapshot
        .tool_calls
        .iter()
        .filter(|record| view.tool(&record.tool).is_some())
        .filter_map(|record| {
            let told = last.tool_result(&record.tool_call_id);
            let is_told = match &told {
                Some(told) => *told == record.output,
                None => is_in_a_note(last, record, &accepted),
            };
            (!is_told).then(|| {
                Finding::new(
                    format!(
                        "the model was not told what is recorded for {}",
                        record.tool
                    ),
                    format!("the tool result {:?}", record.output),
                    told.map_or_else(|| "no tool result".to_owned(), |told| format!("{told:?}")),
                )
                .at(last.event.seq)
            })
        })
        .collect()
}

/// Whether a text of the user side tells of the call: so the model learns what a failed turn has done, whose
/// transcript is not kept. What the person wrote is no note, whatever it mentions.
fn is_in_a_note(request: &Request<'_>, record: &ToolCallRecord, accepted: &[String]) -> bool {
    let texts = request.user_texts().into_iter();
    let mut notes = texts.filter(|text| !accepted.contains(text));
    notes.any(|text| text.contains(&record.tool) && text.contains(&record.output))
}

/// The user texts that the adapter accepted, in order.
fn accepted_texts(view: &View<'_>) -> Vec<String> {
    let asked = view.of(Lane::Runner, "sent").filter_map(|event| {
        let text = |name: &str| {
            event
                .payload
                .get(name)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        match event.fields.get("method").map(String::as_str) {
            Some("session/start") => text("message").map(|text| (event.seq, text)),
            Some("session/send") => text("text").map(|text| (event.seq, text)),
            _ => None,
        }
    });
    asked
        .filter(|(seq, _)| was_accepted(view, *seq))
        .map(|(_, text)| text)
        .collect()
}

/// Whether the first answer after `seq` took the message; `session/start` answers nothing else.
fn was_accepted(view: &View<'_>, seq: u64) -> bool {
    let answered = |event: &&TraceEvent| {
        event.seq > seq
            && event
                .fields
                .get("method")
                .is_some_and(|method| method == "session/start" || method == "session/send")
    };
    view.of(Lane::Runner, "answered")
        .find(answered)
        .is_some_and(|event| event.payload.get("accepted").and_then(Value::as_bool) != Some(false))
}

pub(super) fn user_texts(view: &View<'_>) -> Vec<Finding> {
    let accepted = accepted_texts(view);
    let requests = view.answered_requests();
    let (Some(last), true) = (requests.last(), view.completed()) else {
        return Vec::new();
    };
    // Reminders and notes stand between the person's texts; only those that were accepted count.
    let told: Vec<String> = last
        .user_texts()
        .into_iter()
        .filter(|text| accepted.contains(text))
        .collect();
    if told == accepted {
        return Vec::new();
    }
    let message = "the last request does not hold the person's texts as they were accepted";
    vec![Finding::new(message, format!("{accepted:?}"), format!("{told:?}")).at(last.event.seq)]
}

pub(super) fn message_answered(view: &View<'_>) -> Vec<Finding> {
    let Some(snapshot) = view.last_snapshot() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let stored: Vec<&str> = snapshot
        .messages
        .iter()
        .filter(|message| message.role == MessageRole::User)
        .map(|message| &*message.text)
        .collect();
    let lost: Vec<String> = accepted_texts(view)
        .into_iter()
        .filter(|text| !stored.contains(&&**text))
        .collect();
    if !lost.is_empty() {
        findings.push(Finding::new(
            "accepted messages are not in the session",
            format!("{lost:?}"),
            format!("{stored:?}"),
        ));
    }
    let open = snapshot
        .messages
        .last()
        .is_some_and(|message| message.role != MessageRole::Assistant);
    if view.completed() && open {
        let seen = snapshot
            .messages
            .last()
            .map_or_else(String::new, |message| format!("{:?}", message.text));
        findings.push(Finding::new(
            "the session is idle without an answer",
            "a message of the model last",
            seen,
        ));
    }
    findings
}

pub(super) fn delta_prefix(view: &View<'_>) -> Vec<Finding> {
    let messages = committed_messages(view);
    let mut live: BTreeMap<(String, String), (String, u64)> = BTreeMap::new();
    for event in view.of(Lane::Runner, "event") {
        let text = |pointer: &str| {
            event
                .payload
                .pointer(pointer)
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        let delta = event.payload.pointer("/data/text").and_then(Value::as_str);
        let message = event
            .payload
            .pointer("/data/message_id")
            .and_then(Value::as_str);
        if let (Some("text_delta"), Some(delta), Some(message)) = (
            event.fields.get("event").map(String::as_str),
            delta,
            message,
        ) {
            let attempt = format!("{} {}", text("/step_execution_id"), text("/attempt"));
            let entry = live.entry((message.to_owned(), attempt)).or_default();
            entry.0.push_str(delta);
            entry.1 = event.seq;
        }
    }
    live.into_iter()
        .filter_map(|((message, _), (joined, seq))| {
            let whole = messages.get(&message)?;
            (!whole.starts_with(&joined)).then(|| {
                let words = format!("the live text of {message} is no beginning of it");
                Finding::new(
                    words,
                    format!("a beginning of {whole:?}"),
                    format!("{joined:?}"),
                )
                .at(seq)
            })
        })
        .collect()
}

/// The text of each assistant message that a CLI reported, by message id.
fn committed_messages(view: &View<'_>) -> BTreeMap<String, String> {
    let mut by_spawn: BTreeMap<(usize, String), String> = BTreeMap::new();
    for event in view
        .of(Lane::Cli, "frame")
        .filter(|event| is_assistant(event))
    {
        let id = event
            .payload
            .pointer("/message/id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let text = text_of(event.payload.pointer("/message/content"));
        by_spawn
            .entry((event.spawn.unwrap_or_default(), id.to_owned()))
            .or_default()
            .push_str(&text);
    }
    by_spawn
        .into_iter()
        .map(|((_, id), text)| (id, text))
        .collect()
}

fn is_assistant(event: &TraceEvent) -> bool {
    let field =
        |name: &str, value: &str| event.fields.get(name).is_some_and(|found| found == value);
    field("direction", "out") && field("type", "assistant")
}
