//! Sessions on the real CLI.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use adapter::{Resolution, StepType, ToolCallOutcome, ToolEffect, ToolPolicy, Worker};
use fixture::{Fixture, call, published, text, tool_results};
use serde_json::json;

const PUBLISH: &str = "mcp__tools__publish";

fn single() -> ToolPolicy {
    ToolPolicy::new(ToolEffect::NonIdempotentWrite)
}

#[tokio::test]
async fn an_approved_write_runs_once_and_the_turn_completes_with_its_result() {
    let fixture = Fixture::new(vec![
        vec![
            text("Publishing."),
            call("toolu_1", PUBLISH, json!({"message": "draft"})),
        ],
        vec![text("It is published.")],
    ])
    .await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy("publish", single())
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    fixture
        .client
        .start("session", Some("publish the draft".into()))
        .await
        .unwrap();

    let waiting = fixture.until_waiting().await;
    assert_eq!(waiting.pending_interrupts[0].tool, "publish");
    assert_eq!(
        waiting.pending_interrupts[0].arguments,
        json!({"message": "draft"})
    );
    assert_eq!(fixture.ledger.effects("publish"), []);
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let accepted = fixture
        .client
        .resolve("session", interrupt, Resolution::Approved)
        .await
        .unwrap();
    assert!(accepted);

    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(fixture.ledger.effects("publish").len(), 1);
    assert_eq!(idle.tool_calls[0].outcome, ToolCallOutcome::Succeeded);
    assert_eq!(idle.tool_calls[0].output, "published draft");
    let steps: Vec<StepType> = idle.steps.iter().map(|step| step.step_type).collect();
    assert_eq!(
        steps,
        [
            StepType::RunModel,
            StepType::AwaitToolApproval,
            StepType::CallSingleAttemptTool,
            StepType::ResumeTurn,
            StepType::RunModel,
        ]
    );
    let requests = fixture.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(tool_results(&requests[1]), ["published draft"]);
    worker.stop().await.unwrap();
}
