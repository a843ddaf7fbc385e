//! What the scenario itself expects.

use serde_json::Value;

use super::table::Finding;
use super::view::View;
use crate::protocol::{Snapshot, ToolCallRecord};
use crate::scenario::{ExpectedLedger, ExpectedToolCall, ExpectedTurnError};
use crate::trace::Lane;

pub(super) fn steps_completed(view: &View<'_>) -> Vec<Finding> {
    let failure = view.failure.map(|failure| {
        Finding::new(
            format!("the step in line {} did not come about", failure.line),
            failure.expected.clone(),
            failure.seen.clone(),
        )
    });
    failure.into_iter().collect()
}

pub(super) fn ledger(view: &View<'_>) -> Vec<Finding> {
    view.plan
        .expect
        .ledger
        .iter()
        .flat_map(|(tool, expected)| ledger_of(view, tool, expected))
        .collect()
}

fn ledger_of(view: &View<'_>, tool: &str, expected: &ExpectedLedger) -> Vec<Finding> {
    let arguments: Vec<Value> = view
        .effects()
        .into_iter()
        .filter(|effect| effect.params.tool == tool)
        .map(|effect| effect.params.arguments)
        .collect();
    let calls = view
        .calls()
        .iter()
        .filter(|call| call.params.tool == tool)
        .count();
    let counted = |what: &str, expected: Option<usize>, seen: usize| {
        expected
            .filter(|expected| *expected != seen)
            .map(|expected| {
                Finding::new(
                    format!("{tool} has another number of {what} on the ledger"),
                    count(expected, what),
                    count(seen, what),
                )
            })
    };
    let other_arguments = expected
        .arguments
        .as_ref()
        .filter(|expected| **expected != arguments)
        .map(|expected| {
            let message = format!("{tool} had effects with other arguments");
            Finding::new(
                message,
                Value::from(expected.clone()).to_string(),
                Value::from(arguments.clone()).to_string(),
            )
        });
    [
        counted("effects", expected.effects, arguments.len()),
        counted("calls", expected.calls, calls),
        other_arguments,
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}")
}

pub(super) fn tool_calls(view: &View<'_>) -> Vec<Finding> {
    let Some(expected) = &view.plan.expect.tool_calls else {
        return Vec::new();
    };
    let seen = snapshot(view)
        .map(|snapshot| snapshot.tool_calls)
        .unwrap_or_default();
    let all_fit = expected.len() == seen.len()
        && expected
            .iter()
            .zip(&seen)
            .all(|(expected, seen)| fits(expected, seen));
    if all_fit {
        return Vec::new();
    }
    let expected: Vec<String> = expected.iter().map(show_expected).collect();
    let seen: Vec<String> = seen.iter().map(show_record).collect();
    vec![Finding::new(
        "the final records are others than expected",
        expected.join("; "),
        list(&seen),
    )]
}

fn fits(expected: &ExpectedToolCall, seen: &ToolCallRecord) -> bool {
    expected.tool == seen.tool
        && expected.outcome == seen.outcome
        && expected
            .output
            .as_ref()
            .is_none_or(|output| *output == seen.output)
        && expected
            .arguments
            .as_ref()
            .is_none_or(|arguments| *arguments == seen.arguments)
}

fn show_expected(expected: &ExpectedToolCall) -> String {
    let output = expected
        .output
        .as_ref()
        .map_or_else(String::new, |output| format!(": {output:?}"));
    format!("{} {:?}{output}", expected.tool, expected.outcome)
}

fn show_record(record: &ToolCallRecord) -> String {
    format!("{} {:?}: {:?}", record.tool, record.outcome, record.output)
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join("; ")
    }
}

pub(super) fn requests(view: &View<'_>) -> Vec<Finding> {
    let answered = view.answered_requests();
    let seen = answered.len();
    different_count(
        view.plan.expect.requests,
        seen,
        "answered model requests",
        answered.last().map(|last| last.event.seq),
    )
}

pub(super) fn segments(view: &View<'_>) -> Vec<Finding> {
    let spawned: Vec<u64> = view
        .of(Lane::Cli, "spawned")
        .map(|event| event.seq)
        .collect();
    different_count(
        view.plan.expect.segments,
        spawned.len(),
        "CLI processes",
        spawned.last().copied(),
    )
}

fn different_count(
    expected: Option<usize>,
    seen: usize,
    what: &str,
    place: Option<u64>,
) -> Vec<Finding> {
    let finding = expected
        .filter(|expected| *expected != seen)
        .map(|expected| {
            let finding = Finding::new(
                format!("another number of {what}"),
                count(expected, what),
                count(seen, what),
            );
            place.map_or(finding.clone(), |place| finding.at(place))
        });
    finding.into_iter().collect()
}

pub(super) fn frames(view: &View<'_>) -> Vec<Finding> {
    let count_of = |expected: &crate::scenario::ExpectedFrames| {
        view.events
            .iter()
            .filter(|event| expected.point.matches(event))
            .count()
    };
    view.plan
        .expect
        .frames
        .iter()
        .map(|expected| (expected, count_of(expected)))
        .filter(|(expected, seen)| expected.count != *seen)
        .map(|(expected, seen)| {
            let message = format!(
                "line {}: another number of frames: {}",
                expected.line, expected.point
            );
            Finding::new(
                message,
                count(expected.count, "frames"),
                count(seen, "frames"),
            )
        })
        .collect()
}

pub(super) fn steps(view: &View<'_>) -> Vec<Finding> {
    let Some(expected) = &view.plan.expect.steps else {
        return Vec::new();
    };
    let seen: Vec<String> = snapshot(view)
        .map(|snapshot| snapshot.steps)
        .unwrap_or_default()
        .into_iter()
        .map(|step| step.step_type)
        .collect();
    if *expected == seen {
        return Vec::new();
    }
    vec![Finding::new(
        "the turn ran other Steps",
        expected.join(", "),
        list(&seen),
    )]
}

pub(super) fn last_message(view: &View<'_>) -> Vec<Finding> {
    let Some(expected) = &view.plan.expect.last_message else {
        return Vec::new();
    };
    let seen = snapshot(view)
        .and_then(|snapshot| snapshot.messages.into_iter().last())
        .map(|message| message.text);
    if seen.as_ref() == Some(expected) {
        return Vec::new();
    }
    let seen = seen.map_or_else(|| "no message".to_owned(), |seen| format!("{seen:?}"));
    vec![Finding::new(
        "the last message is another",
        format!("{expected:?}"),
        seen,
    )]
}

pub(super) fn turn_error(view: &View<'_>) -> Vec<Finding> {
    let Some(expected) = &view.plan.expect.last_turn_error else {
        return Vec::new();
    };
    let seen = snapshot(view).and_then(|snapshot| snapshot.last_turn_error);
    let (fits, words) = match expected {
        ExpectedTurnError::None => (seen.is_none(), "no error".to_owned()),
        ExpectedTurnError::Contains(text) => (
            seen.as_ref().is_some_and(|seen| seen.contains(text)),
            format!("an error that contains {text:?}"),
        ),
    };
    if fits {
        return Vec::new();
    }
    vec![Finding::new(
        "the last turn ended otherwise",
        words,
        seen.unwrap_or_else(|| "no error".to_owned()),
    )]
}

pub(super) fn status(view: &View<'_>) -> Vec<Finding> {
    let Some(expected) = view.plan.expect.status else {
        return Vec::new();
    };
    let seen = snapshot(view).map(|snapshot| snapshot.status);
    if seen == Some(expected) {
        return Vec::new();
    }
    vec![Finding::new(
        "the session ends in another status",
        format!("{expected:?}"),
        format!("{seen:?}"),
    )]
}

fn snapshot(view: &View<'_>) -> Option<Snapshot> {
    view.last_snapshot()
}
