//! Checking a request against what a script expects of it.

use serde_json::Value;

use super::history::{History, text_of, tool_is_called, without_trailing_reminder};
use crate::script::{RequestExpectation, TextMatch, ToolResultExpectation};

/// One line for each part of the expectation that the request does not meet.
pub(crate) fn failed_expectations(
    expectation: &RequestExpectation,
    history: &History<'_>,
) -> Vec<String> {
    let system = history.system();
    let texts = [
        (
            "the last user text",
            &expectation.user,
            history.last_user_text().unwrap_or_default(),
        ),
        ("the system prompt", &expectation.system, &system),
        ("the model", &expectation.model, history.model()),
    ]
    .into_iter()
    .filter_map(|(what, expected, actual)| failed_text(what, expected.as_ref()?, actual));

    texts
        .chain(failed_tools(expectation, history))
        .chain(failed_stream(expectation.stream, history.asks_for_stream()))
        .chain(failed_count(expectation.tool_result_count, history))
        .chain(
            expectation
                .tool_result
                .iter()
                .filter_map(|expected| failed_tool_result(expected, history)),
        )
        .collect()
}

fn failed_text(what: &str, expected: &TextMatch, actual: &str) -> Option<String> {
    (!expected.accepts(actual)).then(|| format!("{what} should be {expected}, but is {actual:?}"))
}

fn failed_tools(expectation: &RequestExpectation, history: &History<'_>) -> Vec<String> {
    let offered = |tool: &str| history.tools().any(|name| tool_is_called(name, tool));
    let missing = expectation
        .tools
        .iter()
        .flatten()
        .filter(|tool| !offered(tool));
    let surplus = expectation
        .no_tools
        .iter()
        .flatten()
        .filter(|tool| offered(tool));
    let all = || history.tools().collect::<Vec<_>>().join(", ");
    missing
        .map(|tool| {
            format!(
                "the tool `{tool}` should be offered, but the tools are [{}]",
                all()
            )
        })
        .chain(surplus.map(|tool| {
            format!(
                "the tool `{tool}` should not be offered, but the tools are [{}]",
                all()
            )
        }))
        .collect()
}

fn failed_stream(expected: Option<bool>, actual: bool) -> Option<String> {
    (expected? != actual).then(|| format!("`stream` should be {}, but is {actual}", !actual))
}

fn failed_count(expected: Option<usize>, history: &History<'_>) -> Option<String> {
    let (expected, actual) = (expected?, history.last_tool_results().count());
    (expected != actual).then(|| {
        format!("the last user turn should hold {expected} tool results, but holds {actual}")
    })
}

fn failed_tool_result(expected: &ToolResultExpectation, history: &History<'_>) -> Option<String> {
    let answers_expected_call = |id: &str| match &expected.of {
        None => true,
        Some(of) => {
            id == of
                || history
                    .called_tool(id)
                    .is_some_and(|name| tool_is_called(name, of))
        }
    };
    let name = match &expected.of {
        Some(of) => format!("the tool result of `{of}`"),
        None => "a tool result".to_owned(),
    };
    let candidates: Vec<_> = history
        .last_tool_results()
        .filter(|(id, _)| answers_expected_call(id))
        .collect();
    if candidates.is_empty() {
        return Some(format!(
            "{name} should be in the last user turn, but is not"
        ));
    }
    let failures: Vec<_> = candidates
        .iter()
        .map(|(_, block)| failed_result_parts(expected, block))
        .collect();
    if failures.iter().any(Vec::is_empty) {
        return None;
    }
    let failures: Vec<_> = failures.iter().map(|parts| parts.join(" and ")).collect();
    Some(format!("{name} differs: {}", failures.join("; or ")))
}

fn failed_result_parts(expected: &ToolResultExpectation, block: &Value) -> Vec<String> {
    let text = text_of(&block["content"]);
    let is_error = block["is_error"].as_bool().unwrap_or_default();
    [
        expected.equals.clone().map(TextMatch::Equals),
        expected.contains.clone().map(TextMatch::Contains),
        expected.matches.clone().map(TextMatch::Matches),
    ]
    .into_iter()
    .flatten()
    .filter(|expected| !expected.accepts(without_trailing_reminder(&text)))
    .filter_map(|expected| failed_text("its text", &expected, &text))
    .chain(
        expected
            .is_error
            .filter(|expected| *expected != is_error)
            .map(|expected| format!("its `is_error` should be {expected}, but is {is_error}")),
    )
    .collect()
}
