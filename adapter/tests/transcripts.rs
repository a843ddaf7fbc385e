//! What the CLI writes for itself, and what is stored of it.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use std::path::{Path, PathBuf};

use adapter::{ToolEffect, ToolPolicy, Worker};
use fixture::{Fixture, call, published, text};
use serde_json::{Value, json};

/// The transcript files below a configuration directory.
fn local_transcripts(config: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for project in std::fs::read_dir(config.join("projects")).unwrap() {
        for file in std::fs::read_dir(project.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            found.extend(
                path.extension()
                    .is_some_and(|it| it == "jsonl")
                    .then_some(path),
            );
        }
    }
    found
}

/// The stored entries of all completed turns.
async fn stored_entries(fixture: &Fixture) -> Vec<Value> {
    let exported = fixture.client.export("session").await.unwrap();
    let exported = serde_json::to_value(exported).unwrap();
    let messages = exported["messages"].as_array().unwrap().iter();
    messages
        .filter_map(|message| message["framework_item"]["entries"].as_array())
        .flatten()
        .cloned()
        .collect()
}

// covers: seg-mirror
#[tokio::test]
async fn the_stored_transcript_is_the_local_one_line_by_line() {
    let input = json!({"message": "draft"});
    let fixture = Fixture::new(vec![
        vec![call("toolu_1", "mcp__tools__look_up", input)],
        vec![text("It is there.")],
    ])
    .await;
    let look_up = fixture.tool("look_up", published);
    let agent = fixture.agent().tool(look_up);
    let agent = agent.tool_policy("look_up", ToolPolicy::new(ToolEffect::Read));
    let agent = agent.build().unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    fixture
        .client
        .start("session", Some("one".into()))
        .await
        .unwrap();
    assert_eq!(fixture.until_idle().await.last_turn_error, None);

    let local = local_transcripts(&fixture.path("config"));
    let [local] = local.as_slice() else {
        panic!("one session has one transcript: {local:?}")
    };
    let written: Vec<Value> = std::fs::read_to_string(local)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|entry: &Value| !entry["type"].as_str().unwrap().starts_with("api-request"))
        .collect();
    assert!(written.len() > 4, "{written:#?}");
    assert_eq!(stored_entries(&fixture).await, written);
    worker.stop().await.unwrap();
}
