//! What has to hold in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use adapter::{MessageRole, Snapshot, ToolCallOutcome};
use serde_json::Value;

use crate::Failure;
use crate::load::{Load, is_approved};
use crate::tools::{Effect, ledger_path};

/// The beginning of a turn-failure note.
const NOTE: &str = "[Dex]";

#[derive(Default)]
struct Figures {
    messages: usize,
    steps: BTreeMap<&'static str, usize>,
    outcomes: BTreeMap<&'static str, usize>,
    notes: usize,
    effects: usize,
}

/// Checks all sessions and prints figures; what is amiss is returned.
pub(crate) async fn check(load: &Load, directory: &Path) -> Result<Vec<String>, Failure> {
    let mut amiss = Vec::new();
    let mut figures = Figures::default();
    let mut records = Records::default();
    for (session, sent) in &load.sent {
        let snapshot = load.client.snapshot(session).await?;
        figures.add(&snapshot, sent.len());
        records.add(&snapshot);
        amiss.extend(lost_messages(&snapshot, sent));
        let exported = serde_json::to_value(load.client.export(session).await?)?;
        amiss.extend(broken_transcript(session, &exported));
    }
    let ledger = std::fs::read_to_string(ledger_path(directory)).unwrap_or_default();
    let effects: Vec<Effect> = ledger
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    figures.effects = effects.len();
    amiss.extend(records.contradictions(&effects));
    amiss.extend(leftovers(directory)?);
    figures.print(load.sent.len());
    Ok(amiss)
}

impl Figures {
    fn add(&mut self, snapshot: &Snapshot, sent: usize) {
        self.messages += sent;
        for step in &snapshot.steps {
            *self.steps.entry(step.outcome.as_str()).or_default() += 1;
        }
        for call in &snapshot.tool_calls {
            *self.outcomes.entry(call.outcome.as_str()).or_default() += 1;
        }
        let notes = snapshot.messages.iter();
        self.notes += notes.filter(|it| it.text.starts_with(NOTE)).count();
    }

    fn print(&self, sessions: usize) {
        println!("sessions        {sessions}");
        println!("messages        {}", self.messages);
        println!("attempts        {:?}", self.steps);
        println!("tool calls      {:?}", self.outcomes);
        println!("handler runs    {}", self.effects);
        println!("failure notes   {}", self.notes);
    }
}

/// Every accepted message is stored once, in its order.
fn lost_messages(snapshot: &Snapshot, sent: &[String]) -> Option<String> {
    let stored: Vec<&str> = snapshot
        .messages
        .iter()
        .filter(|message| message.role == MessageRole::User && !message.text.starts_with(NOTE))
        .map(|message| message.text.as_str())
        .collect();
    (stored != sent).then(|| format!("{}: sent {sent:?}, has {stored:?}", snapshot.session_id))
}

/// Uuids are unique, parents earlier, and every tool use has its result.
fn broken_transcript(session: &str, exported: &Value) -> Vec<String> {
    let mut amiss = Vec::new();
    let mut known = BTreeSet::new();
    let mut open = BTreeSet::new();
    let messages = exported["messages"].as_array().into_iter().flatten();
    let entries = messages.flat_map(|it| it["framework_item"]["entries"].as_array());
    for entry in entries.flatten() {
        if let Some(parent) = entry["parentUuid"].as_str()
            && !known.contains(parent)
        {
            amiss.push(format!("{session}: the parent {parent} is not known"));
        }
        if let Some(uuid) = entry["uuid"].as_str()
            && !known.insert(uuid)
        {
            amiss.push(format!("{session}: the entry {uuid} is there twice"));
        }
        let blocks = entry["message"]["content"].as_array();
        for block in blocks.into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => open.extend(block["id"].as_str()),
                Some("tool_result") => {
                    open.remove(block["tool_use_id"].as_str().unwrap_or_default());
                }
                _ => {}
            }
        }
    }
    amiss.extend(
        open.iter()
            .map(|id| format!("{session}: {id} has no result")),
    );
    amiss
}

/// Final records, counted by tool, item and outcome.
#[derive(Default)]
struct Records(BTreeMap<(String, String), BTreeMap<&'static str, usize>>);

impl Records {
    fn add(&mut self, snapshot: &Snapshot) {
        for call in &snapshot.tool_calls {
            let item = call.arguments["item"].as_str().unwrap_or_default();
            let outcomes = self.0.entry((call.tool.clone(), item.to_owned()));
            *outcomes
                .or_default()
                .entry(call.outcome.as_str())
                .or_default() += 1;
        }
    }

    fn contradictions(&self, effects: &[Effect]) -> Vec<String> {
        let mut amiss = Vec::new();
        let mut runs_by_key: BTreeMap<&str, (&Effect, usize)> = BTreeMap::new();
        let mut keys: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
        for effect in effects {
            let Some(key) = effect.key.as_deref() else {
                continue;
            };
            let known = runs_by_key.entry(key).or_insert((effect, 0));
            known.1 += 1;
            if (&known.0.tool, &known.0.item) != (&effect.tool, &effect.item) {
                amiss.push(format!("the key {key} belongs to two calls"));
            }
            let call = (effect.tool.clone(), effect.item.clone());
            keys.entry(call).or_default().insert(key);
        }
        for (key, (effect, runs)) in runs_by_key {
            if effect.tool != "store" && runs > 1 {
                amiss.push(format!("{} ran {runs} times under {key}", effect.tool));
            }
            if effect.tool == "publish" && !is_approved(&effect.item) {
                amiss.push(format!("publish ran for {}, was rejected", effect.item));
            }
        }
        let calls: BTreeSet<_> = self.0.keys().chain(keys.keys()).collect();
        for call in calls {
            let ran = keys.get(call).map_or(0, BTreeSet::len);
            let outcomes = self.0.get(call).cloned().unwrap_or_default();
            let number = |it: ToolCallOutcome| outcomes.get(it.as_str()).copied().unwrap_or(0);
            let succeeded = number(ToolCallOutcome::Succeeded);
            let unknown = number(ToolCallOutcome::OutcomeUnknown);
            if ran < succeeded || ran > succeeded + unknown {
                amiss.push(format!("{call:?} took effect {ran} times: {outcomes:?}"));
            }
        }
        amiss
    }
}

/// Processes and scratch files that outlived the workers.
fn leftovers(directory: &Path) -> Result<Vec<String>, Failure> {
    let mut amiss = Vec::new();
    for entry in std::fs::read_dir(directory.join("state/workers"))? {
        amiss.push(format!("{} is left", entry?.path().display()));
    }
    let home = directory.join("home");
    let home = home.as_os_str().as_encoded_bytes();
    for entry in std::fs::read_dir("/proc")? {
        let path = entry?.path();
        // Most of them are gone by now or somebody else's.
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        if environment.windows(home.len()).any(|part| part == home) {
            amiss.push(format!("the process {} is left", path.display()));
        }
    }
    Ok(amiss)
}
