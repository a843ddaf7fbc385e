//! Turns that are cancelled, cut off, stopped or made to wait.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use std::time::Duration;

use adapter::{
    ClaudeAgent, Resolution, RetryPolicy, SessionStatus, StepOutcome, ToolEffect, ToolPolicy,
    Worker,
};
use fixture::{Fixture, call, published, text};
use serde_json::json;

async fn silent_model() -> (Fixture, ClaudeAgent) {
    let fixture = Fixture::new(vec![vec![]]).await;
    let agent = fixture.agent().build().unwrap();
    (fixture, agent)
}

async fn start(fixture: &Fixture, message: &str) {
    fixture
        .client
        .start("session", Some(message.into()))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_cancelled_turn_is_over_at_once_and_its_cli_ends() {
    let (fixture, agent) = silent_model().await;
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "say nothing").await;
    fixture.until_requested().await;
    assert!(fixture.client.cancel("session").await.unwrap());
    let snapshot = fixture.client.snapshot("session").await.unwrap();
    assert_eq!(snapshot.status, SessionStatus::Idle);
    assert_eq!(
        snapshot.last_turn_error.as_deref(),
        Some("the turn was cancelled")
    );
    assert_eq!(snapshot.steps[0].outcome, StepOutcome::Interrupted);
    assert!(!fixture.client.cancel("session").await.unwrap());
    // The stop waits for the CLI's end.
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_stopped_worker_gives_its_segment_back_unspent() {
    let (fixture, agent) = silent_model().await;
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "say nothing").await;
    fixture.until_requested().await;
    worker.stop().await.unwrap();
    let snapshot = fixture.client.snapshot("session").await.unwrap();
    assert_eq!(snapshot.status, SessionStatus::Running);
    assert_eq!(snapshot.steps, []);

    let worker = Worker::builder(&fixture.engine, &agent).start();
    fixture.until_requested().await;
    assert!(fixture.client.cancel("session").await.unwrap());
    let snapshot = fixture.client.snapshot("session").await.unwrap();
    assert_eq!(snapshot.steps[0].attempt, 1);
    worker.stop().await.unwrap();
}

// covers: lim-run-model-timeout, fail-note
#[tokio::test]
async fn a_segment_that_takes_too_long_fails() {
    let fixture = Fixture::new(vec![vec![]]).await;
    let agent = fixture
        .agent()
        .retry(RetryPolicy {
            max_attempts: 1,
            first_backoff: Duration::ZERO,
        })
        .run_model_timeout(Duration::from_millis(1500))
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "say nothing").await;
    let idle = fixture.until_idle().await;
    let error = idle.last_turn_error.unwrap();
    assert!(
        error.contains("failed to run the segment within"),
        "{error}"
    );
    assert_eq!(idle.messages.len(), 1, "no note without a record");
    worker.stop().await.unwrap();
}

// covers: sess-send-message
#[tokio::test]
async fn a_message_sent_during_a_turn_starts_the_next_one() {
    let fixture = Fixture::new(vec![
        vec![call(
            "toolu_1",
            "mcp__tools__publish",
            json!({"message": "draft"}),
        )],
        vec![text("The first is done.")],
        vec![text("The second is done.")],
    ])
    .await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy(
            "publish",
            ToolPolicy::new(ToolEffect::IdempotentWrite).requires_approval(),
        )
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "first").await;
    let waiting = fixture.until_waiting().await;
    for (text, accepted) in [("second", true), (" \u{2003}\n", false)] {
        let sent = fixture.client.send("session", text.into()).await.unwrap();
        assert_eq!(sent, accepted, "{text:?}");
    }
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    fixture
        .client
        .resolve("session", interrupt, Resolution::Approved)
        .await
        .unwrap();
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    let texts: Vec<&str> = idle
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "first",
            "",
            "published draft",
            "The first is done.",
            "second",
            "The second is done."
        ]
    );
    worker.stop().await.unwrap();
}
