//! What the CLI asked the Messages API.

use std::collections::BTreeSet;

use serde_json::Value;

use super::table::Finding;
use super::view::View;
use crate::trace::{Lane, TraceEvent};

pub(super) fn request_answered(view: &View<'_>) -> Vec<Finding> {
    with_outcome(
        view,
        "unanswered",
        "a model request that the scenario's model does not answer",
        "one of its exchanges",
    )
}

pub(super) fn request_acceptable(view: &View<'_>) -> Vec<Finding> {
    with_outcome(
        view,
        "rejected",
        "a model request that the real API refuses",
        "a request it accepts",
    )
}

fn with_outcome(view: &View<'_>, outcome: &str, message: &str, expected: &str) -> Vec<Finding> {
    view.of(Lane::Api, "journalled")
        .filter(|entry| {
            entry
                .fields
                .get("outcome")
                .is_some_and(|found| found == outcome)
        })
        .map(|entry| {
            let words = entry
                .payload
                .pointer("/outcome/message")
                .and_then(Value::as_str)
                .unwrap_or("no message");
            Finding::new(message, expected, words).at(arrival(view, entry))
        })
        .collect()
}

pub(super) fn route_and_key(view: &View<'_>) -> Vec<Finding> {
    view.of(Lane::Api, "journalled")
        .filter_map(|entry| {
            let text = |pointer: &str| {
                entry
                    .payload
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let asked = format!("{} {}", text("/method"), text("/path"));
            let key = entry.payload.pointer("/headers").and_then(|headers| {
                headers
                    .get("x-api-key")
                    .or_else(|| headers.get("authorization"))
                    .and_then(Value::as_str)
            });
            let (message, expected, seen) = if !is_messages_route(text("/path")) {
                (
                    "a request outside the Messages routes",
                    "/v1/messages",
                    asked,
                )
            } else if !key.is_some_and(is_expected_key) {
                (
                    "a request without the cell's key",
                    "the dummy key of the cell",
                    key.unwrap_or("no key").to_owned(),
                )
            } else {
                return None;
            };
            Some(Finding::new(message, expected, seen).at(arrival(view, entry)))
        })
        .collect()
}

/// The journal replaces a key by whether it is the expected one.
fn is_expected_key(masked: &str) -> bool {
    masked == "[expected key]"
}

fn is_messages_route(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    ["/v1/messages", "/v1/messages/count_tokens"]
        .iter()
        .any(|route| path.ends_with(route))
        || path.contains("/v1/models")
}

pub(super) fn model_expectation(view: &View<'_>) -> Vec<Finding> {
    view.of(Lane::Api, "journalled")
        .flat_map(|entry| {
            let failed = entry
                .payload
                .get("failed_expectations")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            failed
                .into_iter()
                .map(move |words| (entry, words.as_str().unwrap_or_default().to_owned()))
        })
        .map(|(entry, words)| {
            let (expected, seen) = words.split_once("; ").unwrap_or((&words, ""));
            Finding::new(
                "a request does not carry what the scenario expects",
                expected,
                seen,
            )
            .at(arrival(view, entry))
        })
        .collect()
}

pub(super) fn model_exhausted(view: &View<'_>) -> Vec<Finding> {
    if view.failure.is_some() {
        return Vec::new();
    }
    let asked: BTreeSet<u64> = view
        .of(Lane::Api, "journalled")
        .filter_map(|entry| entry.payload.pointer("/outcome/exchange")?.as_u64())
        .collect();
    let exchanges = view.plan.model.script().exchanges().iter().zip(1..);
    exchanges
        .filter(|(exchange, number)| !exchange.optional && !asked.contains(number))
        .map(|(_, number)| {
            let expected = format!("a request that exchange {number} of the model answers");
            Finding::new(
                "an exchange of the scenario's model was never asked for",
                expected,
                "none",
            )
        })
        .collect()
}

/// Where in the trace the journalled request arrived.
fn arrival(view: &View<'_>, journalled: &TraceEvent) -> u64 {
    let number = journalled.fields.get("number");
    view.events
        .iter()
        .find(|event| {
            event.lane == Lane::Api
                && event.kind.ends_with("request")
                && event.fields.get("number") == number
        })
        .map_or(journalled.seq, |event| event.seq)
}
