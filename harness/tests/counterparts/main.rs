//! Every check has a deliberately broken counterpart: something broken that, run through the whole
//! harness, turns exactly a listed set of checks red. A check that nothing turns red proves nothing.

mod fixture;

use std::collections::BTreeSet;

use fixture::{Broken, Counterpart};
use harness::checks::CHECKS;

macro_rules! counterparts {
    ($($name:ident: $scenario:literal, $broken:expr => [$($red:literal),* $(,)?];)*) => {
        const ALL: &[Counterpart] =
            &[$(Counterpart { scenario: $scenario, broken: $broken, red: &[$($red),*] }),*];

        $(#[test]
        fn $name() {
            let counterpart = Counterpart { scenario: $scenario, broken: $broken, red: &[$($red),*] };
            let red: BTreeSet<String> = counterpart.red.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(counterpart.observed(), red);
        })*
    };
}

counterparts! {
    an_adapter_that_answers_no_resumed_hook:
        "approval/approved-write", Broken::Adapter("answer-nothing") =>
        ["expect-last-message", "expect-ledger", "expect-requests", "expect-segments", "expect-steps", "expect-tool-calls", "steps-completed"];
    an_adapter_that_allows_the_second_write:
        "parallel/two-writes-one-reply", Broken::Adapter("allow-second-write") =>
        ["effect-after-approval", "expect-ledger", "model-expectation"];
    an_adapter_that_runs_before_the_approval:
        "approval/approved-write", Broken::Adapter("run-before-approval") =>
        ["effect-after-approval", "expect-ledger"];
    an_adapter_that_runs_what_is_rejected:
        "approval/rejected-write", Broken::Adapter("run-before-approval") =>
        ["effect-after-approval", "expect-ledger", "rejected-without-effect"];
    an_adapter_that_alters_arguments:
        "approval/approved-write", Broken::Adapter("alter-arguments") =>
        ["effect-arguments", "expect-ledger"];
    an_adapter_that_repeats_after_a_crash:
        "kill/sigkill-mid-write", Broken::Adapter("repeat-after-crash") =>
        ["expect-ledger", "expect-tool-calls", "model-expectation", "single-attempt-effect"];
    an_adapter_that_runs_twice:
        "approval/approved-write", Broken::Adapter("run-twice") =>
        ["expect-ledger", "single-attempt-effect"];
    an_adapter_with_a_key_for_each_attempt:
        "retry", Broken::Adapter("fresh-key-per-attempt") =>
        ["idempotency-key"];
    an_adapter_that_alters_recorded_texts:
        "approval/approved-write", Broken::Adapter("alter-recorded-text") =>
        ["model-expectation", "record-reaches-model"];
    an_adapter_that_ignores_the_rejection_message:
        "approval/rejected-write", Broken::Adapter("ignore-rejection-message") =>
        ["model-expectation", "record-reaches-model"];
    an_adapter_that_loses_a_message:
        "queue", Broken::Adapter("lose-queued-message") =>
        ["message-answered", "model-exhausted", "user-texts"];
    an_adapter_that_invents_live_text:
        "approval/approved-write", Broken::Adapter("invent-delta") =>
        ["delta-prefix"];
    an_adapter_that_leaves_a_process:
        "approval/approved-write", Broken::Adapter("leave-process") =>
        ["no-process-left"];
    an_adapter_that_leaves_a_file:
        "approval/approved-write", Broken::Adapter("leave-file") =>
        ["nothing-outside"];
    an_adapter_that_defers_twice:
        "parallel/two-writes-one-reply", Broken::Adapter("defer-twice") =>
        ["expect-last-message", "expect-ledger", "expect-requests", "expect-segments", "expect-tool-calls", "one-deferral", "steps-completed"];
    a_cli_that_loses_mirrored_entries:
        "approval/approved-write", Broken::Cli("mirror-loss") =>
        ["expect-last-message", "expect-ledger", "expect-requests", "expect-segments", "expect-steps", "expect-tool-calls", "steps-completed", "transcript"];
    a_request_that_the_model_does_not_answer:
        "approval/approved-write", Broken::Scenario("user: publish the draft", "user: publish another") =>
        ["expect-last-message", "expect-ledger", "expect-requests", "expect-segments", "expect-steps", "expect-tool-calls", "request-answered", "steps-completed"];
    a_key_that_is_not_the_cells:
        "approval/approved-write",
        Broken::Scenario("agent:\n", "agent:\n  options: {env: {ANTHROPIC_API_KEY: another}}\n") =>
        ["expect-last-message", "expect-ledger", "expect-requests", "expect-segments", "expect-steps", "expect-tool-calls", "request-acceptable", "request-route-and-key", "steps-completed"];
    a_request_without_what_is_expected:
        "approval/approved-write",
        Broken::Scenario("equals: published draft", "equals: published nothing") =>
        ["model-expectation"];
    an_exchange_that_nothing_asks_for:
        "approval/approved-write",
        Broken::Scenario("steps:\n", "  - user: never\n    reply: [{text: Never.}]\nsteps:\n") =>
        ["model-exhausted"];
    a_fault_that_meets_nothing:
        "approval/approved-write",
        Broken::Scenario("steps:\n", "faults: [{on: {cli: spawned, nth: 9}, argv: {drop: [--verbose]}}]\nsteps:\n") =>
        ["faults-struck"];
    a_fault_that_changes_nothing:
        "approval/approved-write",
        Broken::Scenario("steps:\n", "faults: [{on: {cli: spawned, nth: 1}, argv: {drop: [--no-such-flag]}}]\nsteps:\n") =>
        ["faults-struck"];
    another_ledger:
        "approval/approved-write", Broken::Scenario("effects: 1", "effects: 2") =>
        ["expect-ledger"];
    other_records:
        "approval/approved-write", Broken::Scenario("outcome: succeeded", "outcome: failed") =>
        ["expect-tool-calls"];
    another_number_of_requests:
        "approval/approved-write", Broken::Scenario("requests: 2", "requests: 3") =>
        ["expect-requests"];
    another_number_of_segments:
        "approval/approved-write", Broken::Scenario("segments: 2", "segments: 1") =>
        ["expect-segments"];
    another_number_of_frames:
        "approval/approved-write",
        Broken::Scenario("expect:\n  ledger", "expect:\n  frames: [{frame: out, type: result, count: 1}]\n  ledger") =>
        ["expect-frames"];
    other_steps:
        "approval/approved-write",
        Broken::Scenario("steps: [RunModel, Await", "steps: [ResumeTurn, Await") =>
        ["expect-steps"];
    another_last_message:
        "approval/approved-write", Broken::Scenario("last_message: It", "last_message: That") =>
        ["expect-last-message"];
    another_turn_error:
        "approval/approved-write",
        Broken::Scenario("expect:\n  ledger", "expect:\n  last_turn_error: {contains: boom}\n  ledger") =>
        ["expect-turn-error"];
    another_status:
        "approval/approved-write",
        Broken::Scenario("expect:\n  ledger", "expect:\n  status: waiting\n  ledger") =>
        ["expect-status"];
}

#[test]
fn every_check_is_turned_red_by_something() {
    let red: BTreeSet<&str> = ALL
        .iter()
        .flat_map(|counterpart| counterpart.red)
        .copied()
        .collect();
    let all: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(
        red, all,
        "checks without a broken counterpart, or red sets that name no check"
    );
}

#[test]
fn nothing_is_red_when_nothing_is_broken() {
    for scenario in ALL
        .iter()
        .map(|counterpart| counterpart.scenario)
        .collect::<BTreeSet<_>>()
    {
        let counterpart = Counterpart {
            scenario,
            broken: Broken::Scenario("title:", "title:"),
            red: &[],
        };
        assert_eq!(
            counterpart.observed(),
            BTreeSet::new(),
            "{scenario} is red on its own"
        );
    }
}

/// What a person sees of a failing cell: which check, what was expected, what was seen, the last events
/// of adapter, CLI and API, and the command that runs it again.
#[test]
fn a_failing_cell_explains_itself() {
    let counterpart = Counterpart {
        scenario: "parallel/two-writes-one-reply",
        broken: Broken::Adapter("allow-second-write"),
        red: &[],
    };
    let (output, exit_code) = counterpart.printed();
    assert_eq!(exit_code, Some(1), "{output}");
    for words in [
        "effect-after-approval",
        "notify had its effect without an approval",
        "an approval of notify {\"person\":\"Ada\"} first",
        "its effect inside the segment, outside any tool Step",
        "adapter effect_done tool=notify",
        "cli     frame direction=in",
        "api     request",
        "cargo run -p harness -- run",
        "broken/scenario",
    ] {
        assert!(output.contains(words), "{words:?} is not in:\n{output}");
    }
}
