//! Choosing the exchange that answers a request, by what the request carries.

use crate::{
    identity::{ReplyIdentity, ReplyTrace},
    request::History,
    script::{Exchange, Reply, RequestCondition, Script, TextMatch},
};

/// The exchange that answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Choice {
    /// Position in the script, from 0.
    pub(crate) exchange: usize,
    /// How often the history holds the exchange's reply already.
    pub(crate) occurrence: usize,
}

/// Chooses the exchange, or says which came nearest and why none answers.
pub(crate) fn choose(script: &Script, history: &History<'_>) -> Result<Choice, String> {
    let by_user = || candidates(script, |index| matches_user(script, index, history));
    let following = || candidates(script, |index| follows(script, index, history));
    // A resumed deferral ends in a tool result and a continuation text, which no script would name: what follows
    // the reply comes first there.
    let classes = if history.last_tool_results().next().is_some() {
        [following(), by_user()]
    } else {
        [by_user(), following()]
    };
    classes
        .into_iter()
        .map(|class| narrowed(script, class, history))
        .find(|class| !class.is_empty())
        .and_then(|class| prefer_unanswered(script, &class, history))
        .ok_or_else(|| explain_no_choice(script, history))
}

fn candidates(script: &Script, is_candidate: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..script.exchanges.len())
        .filter(|index| is_candidate(*index))
        .collect()
}

fn narrowed(script: &Script, class: Vec<usize>, history: &History<'_>) -> Vec<usize> {
    class
        .into_iter()
        .filter(|index| condition_failure(&script.exchanges[*index].when, history).is_none())
        .collect()
}

/// Takes the first exchange whose reply the history does not hold yet, so that the same words of the user can be
/// scripted twice; when it holds them all, the first.
fn prefer_unanswered(script: &Script, class: &[usize], history: &History<'_>) -> Option<Choice> {
    let choices = class.iter().map(|exchange| Choice {
        exchange: *exchange,
        occurrence: occurrences(script, *exchange, history),
    });
    choices
        .clone()
        .find(|choice| choice.occurrence == 0)
        .or_else(|| choices.clone().next())
}

fn occurrences(script: &Script, exchange: usize, history: &History<'_>) -> usize {
    let traces = traces(script, exchange);
    history
        .assistant_turns()
        .filter(|turn| traces.iter().any(|trace| trace.is_in(turn)))
        .count()
}

fn traces(script: &Script, exchange: usize) -> Vec<ReplyTrace> {
    script.exchanges[exchange]
        .reply
        .iter()
        .enumerate()
        .map(|(attempt, reply)| ReplyTrace::new(ReplyIdentity::new(exchange, attempt, 0), reply))
        .collect()
}

fn matches_user(script: &Script, index: usize, history: &History<'_>) -> bool {
    match (&script.exchanges[index].user, history.last_user_text()) {
        (Some(expected), Some(text)) => expected.accepts(text),
        _ => false,
    }
}

fn follows(script: &Script, index: usize, history: &History<'_>) -> bool {
    if script.exchanges[index].user.is_some() {
        return false;
    }
    let Some(previous) = index.checked_sub(1) else {
        return false;
    };
    traces(script, previous)
        .iter()
        .any(|trace| trace.ends(history))
}

fn condition_failure(condition: &RequestCondition, history: &History<'_>) -> Option<String> {
    let text = |what: &str, expected: &Option<TextMatch>, actual: &str| {
        expected
            .as_ref()
            .filter(|expected| !expected.accepts(actual))
            .map(|expected| format!("it wants {what} {expected}, not {actual:?}"))
    };
    let flag = |what: &str, expected: Option<bool>, actual: bool| {
        expected
            .filter(|expected| *expected != actual)
            .map(|expected| format!("it wants `{what}: {expected}`"))
    };
    text("the model", &condition.model, history.model())
        .or_else(|| text("the system prompt", &condition.system, &history.system()))
        .or_else(|| flag("stream", condition.stream, history.asks_for_stream()))
        .or_else(|| {
            flag(
                "has_tools",
                condition.has_tools,
                history.tools().next().is_some(),
            )
        })
}

const NEAREST: usize = 3;

fn explain_no_choice(script: &Script, history: &History<'_>) -> String {
    let what = match history.last_user_text() {
        Some(text) => format!("the last user text {:?}", shortened(text)),
        None => "the last user turn, which has no text".to_owned(),
    };
    if script.exchanges.is_empty() {
        return format!("no exchange of the script answers {what}: the script is empty");
    }
    let mut reasons: Vec<_> = (0..script.exchanges.len())
        .map(|index| (nearness(script, index, history), index))
        .collect();
    reasons.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let nearest: Vec<_> = reasons
        .into_iter()
        .take(NEAREST)
        .map(|(_, index)| format!("exchange {} {}", index + 1, why_not(script, index, history)))
        .collect();
    format!(
        "no exchange of the script answers {what}; nearest: {}",
        nearest.join("; ")
    )
}

fn nearness(script: &Script, index: usize, history: &History<'_>) -> f64 {
    let text = history.last_user_text().unwrap_or_default();
    match &script.exchanges[index].user {
        Some(expected) if expected.accepts(text) => 1.0,
        Some(expected) => {
            // The comparison takes time and room by the product of both lengths.
            strsim::normalized_damerau_levenshtein(&shortened(expected.source()), &shortened(text))
        }
        None if follows(script, index, history) => 1.0,
        None => 0.1,
    }
}

fn why_not(script: &Script, index: usize, history: &History<'_>) -> String {
    let exchange: &Exchange = &script.exchanges[index];
    let is_candidate = matches_user(script, index, history) || follows(script, index, history);
    if let Some(failure) = condition_failure(&exchange.when, history).filter(|_| is_candidate) {
        return format!("would, but {failure}");
    }
    match &exchange.user {
        Some(expected) => format!("wants {expected}"),
        None if index == 0 => "follows nothing, since it is the first and has no `user`".to_owned(),
        None => format!(
            "follows exchange {index}, whose reply does not end the history{}",
            ids_hint(script, index - 1)
        ),
    }
}

fn ids_hint(script: &Script, exchange: usize) -> String {
    let ids: Vec<_> = traces(script, exchange)
        .into_iter()
        .flat_map(|trace| trace.into_tool_use_ids())
        .collect();
    if ids.is_empty() {
        String::new()
    } else {
        format!(" (its tool use ids: {})", ids.join(", "))
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 120;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

/// Whether a reply leaves something in a history by which a later request can be recognised.
pub(crate) fn can_be_followed(reply: &Reply) -> bool {
    !ReplyTrace::new(ReplyIdentity::new(0, 0, 0), reply).is_empty()
}

#[cfg(test)]
mod tests;
