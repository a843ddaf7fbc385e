//! The one list of checks.

use std::sync::Arc;

use super::view::View;
use super::{approval, conversation, expectation, keys, requests, surroundings, transcript};
use crate::cell::{CheckReport, StepFailure};
use crate::scenario::Plan;
use crate::trace::TraceEvent;

/// One check.
#[derive(Debug)]
pub struct Check {
    /// Its id, as in reports, baselines and `harness explain`.
    pub id: &'static str,
    /// The promise it holds, as a sentence.
    pub promise: &'static str,
    /// What it reads, why it matters, and what usually breaks it.
    pub page: &'static str,
    pub(super) find: fn(&View<'_>) -> Vec<Finding>,
}

/// Something that a check found to be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) message: String,
    pub(super) expected: String,
    pub(super) seen: String,
    pub(super) at_seq: Option<u64>,
}

impl Finding {
    pub(super) fn new(
        message: impl Into<String>,
        expected: impl Into<String>,
        seen: impl Into<String>,
    ) -> Self {
        Self {
            message: message.into(),
            expected: expected.into(),
            seen: seen.into(),
            at_seq: None,
        }
    }

    pub(super) fn at(mut self, seq: u64) -> Self {
        self.at_seq = Some(seq);
        self
    }
}

/// What came of one check: the first thing it found, if any.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The check.
    pub id: &'static str,
    /// Whether it held.
    pub passed: bool,
    /// Where in the trace it broke, when it has a place.
    pub at_seq: Option<u64>,
    message: String,
    expected: String,
    seen: String,
}

impl From<Judgement> for CheckReport {
    fn from(judgement: Judgement) -> Self {
        Self {
            id: judgement.id.to_owned(),
            passed: judgement.passed,
            message: judgement.message,
            expected: judgement.expected,
            seen: judgement.seen,
        }
    }
}

/// Holds every check against a trace.
pub(crate) fn judge(
    plan: &Plan,
    events: &[Arc<TraceEvent>],
    failure: Option<&StepFailure>,
) -> Vec<Judgement> {
    let view = View {
        plan,
        events,
        failure,
    };
    CHECKS.iter().map(|check| judge_one(check, &view)).collect()
}

fn judge_one(check: &Check, view: &View<'_>) -> Judgement {
    let mut findings = (check.find)(view).into_iter();
    let Some(first) = findings.next() else {
        let empty = String::new;
        return Judgement {
            id: check.id,
            passed: true,
            at_seq: None,
            message: empty(),
            expected: empty(),
            seen: empty(),
        };
    };
    let more = findings.count();
    let message = if more == 0 {
        first.message
    } else {
        format!("{} (and {more} more)", first.message)
    };
    Judgement {
        id: check.id,
        passed: false,
        at_seq: first.at_seq,
        message,
        expected: first.expected,
        seen: first.seen,
    }
}

/// The check with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|check| check.id == id)
}

/// Every check, in the order of reports.
pub const CHECKS: &[Check] = &[
    Check {
        id: "steps-completed",
        promise: "Every step of the scenario comes about.",
        page: "A step waits for something observed: a session status, an interrupt, a point of the trace. The bound is \
10 s on the fake CLI and 60 s on a real one, times --timeout-scale; it is no pause, only a limit. When a step does not \
come about, look at the last events of the three lanes: the adapter is usually waiting for a frame that the CLI did not \
send, or the CLI for an answer that the adapter does not give.",
        find: expectation::steps_completed,
    },
    Check {
        id: "effect-after-approval",
        promise: "No effect of a call that needs approval comes before its approval.",
        page: "Reads the ledger (a tool's effect is on it the moment it happens) and the answers the harness gave to \
interrupts. Every effect of a tool that waits for a person needs an earlier approval of the same tool use; an effect \
outside a tool Step has none. Broken by an adapter that allows a second write of one reply, that lets a hook error pass, \
or that runs the handler at the deferral.",
        find: approval::effect_after_approval,
    },
    Check {
        id: "effect-arguments",
        promise: "What runs has exactly the arguments that the person was shown.",
        page: "Compares the arguments of each effect with those of the interrupt that was approved. The CLI starts a \
resumed call again from the original input, so an adapter that runs the call inside the resumed CLI, or that takes \
arguments from anywhere but the deferral, shows here.",
        find: approval::effect_arguments,
    },
    Check {
        id: "rejected-without-effect",
        promise: "A rejected call never reaches its handler.",
        page: "No call of a tool use whose interrupt was answered with a rejection may reach the handler, in any \
process, also not after a restart.",
        find: approval::rejected_without_effect,
    },
    Check {
        id: "single-attempt-effect",
        promise: "A write that must not be repeated has at most one effect for each idempotency key.",
        page: "Counts effects by idempotency key for tools with the effect non_idempotent_write or unclassified. A worker \
that died between the effect and its record must lead to outcome_unknown, not to a second attempt.",
        find: keys::single_attempt_effect,
    },
    Check {
        id: "idempotency-key",
        promise: "All attempts of one call carry one idempotency key, different calls different keys.",
        page: "Groups the calls that reached a handler by tool use. A key that changes between attempts makes the remote \
side repeat the write; a key shared by two calls makes it drop the second.",
        find: keys::idempotency_key,
    },
    Check {
        id: "record-reaches-model",
        promise: "The text of a final record reaches the model unchanged.",
        page: "For each final record of a custom tool in the last snapshot, the last answered model request must hold a \
tool_result of that tool use with exactly the recorded text; a call of a failed turn, whose transcript is not \
kept, may stand in a note instead. A prefix such as `PreToolUse:… hook error:` shows that a \
rejection was given by the hook instead of by the tool.",
        find: conversation::record_reaches_model,
    },
    Check {
        id: "user-texts",
        promise: "The last request of a completed turn holds every accepted user text, in order.",
        page: "Compares the texts that were accepted by session/start and session/send with the text blocks of the user \
messages in the last answered model request. A text that is missing was lost at a crash or a failed turn; one that is \
there twice was sent twice.",
        find: conversation::user_texts,
    },
    Check {
        id: "message-answered",
        promise: "Every accepted message ends in an answer or in last_turn_error.",
        page: "When the session is idle at the end, its messages hold every accepted user text, and the last message is \
the model's or last_turn_error says why not.",
        find: conversation::message_answered,
    },
    Check {
        id: "request-answered",
        promise: "Every model request is one that the scenario's model answers.",
        page: "The Messages API answers by what a request carries. A request that no exchange answers gets 403 and shows \
here with the exchanges that came nearest: a prompt sent twice, a lost tool result, an extra model call.",
        find: requests::request_answered,
    },
    Check {
        id: "request-acceptable",
        promise: "Every model request is one that the real API accepts.",
        page: "Orphan or missing tool_results, duplicate tool use ids, empty text blocks and the like are refused as the \
real API refuses them. The history that an adapter rebuilds for a resumed CLI is the usual cause.",
        find: requests::request_acceptable,
    },
    Check {
        id: "request-route-and-key",
        promise: "The CLI asks only the Messages routes, with the cell's dummy key only.",
        page: "Another route, or a key that is not the cell's, means that the adapter did not pass its environment on or \
let the person's own configuration through.",
        find: requests::route_and_key,
    },
    Check {
        id: "model-expectation",
        promise: "Each request carries what the scenario expects at that point.",
        page: "An `expect` of the scenario's model was not met by the request that its exchange answered: a tool result \
with another text, for instance.",
        find: requests::model_expectation,
    },
    Check {
        id: "model-exhausted",
        promise: "Every exchange of the scenario's model is asked for.",
        page: "An exchange that no request chose proves nothing, and neither does what it expects. One that may go unasked \
says `optional: true`. Judged when all steps came about.",
        find: requests::model_exhausted,
    },
    Check {
        id: "faults-struck",
        promise: "Every fault of the scenario strikes.",
        page: "A fault that meets nothing (a frame that is never sent, a flag that is not there) leaves a cell that tests \
nothing: a new release of the CLI may have renamed what the scenario names. Judged when all steps came about.",
        find: surroundings::faults_struck,
    },
    Check {
        id: "one-deferral",
        promise: "A segment defers at most one call.",
        page: "Counts the hook answers `defer` that reach one CLI process. The CLI resumes only the last deferred call of \
a reply and removes the others from the history without a word (observed on CLI 2.1.316), so a second deferral is a lost \
call.",
        find: transcript::one_deferral,
    },
    Check {
        id: "transcript",
        promise: "The mirrored transcript is sound.",
        page: "Reads the transcript entries that the CLI mirrors: uuids are unique, parents are known and earlier, each \
Claude session has one root, and when the session is idle no tool use on the way to the last entry lacks its result.",
        find: transcript::sound,
    },
    Check {
        id: "delta-prefix",
        promise: "Live text is a beginning of the message it belongs to.",
        page: "Joins the text_delta events of one message id and one attempt, and compares them with the message of that \
id that the CLI reported. Deltas of a lost attempt belong to no message and are fine.",
        find: conversation::delta_prefix,
    },
    Check {
        id: "no-process-left",
        promise: "After an orderly shutdown no process of the cell is alive.",
        page: "The cell is a subreaper: whatever the adapter started comes back to it, even from another process group or \
session. Processes on their way out get time to go; what stays was left behind.",
        find: surroundings::no_process_left,
    },
    Check {
        id: "nothing-outside",
        promise: "Nothing is written outside the directories the cell handed out.",
        page: "Looks for new entries beside the cell's own directories.",
        find: surroundings::nothing_outside,
    },
    Check {
        id: "expect-ledger",
        promise: "The ledger shows the effects and calls that the scenario expects.",
        page: "`expect.ledger` by tool: effects done, calls that reached the handler, the arguments of each effect. The \
harness holds the tools, so the ledger survives every kill.",
        find: expectation::ledger,
    },
    Check {
        id: "expect-tool-calls",
        promise: "The final records are the expected ones.",
        page: "`expect.tool_calls` against `tool_calls` of the last snapshot, in order.",
        find: expectation::tool_calls,
    },
    Check {
        id: "expect-requests",
        promise: "The model was asked as often as expected.",
        page: "`expect.requests` against the model requests that the script answered; requests of a CLI whose worker was \
killed are not counted.",
        find: expectation::requests,
    },
    Check {
        id: "expect-segments",
        promise: "As many CLI processes were started as expected.",
        page: "`expect.segments` against the CLI processes that were started; a version probe is none.",
        find: expectation::segments,
    },
    Check {
        id: "expect-frames",
        promise: "The expected frames passed between adapter and CLI.",
        page: "`expect.frames`: how many frames of a kind were seen.",
        find: expectation::frames,
    },
    Check {
        id: "expect-steps",
        promise: "The turn ran the expected Steps.",
        page: "`expect.steps` against the step types of the last snapshot, in order.",
        find: expectation::steps,
    },
    Check {
        id: "expect-last-message",
        promise: "The last message is the expected one.",
        page: "`expect.last_message` against the last message of the last snapshot.",
        find: expectation::last_message,
    },
    Check {
        id: "expect-turn-error",
        promise: "The last turn ended as expected.",
        page: "`expect.last_turn_error` against the last snapshot.",
        find: expectation::turn_error,
    },
    Check {
        id: "expect-status",
        promise: "The session ends in the expected status.",
        page: "`expect.status` against the last snapshot.",
        find: expectation::status,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_found() {
        let ids: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), CHECKS.len());
        assert!(
            CHECKS
                .iter()
                .all(|check| find(check.id).is_some_and(|found| found.promise == check.promise))
        );
    }
}
