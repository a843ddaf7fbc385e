//! Agents by the types of their sessions, and the workers that serve them.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use std::time::Duration;

use adapter::{
    AgentError, AgentSessionOptions, ClaudeAgent, ClaudeAgentBuilder, ClaudeAgentOptions,
    OptionsContext, Resolution, RetryPolicy, SessionClient, SessionStatus, Snapshot, ToolEffect,
    ToolPolicy, Worker,
};
use fixture::{Fixture, LIMIT, call, published, text};
use serde_json::json;

async fn publishing() -> Fixture {
    let input = json!({"message": "draft"});
    Fixture::new(vec![
        vec![call("toolu_1", "mcp__tools__publish", input)],
        vec![text("It is out.")],
    ])
    .await
}

/// One session from its start to the end of its turn, its write approved.
async fn published_by(describe: impl Fn(ClaudeAgentBuilder) -> ClaudeAgentBuilder) -> Snapshot {
    let fixture = publishing().await;
    let agent = fixture.agent().tool(fixture.tool("publish", published));
    let agent = describe(agent).build().unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    let message = Some("publish the draft".to_owned());
    fixture.client.start("session", message).await.unwrap();
    let waiting = fixture.until_waiting().await;
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let resolution = Resolution::Approved;
    let answered = fixture.client.resolve("session", interrupt, resolution);
    assert!(answered.await.unwrap());
    let idle = fixture.until_idle().await;
    worker.stop().await.unwrap();
    idle
}

// covers: opt-flow-shortcut
#[tokio::test]
async fn session_options_set_one_by_one_or_all_at_once_run_the_same() {
    let retry = RetryPolicy {
        max_attempts: 2,
        first_backoff: Duration::ZERO,
    };
    let policy = ToolPolicy::new(ToolEffect::NonIdempotentWrite);
    let one_by_one = published_by(|agent| {
        agent
            .tool_policy("publish", policy)
            .default_tool_effect(ToolEffect::Read)
            .retry(retry)
    })
    .await;
    let at_once = published_by(|agent| {
        agent.session_options(AgentSessionOptions {
            tool_policies: [("publish".to_owned(), policy)].into(),
            default_tool_effect: ToolEffect::Read,
            retry,
            ..AgentSessionOptions::default()
        })
    })
    .await;
    assert_eq!(one_by_one.steps, at_once.steps);
    assert_eq!(one_by_one.tool_calls, at_once.tool_calls);
    assert_eq!(one_by_one.messages, at_once.messages);
    assert_eq!(one_by_one.steps.len(), 5, "{:?}", one_by_one.steps);
}

// covers: sess-flow-type
#[tokio::test]
async fn one_worker_serves_two_types_of_sessions_and_no_third() {
    let fixture = Fixture::new(vec![vec![text("Hello.")]]).await;
    let agent = |flow_type: &str, model: &str| {
        let options = ClaudeAgentOptions {
            model: Some(model.to_owned()),
            ..fixture.options()
        };
        ClaudeAgent::builder(move |_: OptionsContext| Ok(options.clone()))
            .flow_type(flow_type)
            .cli(fixture::real_cli())
            .build()
            .unwrap()
    };
    let support = agent("Support", "claude-opus-5");
    let sales = agent("Sales", "claude-sonnet-5");
    let third = SessionClient::of_flow(&fixture.engine, "Third");
    third.start("third", Some("hello".into())).await.unwrap();
    let worker = Worker::builder(&fixture.engine, &support)
        .agent(&sales)
        .start();
    for (flow_type, model) in [("Support", "claude-opus-5"), ("Sales", "claude-sonnet-5")] {
        // As another process would: from the type alone.
        let client = SessionClient::of_flow(&fixture.engine, flow_type);
        let mut changes = client.changes().await.unwrap();
        client.start(flow_type, Some("hello".into())).await.unwrap();
        let idle = tokio::time::timeout(LIMIT, async {
            loop {
                let snapshot = client.snapshot(flow_type).await.unwrap();
                if snapshot.status == SessionStatus::Idle {
                    return snapshot;
                }
                changes.recv().await.unwrap();
            }
        });
        let idle = idle.await.expect("the turn ends");
        assert_eq!(idle.last_turn_error, None);
        assert_eq!(fixture.requests().last().unwrap()["model"], model);
    }
    worker.stop().await.unwrap();
    let third = third.snapshot("third").await.unwrap();
    assert_eq!(third.status, SessionStatus::Running);
    assert!(third.steps.is_empty(), "nobody here has its agent");
}

#[test]
fn a_blank_flow_type_is_refused() {
    let agent = ClaudeAgent::builder(|_: OptionsContext| Ok(ClaudeAgentOptions::default()));
    let refused = agent.flow_type(" ").build();
    assert_eq!(refused.err(), Some(AgentError::BlankFlowType));
}

// covers: sess-registry-async
#[tokio::test]
async fn a_worker_says_when_it_serves_and_leaves_nothing() {
    let fixture = Fixture::new(vec![vec![text("Hello.")]]).await;
    let agent = fixture.agent().build().unwrap();
    let workers = fixture.path("state").join("workers");
    let left = || std::fs::read_dir(&workers).unwrap().count();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    assert!(worker.wait_until_serving().await);
    assert_eq!(left(), 2, "its lock and its directory");
    let message = Some("hello".to_owned());
    fixture.client.start("session", message).await.unwrap();
    assert_eq!(fixture.until_idle().await.last_turn_error, None);
    worker.stop().await.unwrap();
    assert_eq!(left(), 0);
    drop(fixture.client);
}

#[tokio::test]
async fn a_worker_that_cannot_serve_says_so() {
    let fixture = Fixture::new(Vec::new()).await;
    let agent = fixture.agent().build().unwrap();
    std::fs::remove_dir_all(fixture.path("state").join("workers")).unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    assert!(!worker.wait_until_serving().await);
    assert!(worker.stop().await.is_err());
}
