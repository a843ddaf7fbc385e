//! Live events of workers in other processes.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use adapter::{LiveEvent, Resolution, SessionEvent};
use fixture::runner::{Hold, RunnerProcess};
use fixture::{Fixture, LIMIT, call, text};
use serde_json::{Value, json};

fn kinds(events: &[LiveEvent]) -> Vec<String> {
    let form = |event: &LiveEvent| serde_json::to_value(&event.event).unwrap();
    let kind = |form: Value| form["event"].as_str().unwrap().to_owned();
    events.iter().map(form).map(kind).collect()
}

#[tokio::test]
async fn a_client_hears_what_a_worker_in_another_process_does() {
    let input = json!({"message": "draft"});
    let fixture = Fixture::new(vec![
        vec![
            text("Publishing."),
            call("toolu_1", "mcp__tools__publish", input),
        ],
        vec![text("It is out.")],
    ])
    .await;
    let mut events = fixture.client.events().await.unwrap();
    let worker = RunnerProcess::start(&fixture, "non_idempotent_write", Hold::Nothing).await;
    let message = Some("publish the draft".to_owned());
    fixture.client.start("session", message).await.unwrap();
    let mut heard = Vec::new();
    loop {
        let event = tokio::time::timeout(LIMIT, events.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("no more events after {heard:#?}"));
        let event = event.unwrap();
        if let SessionEvent::InterruptOpened { interrupt_id } = &event.event {
            let resolution = Resolution::Approved;
            let answer = fixture.client.resolve("session", interrupt_id, resolution);
            assert!(answer.await.unwrap());
        }
        heard.push(event);
        if matches!(heard.last().unwrap().event, SessionEvent::TurnFinished {}) {
            break;
        }
    }
    worker.kill().await;
    let kinds = kinds(&heard);
    for kind in [
        "turn_started",
        "text_delta",
        "interrupt_opened",
        "interrupt_closed",
        "tool_call_started",
        "tool_call_finished",
        "message_committed",
    ] {
        assert!(kinds.iter().any(|known| known == kind), "{kind}: {kinds:?}");
    }
    let live: String = heard
        .iter()
        .filter_map(|event| match &event.event {
            SessionEvent::TextDelta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(live, "Publishing.It is out.");
    assert!(heard.iter().all(|event| event.turn_id == "turn-1"));
}
