//! The transcript as the CLI mirrors it, and the deferrals in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::table::Finding;
use super::view::{View, blocks};
use crate::trace::{Lane, TraceEvent};

pub(super) fn one_deferral(view: &View<'_>) -> Vec<Finding> {
    let mut deferrals: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for event in view
        .of(Lane::Cli, "frame")
        .filter(|event| is_deferral(event))
    {
        deferrals
            .entry(event.spawn.unwrap_or_default())
            .or_default()
            .push(event.seq);
    }
    deferrals
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(spawn, places)| {
            let seen = format!("{} in CLI process {spawn}", places.len());
            Finding::new(
                "a segment deferred more than one call",
                "one deferral",
                seen,
            )
            .at(places[1])
        })
        .collect()
}

fn is_deferral(event: &TraceEvent) -> bool {
    event
        .fields
        .get("direction")
        .is_some_and(|direction| direction == "in")
        && event
            .payload
            .pointer("/response/response/hookSpecificOutput/permissionDecision")
            == Some(&Value::String("defer".to_owned()))
}

/// A transcript entry that has a place in the tree of messages.
struct Entry<'a> {
    seq: u64,
    uuid: &'a str,
    parent: Option<&'a str>,
    session: &'a str,
    value: &'a Value,
}

pub(super) fn sound(view: &View<'_>) -> Vec<Finding> {
    let entries = entries(view);
    let mut findings = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut roots: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &entries {
        if !known.insert(entry.uuid) {
            findings.push(finding(
                "two transcript entries have one uuid",
                "a uuid of its own",
                entry,
            ));
        }
        match entry.parent {
            Some(parent) if !known.contains(parent) => {
                findings.push(finding(
                    "a transcript entry has an unknown parent",
                    "an earlier entry",
                    entry,
                ));
            }
            Some(_) => {}
            None => {
                let count = roots.entry(entry.session).or_default();
                *count += 1;
                if *count > 1 {
                    findings.push(finding("a transcript has a second root", "one root", entry));
                }
            }
        }
    }
    if view.completed() {
        findings.extend(dangling(&entries));
    }
    findings
}

fn finding(message: &str, expected: &str, entry: &Entry<'_>) -> Finding {
    let parent = entry.parent.unwrap_or("none");
    Finding::new(
        message,
        expected,
        format!("entry {} with parent {parent}", entry.uuid),
    )
    .at(entry.seq)
}

/// Tool uses on the way from the root to the last entry that have no result.
fn dangling(entries: &[Entry<'_>]) -> Vec<Finding> {
    let by_uuid: BTreeMap<&str, &Entry<'_>> =
        entries.iter().map(|entry| (entry.uuid, entry)).collect();
    let answered: BTreeSet<String> = entries
        .iter()
        .flat_map(|entry| content(entry.value))
        .filter_map(|block| block.get("tool_use_id")?.as_str().map(str::to_owned))
        .collect();
    let mut findings = Vec::new();
    let mut next = entries.last();
    // Each step goes to an earlier entry, so the way is at most as long as the transcript.
    for _ in 0..entries.len() {
        let Some(entry) = next else { break };
        for block in content(entry.value) {
            let is_use = block.get("type").and_then(Value::as_str) == Some("tool_use");
            let id = block.get("id").and_then(Value::as_str).unwrap_or_default();
            if is_use && !answered.contains(id) {
                let message = "a tool use of the finished conversation has no result";
                findings.push(
                    Finding::new(message, format!("a tool_result of {id}"), "none").at(entry.seq),
                );
            }
        }
        next = entry.parent.and_then(|parent| by_uuid.get(parent).copied());
    }
    findings
}

fn content(entry: &Value) -> Vec<Value> {
    blocks(entry.pointer("/message/content"))
}

/// The mirrored entries of the main conversation, in the order of their frames.
fn entries<'a>(view: &View<'a>) -> Vec<Entry<'a>> {
    view.of(Lane::Cli, "frame")
        .filter(|event| {
            event
                .fields
                .get("type")
                .is_some_and(|name| name == "transcript_mirror")
        })
        .flat_map(|event| {
            let entries = event.payload.get("entries").and_then(Value::as_array);
            entries
                .into_iter()
                .flatten()
                .filter_map(move |value| entry(event.seq, value))
        })
        .collect()
}

fn entry(seq: u64, value: &Value) -> Option<Entry<'_>> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    if value.get("isSidechain").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    Some(Entry {
        seq,
        uuid: text("uuid")?,
        // A compaction boundary starts a new tree and names where it came from.
        parent: text("parentUuid").or_else(|| text("logicalParentUuid")),
        session: text("sessionId").unwrap_or_default(),
        value,
    })
}
