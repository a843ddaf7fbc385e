//! Workers that are killed, at the worst moments.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use adapter::{Resolution, Snapshot, StepOutcome, ToolCallOutcome};
use fixture::runner::{Hold, RunnerProcess};
use fixture::{Effect, Fixture, call, text, tool_results};
use serde_json::json;

/// What is left after a worker was killed and another one has finished the turn.
struct Aftermath {
    fixture: Fixture,
    idle: Snapshot,
    effects: Vec<Effect>,
}

impl Aftermath {
    fn outcome(&self) -> ToolCallOutcome {
        assert_eq!(self.idle.tool_calls.len(), 1);
        self.idle.tool_calls[0].outcome
    }

    /// What the model was told of the call.
    fn told(&self) -> String {
        let requests = self.fixture.requests();
        tool_results(requests.last().unwrap()).remove(0)
    }

    fn interruptions(&self) -> usize {
        self.idle
            .steps
            .iter()
            .filter(|step| step.outcome == StepOutcome::Interrupted)
            .count()
    }
}

/// Publishes a draft, with a worker that is killed where it is held and another one after it.
async fn kill_at(effect: &str, hold: Hold) -> Aftermath {
    let fixture = Fixture::new(vec![
        vec![call(
            "toolu_1",
            "mcp__tools__publish",
            json!({"message": "draft"}),
        )],
        vec![text("That is all I know.")],
    ])
    .await;
    let doomed = RunnerProcess::start(&fixture, effect, hold).await;
    fixture
        .client
        .start("session", Some("publish the draft".into()))
        .await
        .unwrap();
    let before_approval = matches!(
        hold,
        Hold::Gate {
            step: "RunModel",
            skip: 0,
            ..
        }
    );
    if !before_approval {
        approve(&fixture).await;
    }
    doomed.held().await;
    doomed.kill().await;
    let heir = RunnerProcess::start(&fixture, effect, Hold::Nothing).await;
    if before_approval {
        approve(&fixture).await;
    }
    let idle = fixture.until_idle().await;
    heir.kill().await;
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(
        idle.messages.last().unwrap().text,
        "That is all I know.",
        "the turn is answered"
    );
    Aftermath {
        effects: fixture.ledger.effects("publish"),
        fixture,
        idle,
    }
}

async fn approve(fixture: &Fixture) {
    let waiting = fixture.until_waiting().await;
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let accepted = fixture
        .client
        .resolve("session", interrupt, Resolution::Approved)
        .await
        .unwrap();
    assert!(accepted);
}

fn gate(step: &'static str, at: &'static str) -> Hold {
    Hold::Gate { step, at, skip: 0 }
}

// covers: kill-single-attempt-write
#[tokio::test]
async fn a_worker_killed_in_a_single_attempt_write_never_repeats_it() {
    let aftermath = kill_at("non_idempotent_write", Hold::ToolReply).await;
    assert_eq!(aftermath.effects.len(), 1);
    assert_eq!(aftermath.outcome(), ToolCallOutcome::OutcomeUnknown);
    assert!(aftermath.told().contains("its outcome is not known"));
    assert_eq!(aftermath.interruptions(), 1);
}

// covers: tool-idempotency-key-stable
#[tokio::test]
async fn an_idempotent_write_is_repeated_under_the_same_key() {
    let aftermath = kill_at("idempotent_write", Hold::ToolReply).await;
    let [first, second] = aftermath.effects.as_slice() else {
        panic!("two attempts were to run: {:?}", aftermath.effects);
    };
    assert_eq!(first.idempotency_key, second.idempotency_key);
    assert!(first.idempotency_key.is_some());
    assert_eq!((first.attempt, second.attempt), (Some(1), Some(2)));
    assert_eq!(aftermath.outcome(), ToolCallOutcome::Succeeded);
}

// covers: kill-single-attempt-write, appr-approve-once
#[tokio::test]
async fn a_single_attempt_write_at_every_commit_boundary() {
    for (at, outcome, effects) in [
        ("before_perform", ToolCallOutcome::Failed, 0),
        ("performed", ToolCallOutcome::OutcomeUnknown, 1),
        ("before_commit", ToolCallOutcome::OutcomeUnknown, 1),
        ("committed", ToolCallOutcome::Succeeded, 1),
    ] {
        let hold = gate("CallSingleAttemptTool", at);
        let aftermath = kill_at("non_idempotent_write", hold).await;
        assert_eq!(aftermath.outcome(), outcome, "{at}");
        assert_eq!(aftermath.effects.len(), effects, "{at}");
        assert_eq!(
            aftermath.told(),
            aftermath.idle.tool_calls[0].output,
            "{at}"
        );
    }
}

#[tokio::test]
async fn an_idempotent_write_at_every_commit_boundary() {
    for (at, effects) in [
        ("before_perform", 1),
        ("performed", 2),
        ("before_commit", 2),
        ("committed", 1),
    ] {
        let aftermath = kill_at("idempotent_write", gate("CallTool", at)).await;
        assert_eq!(aftermath.outcome(), ToolCallOutcome::Succeeded, "{at}");
        assert_eq!(aftermath.effects.len(), effects, "{at}");
    }
}

// covers: kill-run-model, kill-resumed-segment, appr-approve-once
#[tokio::test]
async fn a_segment_at_every_commit_boundary() {
    for at in ["before_perform", "performed", "before_commit", "committed"] {
        for skip in [0, 1] {
            let step = "RunModel";
            let hold = Hold::Gate { step, at, skip };
            if (at, skip) == ("committed", 1) {
                continue; // The session is idle: nothing is left to finish.
            }
            let aftermath = kill_at("non_idempotent_write", hold).await;
            assert_eq!(aftermath.outcome(), ToolCallOutcome::Succeeded, "{hold:?}");
            assert_eq!(aftermath.effects.len(), 1, "{hold:?}");
        }
    }
}

// covers: appr-approve-once
#[tokio::test]
async fn the_way_back_to_the_model_at_every_commit_boundary() {
    for at in ["before_perform", "performed", "before_commit", "committed"] {
        let aftermath = kill_at("non_idempotent_write", gate("ResumeTurn", at)).await;
        assert_eq!(aftermath.outcome(), ToolCallOutcome::Succeeded, "{at}");
        assert_eq!(aftermath.effects.len(), 1, "{at}");
    }
}
