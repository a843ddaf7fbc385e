//! Sessions that are moved from one state directory to another.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use adapter::{
    EmbeddedEngine, EngineError, ExportedSession, Resolution, SessionClient, SessionStatus,
    ToolCallOutcome, ToolEffect, ToolPolicy, Worker,
};
use fixture::runner::{Hold, RunnerProcess};
use fixture::{Fixture, call, published, text, tool_results};
use serde_json::{Value, json};

fn client(directory: &tempfile::TempDir) -> SessionClient {
    SessionClient::new(&EmbeddedEngine::open(directory.path()).unwrap())
}

/// The session's JSON form, through which it travels.
async fn exported(client: &SessionClient) -> Value {
    serde_json::to_value(client.export("session").await.unwrap()).unwrap()
}

async fn import(client: &SessionClient, form: &Value) -> Result<(), EngineError> {
    let session: ExportedSession = serde_json::from_value(form.clone()).unwrap();
    client.import(session).await
}

fn publish_then_answer() -> Vec<Vec<Value>> {
    let input = json!({"message": "draft"});
    vec![
        vec![call("toolu_1", "mcp__tools__publish", input)],
        vec![text("It is out.")],
        vec![text("Still here.")],
    ]
}

// covers: wire-run-state
#[tokio::test]
async fn a_suspended_turn_goes_on_elsewhere_with_its_queue() {
    let fixture = Fixture::new(publish_then_answer()).await;
    let policy = ToolPolicy::new(ToolEffect::NonIdempotentWrite);
    let agent = fixture.agent().tool(fixture.tool("publish", published));
    let agent = agent.tool_policy("publish", policy).build().unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    let message = Some("publish the draft".to_owned());
    fixture.client.start("session", message).await.unwrap();
    let waiting = fixture.until_waiting().await;
    let queued = "are you there?".to_owned();
    assert!(fixture.client.send("session", queued).await.unwrap());
    worker.stop().await.unwrap();

    let form = exported(&fixture.client).await;
    assert_eq!(form["queue"], json!(["are you there?"]));
    assert_eq!(form["pending_interrupts"][0]["tool"], "publish");
    let run_state = &form["turn"]["run_state"];
    assert_eq!(run_state.as_object().unwrap().len(), 3, "{run_state}");
    assert!(run_state["session_id"].is_string());
    assert_eq!(run_state["version"], 1);
    let entries = run_state["turn_entries"].as_array().unwrap();
    let deferrals = entries.iter().map(ToString::to_string);
    let deferrals = deferrals.filter(|entry| entry.contains("hook_deferred_tool"));
    assert_eq!(deferrals.count(), 1, "{entries:#?}");
    let item = json!({"kind": "user_prompt", "text": "publish the draft"});
    assert_eq!(form["messages"][0]["framework_item"], item);

    let directory = tempfile::tempdir().unwrap();
    let engine = EmbeddedEngine::open(directory.path()).unwrap();
    let elsewhere = SessionClient::new(&engine);
    import(&elsewhere, &form).await.unwrap();
    assert_eq!(exported(&elsewhere).await, form, "nothing is lost");
    let worker = Worker::builder(&engine, &agent).start();
    let mut changes = elsewhere.changes().await.unwrap();
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let approval = elsewhere.resolve("session", interrupt, Resolution::Approved);
    assert!(approval.await.unwrap());
    let idle = loop {
        let snapshot = elsewhere.snapshot("session").await.unwrap();
        if snapshot.status == SessionStatus::Idle {
            break snapshot;
        }
        let change = tokio::time::timeout(fixture::LIMIT, changes.recv()).await;
        change.expect("the session ends").unwrap();
    };
    worker.stop().await.unwrap();
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(idle.messages.last().unwrap().text, "Still here.");
    assert_eq!(fixture.ledger.effects("publish").len(), 1);
    assert_eq!(tool_results(&fixture.requests()[1]), ["published draft"]);

    let done = exported(&elsewhere).await;
    let third = tempfile::tempdir().unwrap();
    import(&client(&third), &done).await.unwrap();
    assert_eq!(exported(&client(&third)).await, done);
}

#[tokio::test]
async fn a_write_that_was_in_hand_at_the_export_is_not_repeated_elsewhere() {
    let fixture = Fixture::new(publish_then_answer()).await;
    let doomed = RunnerProcess::start(&fixture, "non_idempotent_write", Hold::ToolReply).await;
    let message = Some("publish the draft".to_owned());
    fixture.client.start("session", message).await.unwrap();
    let waiting = fixture.until_waiting().await;
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let approval = fixture
        .client
        .resolve("session", interrupt, Resolution::Approved);
    assert!(approval.await.unwrap());
    doomed.held().await;
    doomed.kill().await;
    let form = exported(&fixture.client).await;
    assert_eq!(form["turn"]["step"]["attempt_state"], "handler_entered");

    let directory = tempfile::tempdir().unwrap();
    let engine = EmbeddedEngine::open(directory.path()).unwrap();
    let elsewhere = SessionClient::new(&engine);
    let mut changes = elsewhere.changes().await.unwrap();
    import(&elsewhere, &form).await.unwrap();
    let policy = ToolPolicy::new(ToolEffect::NonIdempotentWrite);
    let agent = fixture.agent().tool(fixture.tool("publish", published));
    let agent = agent.tool_policy("publish", policy).build().unwrap();
    let worker = Worker::builder(&engine, &agent).start();
    let record = loop {
        let snapshot = elsewhere.snapshot("session").await.unwrap();
        if let Some(record) = snapshot.tool_calls.first() {
            break record.clone();
        }
        let change = tokio::time::timeout(fixture::LIMIT, changes.recv()).await;
        change.expect("the attempt is taken over").unwrap();
    };
    worker.stop().await.unwrap();
    assert_eq!(record.outcome, ToolCallOutcome::OutcomeUnknown);
    assert_eq!(fixture.ledger.effects("publish").len(), 1);
}

#[tokio::test]
async fn what_contradicts_itself_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = client(&directory);
    here.start("session", Some("hello".into())).await.unwrap();
    here.send("session", "and another".into()).await.unwrap();
    let form = exported(&here).await;
    let taken = import(&here, &form).await.unwrap_err();
    assert!(matches!(taken, EngineError::SessionExists(_)), "{taken}");

    let other = tempfile::tempdir().unwrap();
    let elsewhere = client(&other);
    for (pointer, value, reason) in [
        ("/version", json!(99), "version 99"),
        ("/messages/0/sequence", json!(7), "numbered"),
        ("/turn", Value::Null, "messages wait although no turn runs"),
        ("/turn/step/type", json!("CallTool"), "a call belongs"),
        (
            "/turn/suspended_tool_call_id",
            json!("toolu_1"),
            "both a run state and a suspended call",
        ),
    ] {
        let mut broken = form.clone();
        *broken.pointer_mut(pointer).unwrap() = value;
        let error = import(&elsewhere, &broken).await.unwrap_err();
        assert!(
            matches!(error, EngineError::InvalidExport { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(reason), "{pointer}: {error}");
        let unknown = elsewhere.snapshot("session").await.unwrap_err();
        assert!(matches!(unknown, EngineError::UnknownSession(_)));
    }
}
