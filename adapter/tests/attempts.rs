//! What differs between the attempts of a segment, and what must not.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use adapter::{
    ClaudeAgent, ClaudeAgentOptions, LiveEvent, OptionsContext, PermissionMode, Resolution,
    SessionEvent, ToolCallOutcome, ToolEffect, ToolPolicy, Worker,
};
use fixture::runner::{Hold, RunnerProcess};
use fixture::{Fixture, LIMIT, call, published, real_cli, text};
use serde_json::json;
use tokio::sync::broadcast::Receiver;

const PUBLISH: &str = "mcp__tools__publish";

async fn start(fixture: &Fixture, message: &str) {
    let message = Some(message.to_owned());
    fixture.client.start("session", message).await.unwrap();
}

/// The next piece of live text.
async fn next_text(events: &mut Receiver<LiveEvent>) -> LiveEvent {
    loop {
        let event = tokio::time::timeout(LIMIT, events.recv()).await;
        let event = event.expect("no more live text").unwrap();
        if matches!(event.event, SessionEvent::TextDelta { .. }) {
            return event;
        }
    }
}

// covers: evt-grouping
#[tokio::test]
async fn the_live_text_of_a_repeated_segment_has_a_higher_attempt_of_the_same_step() {
    let fixture = Fixture::new(vec![vec![text("Hello there.")]]).await;
    let mut events = fixture.client.events().await.unwrap();
    let hold = Hold::Gate {
        step: "RunModel",
        at: "performed",
        skip: 0,
    };
    let first = RunnerProcess::start(&fixture, "read", hold).await;
    start(&fixture, "hello").await;
    let before = next_text(&mut events).await;
    first.held().await;
    first.kill().await;
    let second = RunnerProcess::start(&fixture, "read", Hold::Nothing).await;
    let after = next_text(&mut events).await;
    fixture.until_idle().await;
    second.kill().await;
    assert_eq!((before.attempt, after.attempt), (1, 2));
    assert_eq!(before.event, after.event);
    assert_eq!(before.step_execution_id, after.step_execution_id);
    assert_eq!(before.turn_id, after.turn_id);
}

// covers: res-mode-change
#[tokio::test]
async fn a_call_resumes_under_another_permission_mode_than_it_was_deferred_under() {
    let fixture = Fixture::new(vec![
        vec![call("toolu_1", PUBLISH, json!({"message": "draft"}))],
        vec![text("It is published.")],
    ])
    .await;
    let options = fixture.options();
    let asked = AtomicUsize::new(0);
    let agent = ClaudeAgent::builder(move |_: OptionsContext| {
        let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(ClaudeAgentOptions {
            permission_mode: Some(if first {
                PermissionMode::Default
            } else {
                PermissionMode::DontAsk
            }),
            ..options.clone()
        })
    })
    .cli(real_cli())
    .tool(fixture.tool("publish", published))
    .tool_policy("publish", ToolPolicy::new(ToolEffect::NonIdempotentWrite))
    .build()
    .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "publish the draft").await;
    let waiting = fixture.until_waiting().await;
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let answer = fixture
        .client
        .resolve("session", interrupt, Resolution::Approved);
    assert!(answer.await.unwrap());
    let idle = fixture.until_idle().await;
    worker.stop().await.unwrap();
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(idle.tool_calls[0].outcome, ToolCallOutcome::Succeeded);
    assert_eq!(fixture.ledger.effects("publish").len(), 1);
}

/// Every transcript that the CLI keeps below its config directory.
fn local_transcripts(config: &Path) -> Vec<PathBuf> {
    let projects = std::fs::read_dir(config.join("projects")).unwrap();
    projects
        .flat_map(|project| std::fs::read_dir(project.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect()
}

// covers: opt-config-dir
#[tokio::test]
async fn a_later_turn_needs_nothing_of_the_local_transcript() {
    let fixture = Fixture::new(vec![
        vec![text("Hello there.")],
        vec![text("Again.")],
        vec![text("And again.")],
    ])
    .await;
    let agent = fixture.agent().build().unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "hello").await;
    fixture.until_idle().await;
    let local = local_transcripts(&fixture.path("config"));
    assert_eq!(local.len(), 1, "{local:?}");
    std::fs::write(&local[0], "this is no transcript\n").unwrap();
    for (message, text) in [("again", "Again."), ("and again", "And again.")] {
        let sent = fixture.client.send("session", message.to_owned()).await;
        assert!(sent.unwrap());
        let answered = |snapshot: &adapter::Snapshot| {
            let last = snapshot.messages.last();
            last.is_some_and(|last| last.text == text)
                && snapshot.status == adapter::SessionStatus::Idle
        };
        let idle = fixture.until("the answer", answered).await;
        assert_eq!(idle.last_turn_error, None);
        for path in local_transcripts(&fixture.path("config")) {
            std::fs::remove_file(path).unwrap();
        }
    }
    worker.stop().await.unwrap();
    let requests = fixture.requests();
    let history = requests.last().unwrap()["messages"].to_string();
    for said in ["hello", "Hello there.", "again", "Again."] {
        assert!(history.contains(said), "{said}: {history}");
    }
}

// covers: env-api-key
#[tokio::test]
async fn the_cli_gets_the_key_of_the_workers_environment() {
    let fixture = Fixture::new(vec![vec![text("Hello there.")]]).await;
    let worker = RunnerProcess::start_with_own_key(&fixture, "read", "key-of-the-worker").await;
    start(&fixture, "hello").await;
    let idle = fixture.until_idle().await;
    worker.kill().await;
    assert_eq!(idle.last_turn_error, None);
    let requests = fixture.server.received_requests().await.unwrap();
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!(request.headers["x-api-key"], "key-of-the-worker");
    }
    assert!(!fixture.state_holds("key-of-the-worker"));
}
