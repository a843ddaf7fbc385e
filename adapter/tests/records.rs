//! What is recorded and counted, on the real CLI.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use adapter::{ToolContent, ToolEffect, ToolOutput, ToolPolicy, Worker};
use fixture::{Fixture, call, published, text, tool_results};
use serde_json::json;

const PUBLISH: &str = "mcp__tools__publish";

fn publish_then_answer() -> Vec<fixture::Reply> {
    vec![
        vec![
            text("Publishing."),
            call("toolu_1", PUBLISH, json!({"message": "draft"})),
        ],
        vec![text("It is published.")],
    ]
}

async fn start(fixture: &Fixture) {
    let message = Some("publish the draft".to_owned());
    fixture.client.start("session", message).await.unwrap();
}

// covers: use-model-calls, use-per-segment, use-input-tokens
#[tokio::test]
async fn usage_counts_every_reply_of_every_segment_once() {
    let fixture = Fixture::new(publish_then_answer()).await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy("publish", ToolPolicy::new(ToolEffect::IdempotentWrite))
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture).await;
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    // The first reply comes as two lines of the CLI, one for each block.
    assert_eq!(idle.usage.model_calls, 2);
    assert_eq!(idle.usage.input_tokens, 30);
    assert_eq!(idle.usage.cached_input_tokens, 6);
    worker.stop().await.unwrap();
}

// covers: rec-text-only
#[tokio::test]
async fn a_recorded_result_keeps_text_only() {
    let fixture = Fixture::new(publish_then_answer()).await;
    let picture = |_: &serde_json::Value| {
        let content = [
            json!({"type": "text", "text": "published"}),
            json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
        ];
        Ok(ToolOutput {
            content: content.into_iter().map(ToolContent::from_json).collect(),
            is_error: false,
        })
    };
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", picture))
        .tool_policy("publish", ToolPolicy::new(ToolEffect::IdempotentWrite))
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture).await;
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    let output = &idle.tool_calls[0].output;
    assert!(output.starts_with("published"), "{output}");
    assert!(output.ends_with("[image content omitted]"), "{output}");
    let requests = fixture.requests();
    assert_eq!(&tool_results(requests.last().unwrap())[0], output);
    worker.stop().await.unwrap();
}

// covers: pol-default-effect
#[tokio::test]
async fn the_default_effect_is_that_of_tools_without_a_policy() {
    let fixture = Fixture::new(publish_then_answer()).await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .default_tool_effect(ToolEffect::Read)
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture).await;
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(idle.steps.len(), 1, "it ran inside the turn");
    assert_eq!(idle.tool_calls, []);
    worker.stop().await.unwrap();
}
