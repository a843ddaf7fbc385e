//! A subagent of the CLI is its own affair: what it says is neither told nor recorded.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use adapter::{LiveEvent, SessionEvent, Snapshot, Worker};
use fixture::{Fixture, LIMIT};

/// A CLI whose every reply has a subagent beside it, in the frames that the real one uses.
const CLI: &str = r#"#!/bin/bash
session=11111111-1111-4111-8111-111111111111
parent=null
reply=1
while [ $# -gt 0 ]; do
  case "$1" in
    --session-id) session="$2" ;;
    --session-id=*) session="${1#*=}" ;;
    --resume) session="$2"; parent='"a1"'; reply=2 ;;
    --resume=*) session="${1#*=}"; parent='"a1"'; reply=2 ;;
  esac
  shift
done

say() { printf '%s\n' "$1"; }

delta() {
  say "{\"type\":\"stream_event\",\"parent_tool_use_id\":$1,\"event\":{\"type\":\"message_start\",\"message\":{\"id\":\"$2\"}}}"
  say "{\"type\":\"stream_event\",\"parent_tool_use_id\":$1,\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"$3\"}}}"
}

turn() {
  delta '"toolu_agent"' msg_sub 'subagent speaking'
  say "{\"type\":\"assistant\",\"uuid\":\"sub$reply\",\"parent_tool_use_id\":\"toolu_agent\",\"session_id\":\"$session\",\"message\":{\"id\":\"msg_sub\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"subagent speaking\"}],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}"
  say "{\"type\":\"transcript_mirror\",\"filePath\":\"/c/projects/-w/$session/subagents/agent-1.jsonl\",\"entries\":[{\"type\":\"assistant\",\"uuid\":\"sub$reply\",\"parentUuid\":null,\"isSidechain\":true,\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"subagent speaking\"}]}}]}"
  message="{\"id\":\"msg_$reply\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"main reply $reply\"}],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}"
  delta null "msg_$reply" "main reply $reply"
  say "{\"type\":\"assistant\",\"uuid\":\"a$reply\",\"parent_tool_use_id\":null,\"session_id\":\"$session\",\"message\":$message}"
  say "{\"type\":\"transcript_mirror\",\"filePath\":\"/c/projects/-w/$session.jsonl\",\"entries\":[{\"type\":\"user\",\"uuid\":\"u$reply\",\"parentUuid\":$parent,\"sessionId\":\"$session\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}},{\"type\":\"assistant\",\"uuid\":\"a$reply\",\"parentUuid\":\"u$reply\",\"sessionId\":\"$session\",\"message\":$message}]}"
  say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"session_id\":\"$session\",\"stop_reason\":\"end_turn\",\"result\":\"main reply $reply\",\"num_turns\":1,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}"
}

while IFS= read -r line; do
  case "$line" in
    *'"subtype":"initialize"'*)
      id=$(printf '%s' "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
      say "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"$id\",\"response\":{}}}" ;;
    *'"type":"user"'*) turn ;;
  esac
done
"#;

fn cli(fixture: &Fixture) -> PathBuf {
    let path = fixture.path("work").join("claude");
    std::fs::write(&path, CLI).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn until_said(fixture: &Fixture, text: &str) -> Snapshot {
    let said = |snapshot: &Snapshot| {
        let last = snapshot.messages.last();
        snapshot.status == adapter::SessionStatus::Idle
            && last.is_some_and(|last| last.text == text || snapshot.last_turn_error.is_some())
    };
    fixture.until(text, said).await
}

// covers: evt-main-only, rec-subagent-not-recorded
#[tokio::test]
async fn only_the_main_conversation_is_told_and_recorded_and_a_later_turn_needs_no_more() {
    let fixture = Fixture::new(Vec::new()).await;
    let agent = fixture.agent().cli(cli(&fixture)).build().unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    let mut events = worker.events();
    let message = Some("hello".to_owned());
    fixture.client.start("session", message).await.unwrap();
    let first = until_said(&fixture, "main reply 1").await;
    assert_eq!(first.last_turn_error, None);
    let sent = fixture.client.send("session", "hello".to_owned()).await;
    assert!(sent.unwrap());
    let second = until_said(&fixture, "main reply 2").await;
    assert_eq!(second.last_turn_error, None);
    worker.stop().await.unwrap();

    let mut told = Vec::new();
    while let Ok(Ok(LiveEvent { event, .. })) = tokio::time::timeout(LIMIT, events.recv()).await {
        if let SessionEvent::TextDelta { text, .. } = event {
            told.push(text);
        }
    }
    assert_eq!(told, ["main reply 1", "main reply 2"]);
    assert!(fixture.state_holds("main reply 2"));
    assert!(!fixture.state_holds("subagent speaking"));
}
