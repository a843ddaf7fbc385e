//! PreToolUse: all hooks of a call are asked at once, and their answers become one verdict.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

use super::{Decision, HookAnswer, RegisteredHook};
use crate::control::{Host, HostError};

/// What the hooks of one call say together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// No hook decided, or none was asked.
    None,
    Allow {
        reason: Option<String>,
    },
    Ask {
        reason: Option<String>,
    },
    Defer,
    Deny {
        reason: Option<String>,
    },
    /// A hook did not answer in its time: the call is refused in every mode.
    TimedOut,
    /// The host closed its side while a hook was pending.
    InputClosed,
}

/// The hooks' part in one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PreToolUse {
    pub(crate) verdict: Verdict,
    /// The input that replaces the original one, unless the call is deferred by a hook that also
    /// decided: see [`combine`].
    pub(crate) updated_input: Option<Value>,
    pub(crate) additional_contexts: Vec<String>,
    pub(crate) system_messages: Vec<String>,
    /// How many hooks answered, in whatever way.
    pub(crate) answered: usize,
}

/// Asks every hook and combines their answers in the order they arrive.
pub(crate) async fn ask_pre_tool_use(
    host: &Host,
    hooks: &[RegisteredHook],
    input: &Value,
    tool_use_id: &str,
) -> PreToolUse {
    let mut pending: FuturesUnordered<_> = hooks
        .iter()
        .map(|hook| ask_one(host, hook, input, tool_use_id))
        .collect();
    let mut answers = Vec::new();
    let mut failure = None;
    let mut unreadable = 0;
    while let Some(answer) = pending.next().await {
        match answer {
            Ok(answer) => answers.push(answer),
            Err(Failure::Answered) => unreadable += 1,
            Err(Failure::TimedOut) => failure = failure.or(Some(Verdict::TimedOut)),
            Err(Failure::InputClosed) => failure = failure.or(Some(Verdict::InputClosed)),
        }
    }
    let mut combined = combine(answers);
    combined.answered += unreadable;
    if let Some(failure) = failure
        && !matches!(combined.verdict, Verdict::Deny { .. })
    {
        combined.verdict = failure;
    }
    combined
}

enum Failure {
    /// An error or a malformed answer: reported on stderr, decides nothing.
    Answered,
    TimedOut,
    InputClosed,
}

async fn ask_one(
    host: &Host,
    hook: &RegisteredHook,
    input: &Value,
    tool_use_id: &str,
) -> Result<HookAnswer, Failure> {
    let request = host.ask(json!({
        "subtype": "hook_callback",
        "callback_id": hook.callback_id,
        "input": input,
        "tool_use_id": tool_use_id,
    }));
    let answer = match hook.timeout {
        Some(timeout) => tokio::time::timeout(timeout, request)
            .await
            .map_err(|_| Failure::TimedOut)?,
        None => request.await,
    };
    let answer = answer.map_err(|error| match error {
        HostError::InputClosed => Failure::InputClosed,
        HostError::Refused(message) => {
            eprintln!("Error in hook callback {}: {message}", hook.callback_id);
            Failure::Answered
        }
    })?;
    HookAnswer::read("PreToolUse", &answer).map_err(|error| {
        eprintln!("Error in hook callback {}: {error}", hook.callback_id);
        Failure::Answered
    })
}

/// Combines answers, given in order of arrival: deny over defer over ask over allow over none; the
/// later of two equals wins (observed on CLI 2.1.316).
///
/// An updated input counts only when it came with the decision that won or with no decision at all.
pub(super) fn combine(answers: Vec<HookAnswer>) -> PreToolUse {
    let rank = |decision: Decision| match decision {
        Decision::Allow => 1,
        Decision::Ask => 2,
        Decision::Defer => 3,
        Decision::Deny => 4,
    };
    let winner = answers
        .iter()
        .filter(|answer| answer.decision.is_some())
        .max_by_key(|answer| answer.decision.map_or(0, rank));
    let decision = winner.and_then(|answer| answer.decision);
    let reason = winner.and_then(|answer| answer.reason.clone());
    let verdict = match decision {
        None => Verdict::None,
        Some(Decision::Allow) => Verdict::Allow { reason },
        Some(Decision::Ask) => Verdict::Ask { reason },
        Some(Decision::Defer) => Verdict::Defer,
        Some(Decision::Deny) => Verdict::Deny { reason },
    };
    let updated_input = answers
        .iter()
        .rev()
        .filter(|answer| match answer.decision {
            None => true,
            Some(Decision::Defer) => false,
            own => own == decision,
        })
        .find_map(|answer| answer.updated_input.clone());
    PreToolUse {
        verdict,
        updated_input,
        additional_contexts: answers
            .iter()
            .filter_map(|answer| answer.additional_context.clone())
            .collect(),
        system_messages: answers
            .iter()
            .filter_map(|answer| answer.system_message.clone())
            .collect(),
        answered: answers.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(decision: Option<Decision>, updated: Option<&str>) -> HookAnswer {
        HookAnswer {
            decision,
            reason: decision.map(|decision| format!("{decision:?}")),
            updated_input: updated.map(|text| json!({"order": text})),
            ..HookAnswer::default()
        }
    }

    #[test]
    fn precedence_does_not_depend_on_order() {
        let ladder = [
            None,
            Some(Decision::Allow),
            Some(Decision::Ask),
            Some(Decision::Defer),
            Some(Decision::Deny),
        ];
        for (low, weaker) in ladder.iter().enumerate() {
            for stronger in &ladder[low..] {
                let one = combine(vec![answer(*weaker, None), answer(*stronger, None)]);
                let other = combine(vec![answer(*stronger, None), answer(*weaker, None)]);
                assert_eq!(one.verdict, other.verdict);
                assert_eq!(one.verdict, combine(vec![answer(*stronger, None)]).verdict);
            }
        }
    }

    #[test]
    fn an_input_that_came_with_defer_is_ignored() {
        let combined = combine(vec![answer(Some(Decision::Defer), Some("changed"))]);
        assert_eq!(combined.updated_input, None);
    }

    #[test]
    fn an_undecided_hook_changes_the_deferred_input() {
        let combined = combine(vec![
            answer(None, Some("changed")),
            answer(Some(Decision::Defer), None),
        ]);
        assert_eq!(combined.verdict, Verdict::Defer);
        assert_eq!(combined.updated_input, Some(json!({"order": "changed"})));
    }

    #[test]
    fn an_input_from_a_hook_that_lost_is_ignored() {
        for loser in [Decision::Allow, Decision::Ask] {
            let combined = combine(vec![
                answer(Some(loser), Some("changed")),
                answer(Some(Decision::Defer), None),
            ]);
            assert_eq!(combined.updated_input, None);
        }
    }

    #[test]
    fn the_later_of_two_inputs_wins() {
        let combined = combine(vec![
            answer(Some(Decision::Allow), Some("first")),
            answer(Some(Decision::Allow), Some("second")),
        ]);
        assert_eq!(combined.updated_input, Some(json!({"order": "second"})));
    }
}
