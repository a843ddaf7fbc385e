//! The official clients read what the server sends.
//!
//! Ignored unless asked for, since they need clients that Cargo does not install: `ci/official-clients/install` does, and
//! prints the variables that say where they are. Then `cargo nextest run -p mock-messages-api --run-ignored only`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{ffi::OsString, process::Stdio};

use mock_messages_api::{MockMessagesApi, Script};
use serde_json::{Value, json};
use tokio::process::Command;

const SCRIPT: &str = r#"
- user: blocks
  reply:
    content:
      - thinking: Let me see.
      - redacted_thinking: b3BhcXVl
      - text: "Grüße 🎉 here."
      - {call: get, input: {a: [1, {b: "ü"}], c: {}}}
      - {call: ping}
    usage: {input_tokens: 7, output_tokens: 9, cache_read_input_tokens: 3}
- user: bytes
  reply:
    content: [{text: "Grüße 🎉 here."}]
    stream: {write_bytes: 1, delta_chars: 1, pings: every, line_ending: crlf}
- user: truncated
  reply: {content: [{text: Trunc}], stop_reason: max_tokens}
- user: busy
  reply: {status: 529}
- user: limited
  reply: {status: 429}
- user: wrong
  reply: {status: 400}
- user: missing
  reply: {status: 404}
- user: broken
  reply: {status: 500}
- user: unknown key
  reply: {status: 401}
- user: not allowed
  reply: {status: 403}
- user: in conflict
  reply: {status: 409}
- user: too large
  reply: {status: 413}
- user: not processable
  reply: {status: 422}
- user: midway
  reply:
    content: [{text: Half.}]
    fault: {after: {events: 4}, then: {error: {type: overloaded_error, message: Overloaded}}}
- user: cut
  reply: {content: [{text: Half.}], fault: {after: {events: 4}, then: reset}}
"#;

const QUESTIONS: [&str; 16] = [
    "blocks",
    "bytes",
    "truncated",
    "busy",
    "limited",
    "wrong",
    "missing",
    "broken",
    "unknown key",
    "not allowed",
    "in conflict",
    "too large",
    "not processable",
    "midway",
    "cut",
    "what nobody answers",
];

fn variable(name: &str) -> OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is set, as the top of this file says"))
}

async fn answers(mut client: Command) -> Value {
    let api = MockMessagesApi::start().await.unwrap();
    api.mount("", Script::from_yaml(SCRIPT).unwrap());
    let output = client
        .arg(api.root_url())
        .args(QUESTIONS)
        .env("NO_PROXY", "127.0.0.1")
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check(answers: &Value) {
    let content = json!([
        {"type": "thinking", "thinking": "Let me see.", "signature": "signature_1_1"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "Grüße 🎉 here."},
        {"type": "tool_use", "id": "toolu_1_4", "name": "get", "input": {"a": [1, {"b": "ü"}], "c": {}}},
        {"type": "tool_use", "id": "toolu_1_5", "name": "ping", "input": {}},
    ]);
    for way in ["streamed", "whole"] {
        let blocks = &answers["blocks"][way];
        assert_eq!(blocks["content"], content, "{way}");
        assert_eq!(blocks["stop_reason"], "tool_use", "{way}");
        assert_eq!(blocks["tokens"], json!([7, 3, 9]), "{way}");
        assert_eq!(
            answers["bytes"][way]["content"][0]["text"],
            "Grüße 🎉 here."
        );
        assert_eq!(answers["truncated"][way]["stop_reason"], "max_tokens");
        for (question, error, status) in [
            ("busy", "OverloadedError", 529),
            ("limited", "RateLimitError", 429),
            ("wrong", "BadRequestError", 400),
            ("missing", "NotFoundError", 404),
            ("broken", "InternalServerError", 500),
            ("unknown key", "AuthenticationError", 401),
            ("not allowed", "PermissionDeniedError", 403),
            ("in conflict", "ConflictError", 409),
            ("not processable", "UnprocessableEntityError", 422),
            ("what nobody answers", "PermissionDeniedError", 403),
        ] {
            let expected = json!({"error": error, "status": status});
            assert_eq!(answers[question][way], expected, "{question}, {way}");
        }
    }
    for question in ["midway", "cut"] {
        assert!(
            answers[question]["streamed"]["error"].is_string(),
            "{question}"
        );
        assert_eq!(answers[question]["whole"]["content"][0]["text"], "Half.");
    }
}

#[tokio::test]
#[ignore = "needs the official Python client, see the top of the file"]
async fn python_reads_every_reply() {
    let mut client = Command::new(variable("OFFICIAL_CLIENTS_PYTHON"));
    client.arg(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/official_clients/client.py"
    ));
    check(&answers(client).await);
}

#[tokio::test]
#[ignore = "needs the official TypeScript client, see the top of the file"]
async fn typescript_reads_every_reply() {
    let mut client = Command::new("node");
    client
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/official_clients/client.cjs"
        ))
        .arg(variable("OFFICIAL_CLIENTS_NODE"));
    check(&answers(client).await);
}
