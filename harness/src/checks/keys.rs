//! Idempotency keys, and writes that must not be repeated.

use std::collections::{BTreeMap, BTreeSet};

use super::table::Finding;
use super::view::{Call, View};

pub(super) fn single_attempt_effect(view: &View<'_>) -> Vec<Finding> {
    let mut effects: BTreeMap<String, Vec<Call<'_>>> = BTreeMap::new();
    for effect in view.effects() {
        if let (true, Some(execution)) = (
            view.is_single_attempt(&effect.params.tool),
            &effect.params.execution,
        ) {
            effects
                .entry(execution.idempotency_key.clone())
                .or_default()
                .push(effect);
        }
    }
    effects
        .into_iter()
        .filter_map(|(key, effects)| {
            let second = effects.get(1)?;
            let message = format!(
                "{} had its effect {} times",
                second.params.tool,
                effects.len()
            );
            let seen = format!("{} effects under the key {key}", effects.len());
            Some(Finding::new(message, "at most one effect", seen).at(second.event.seq))
        })
        .collect()
}

pub(super) fn idempotency_key(view: &View<'_>) -> Vec<Finding> {
    let calls: Vec<(u64, String, String, String)> = view
        .calls()
        .into_iter()
        .filter_map(|call| {
            let execution = call.params.execution?;
            Some((
                call.event.seq,
                call.params.tool,
                execution.tool_use_id,
                execution.idempotency_key,
            ))
        })
        .collect();
    let mut keys_of_use: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut uses_of_key: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (seq, tool, tool_use, key) in &calls {
        let keys = keys_of_use.entry(tool_use).or_default();
        keys.insert(key);
        if keys.len() > 1 {
            let message =
                format!("two attempts of one call of {tool} carry different idempotency keys");
            let seen = keys.iter().copied().collect::<Vec<_>>().join(", ");
            findings.push(Finding::new(message, "one key for all attempts", seen).at(*seq));
        }
        let uses = uses_of_key.entry(key).or_default();
        uses.insert(tool_use);
        if uses.len() > 1 {
            let message = format!("two calls share the idempotency key {key}");
            let seen = uses.iter().copied().collect::<Vec<_>>().join(", ");
            findings.push(Finding::new(message, "a key of its own for each call", seen).at(*seq));
        }
    }
    findings
}
