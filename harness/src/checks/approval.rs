//! A person decides: nothing happens before, and nothing else than was shown.

use std::collections::BTreeSet;

use super::table::Finding;
use super::view::{Call, Resolution, View};

pub(super) fn effect_after_approval(view: &View<'_>) -> Vec<Finding> {
    let resolutions = view.resolutions();
    view.effects()
        .iter()
        .filter(|effect| view.needs_approval(&effect.params.tool))
        .filter(|effect| approval_of(effect, &resolutions).is_none())
        .map(|effect| {
            Finding::new(
                format!("{} had its effect without an approval", effect.params.tool),
                format!(
                    "an approval of {} {} first",
                    effect.params.tool, effect.params.arguments
                ),
                match &effect.params.execution {
                    Some(execution) => format!(
                        "its effect for tool use {}, which nobody approved",
                        execution.tool_use_id
                    ),
                    None => "its effect inside the segment, outside any tool Step".to_owned(),
                },
            )
            .at(effect.event.seq)
        })
        .collect()
}

pub(super) fn effect_arguments(view: &View<'_>) -> Vec<Finding> {
    let resolutions = view.resolutions();
    view.effects()
        .iter()
        .filter_map(|effect| {
            let shown = &approval_of(effect, &resolutions)?.interrupt.arguments;
            (*shown != effect.params.arguments).then(|| {
                Finding::new(
                    format!(
                        "{} ran with other arguments than were approved",
                        effect.params.tool
                    ),
                    shown.to_string(),
                    effect.params.arguments.to_string(),
                )
                .at(effect.event.seq)
            })
        })
        .collect()
}

pub(super) fn rejected_without_effect(view: &View<'_>) -> Vec<Finding> {
    let mut answered = BTreeSet::new();
    let rejected: Vec<Resolution> = view
        .resolutions()
        .into_iter()
        // The first answer wins: a later rejection of the same interrupt means nothing.
        .filter(|resolution| answered.insert(resolution.interrupt.interrupt_id.clone()))
        .filter(|resolution| !resolution.approved)
        .collect();
    view.calls()
        .iter()
        .filter(|call| {
            rejected
                .iter()
                .any(|resolution| may_be_of(call, resolution))
        })
        .map(|call| {
            Finding::new(
                format!("{} was called although it was rejected", call.params.tool),
                "no call of the handler",
                format!("a call with {}", call.params.arguments),
            )
            .at(call.event.seq)
        })
        .collect()
}

/// The approval that was given for a call before it happened.
fn approval_of<'a>(call: &Call<'_>, resolutions: &'a [Resolution]) -> Option<&'a Resolution> {
    let earlier = |resolution: &&Resolution| resolution.seq < call.event.seq;
    let first = resolutions
        .iter()
        .filter(earlier)
        .find(|resolution| is_of(call, resolution))?;
    first.approved.then_some(first)
}

fn is_of(call: &Call<'_>, resolution: &Resolution) -> bool {
    let same_use = |execution: &crate::protocol::ToolExecution| {
        execution.tool_use_id == resolution.interrupt.tool_call_id
    };
    call.params.tool == resolution.interrupt.tool
        && call.params.execution.as_ref().is_some_and(same_use)
}

/// Like `is_of`, but a call outside any tool Step counts too, when it is the same in all that is shown.
fn may_be_of(call: &Call<'_>, resolution: &Resolution) -> bool {
    let same_words = call.params.tool == resolution.interrupt.tool
        && call.params.arguments == resolution.interrupt.arguments
        && call.params.execution.is_none();
    same_words || is_of(call, resolution)
}
