//! Options that an attempt refuses, before any CLI is started.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::time::Duration;

use adapter::{
    ClaudeAgent, ClaudeAgentOptions, EmbeddedEngine, OptionsContext, RetryPolicy, SessionClient,
    SessionStatus, Worker,
};
use serde_json::{Value, json};

/// The longest that anything may take; it is never waited for when all is well.
const LIMIT: Duration = Duration::from_secs(60);

/// The error of a turn whose options factory gives these options. The CLI does not exist: an error that names the
/// option came before its start.
async fn turn_error(options: Value) -> String {
    let directory = tempfile::tempdir().unwrap();
    let engine = EmbeddedEngine::open(directory.path()).unwrap();
    let agent = ClaudeAgent::builder(move |_: OptionsContext| {
        ClaudeAgentOptions::from_json(options.clone())
    })
    .cli(directory.path().join("no-cli"))
    .retry(RetryPolicy {
        max_attempts: 1,
        first_backoff: Duration::ZERO,
    })
    .build()
    .unwrap();
    let client = SessionClient::new(&engine);
    let worker = Worker::builder(&engine, &agent).start();
    let mut changes = client.changes().await.unwrap();
    client.start("session", Some("hello".into())).await.unwrap();
    let error = tokio::time::timeout(LIMIT, async {
        loop {
            let snapshot = client.snapshot("session").await.unwrap();
            if snapshot.status == SessionStatus::Idle {
                return snapshot.last_turn_error.unwrap();
            }
            // A lagging receiver has a change to look at too.
            let _ = changes.recv().await;
        }
    });
    let error = error.await.expect("the turn ends");
    worker.stop().await.unwrap();
    error
}

// covers: opt-owned-callbacks
#[tokio::test]
async fn callbacks_that_the_adapter_owns_fail_the_turn() {
    for option in ["can_use_tool", "permission_prompt_tool_name"] {
        let error = turn_error(json!({option: "mine"})).await;
        assert!(error.contains(option), "{error}");
    }
}

// covers: opt-owned-session
#[tokio::test]
async fn session_options_that_the_adapter_owns_fail_the_turn() {
    for option in [
        "session_store",
        "resume",
        "session_id",
        "continue_conversation",
        "fork_session",
        "resume_session_at",
        "resume_drops_turn",
        "enable_file_checkpointing",
    ] {
        let error = turn_error(json!({option: true})).await;
        assert!(error.contains(option), "{error}");
    }
}

// covers: opt-owned-extra-args, opt-mcp-servers-form, opt-server-name-reuse
#[tokio::test]
async fn arguments_and_servers_that_the_adapter_owns_fail_the_turn() {
    for (options, named) in [
        (
            json!({"extra_args": {"await-initialize": null}}),
            "await-initialize",
        ),
        (json!({"extra_args": {"mcp-config": "{}"}}), "mcp-config"),
        (json!({"extra_args": {"resume": "a"}}), "resume"),
        (json!({"extra_args": {"session-id": "a"}}), "session-id"),
        (json!({"mcp_servers": "servers.json"}), "mcp_servers"),
        (json!({"mcp_servers": "{\"other\": {}}"}), "mcp_servers"),
        (json!({"mcp_servers": {"tools": {}}}), "tools"),
    ] {
        let error = turn_error(options).await;
        assert!(error.contains(named), "{error}");
        assert!(!error.contains("no-cli"), "{error}");
    }
    let allowed = turn_error(json!({"extra_args": {"debug": null}})).await;
    assert!(
        allowed.contains("no-cli"),
        "only the CLI is missing: {allowed}"
    );
}
