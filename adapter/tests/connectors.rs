//! Operations of connectors: their call IDs, and what becomes of their outcomes.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use std::sync::{Arc, Mutex};

use adapter::{
    ConnectorCall, ConnectorOperation, ConnectorOutcome, StepType, Tool, ToolAnnotations,
    ToolCallOutcome, ToolEffect, ToolOutput, ToolPolicy, ToolSource, Worker,
};
use async_trait::async_trait;
use fixture::{Fixture, call, object, text, tool_results};
use serde_json::json;

type Calls = Arc<Mutex<Vec<ConnectorCall>>>;

/// Ends as its argument says, the first time; every other attempt succeeds.
struct Operation(Calls);

#[async_trait]
impl ConnectorOperation for Operation {
    async fn call(&self, call: ConnectorCall) -> ConnectorOutcome {
        let ends = call.arguments["ends"].as_str().unwrap().to_owned();
        let attempt = call.attempt;
        self.0.lock().unwrap().push(call);
        match (ends.as_str(), attempt) {
            ("unknown", 1) => ConnectorOutcome::Unknown("the line went dead".to_owned()),
            ("failed", _) => ConnectorOutcome::Failed("no such channel".to_owned()),
            _ => ConnectorOutcome::Succeeded(ToolOutput::text("there it is")),
        }
    }
}

// covers: conn-never-inline
#[tokio::test]
async fn outcomes_become_records_and_annotations_say_what_is_repeated() {
    let fixture = Fixture::new(vec![
        vec![call(
            "toolu_1",
            "mcp__tools__look_up",
            json!({"ends": "unknown"}),
        )],
        vec![call(
            "toolu_2",
            "mcp__tools__look_up",
            json!({"ends": "failed"}),
        )],
        vec![call(
            "toolu_3",
            "mcp__tools__post",
            json!({"ends": "unknown"}),
        )],
        vec![text("That is all.")],
    ])
    .await;
    let calls = Calls::default();
    let operation = |name: &str| {
        let schema = json!({"type": "object", "properties": {"ends": {"type": "string"}}});
        let operation = Operation(Arc::clone(&calls));
        Tool::connector(name, name, object(schema), operation)
    };
    let look_up = operation("look_up").annotations(ToolAnnotations {
        read_only_hint: Some(true),
        ..ToolAnnotations::default()
    });
    let post = ToolPolicy::new(ToolEffect::NonIdempotentWrite).without_approval();
    let agent = fixture
        .agent()
        .tool_source(ToolSource::new([look_up, operation("post")]))
        .tool_policy("post", post)
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    let message = Some("look and post".to_owned());
    fixture.client.start("session", message).await.unwrap();
    let idle = fixture.until_idle().await;
    worker.stop().await.unwrap();
    assert_eq!(idle.last_turn_error, None);

    let outcomes: Vec<_> = idle.tool_calls.iter().map(|it| it.outcome).collect();
    assert_eq!(
        outcomes,
        [
            ToolCallOutcome::Succeeded,
            ToolCallOutcome::Failed,
            ToolCallOutcome::OutcomeUnknown,
        ]
    );
    let results = tool_results(fixture.requests().last().unwrap());
    assert_eq!(results[..2], ["there it is", "no such channel"]);
    let steps: Vec<_> = idle.steps.iter().map(|it| it.step_type).collect();
    let count = |kind| steps.iter().filter(|step| **step == kind).count();
    assert_eq!(count(StepType::CallTool), 3, "{steps:?}");
    assert_eq!(count(StepType::CallSingleAttemptTool), 1, "{steps:?}");

    let calls = calls.lock().unwrap();
    let attempts: Vec<_> = calls.iter().map(|call| call.attempt).collect();
    assert_eq!(attempts, [1, 2, 1, 1]);
    assert_eq!(calls[0].call_id, calls[1].call_id);
    assert_ne!(calls[1].call_id, calls[2].call_id);
    assert_ne!(calls[2].call_id, calls[3].call_id);
}
