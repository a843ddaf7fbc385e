//! Holding and cutting a reply from outside.

use std::sync::Arc;

use async_trait::async_trait;
use mock_messages_api::{ApiEvent, Directive, Observer, ReplyEnd};
use serde_json::json;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::fixture::{Fixture, request, user};

const SCRIPT: &str = "[{user: hello, reply: [{text: Hello.}]}]";

/// Hands every event to the test and waits for its answer.
struct Handing(mpsc::UnboundedSender<(ApiEvent, oneshot::Sender<Directive>)>);

#[async_trait]
impl Observer for Handing {
    async fn observe(&self, event: ApiEvent) -> Directive {
        let (answer, directive) = oneshot::channel();
        self.0.send((event, answer)).unwrap();
        directive.await.unwrap_or(Directive::Continue)
    }
}

type Events = mpsc::UnboundedReceiver<(ApiEvent, oneshot::Sender<Directive>)>;

async fn handed() -> (Arc<Fixture>, Events) {
    let (sender, events) = mpsc::unbounded_channel();
    let fixture = Fixture::observed(SCRIPT, Arc::new(Handing(sender))).await;
    (Arc::new(fixture), events)
}

/// Lets everything go on up to the event that `is_wanted`, which is returned unanswered.
async fn until(
    events: &mut Events,
    is_wanted: impl Fn(&ApiEvent) -> bool,
) -> (ApiEvent, oneshot::Sender<Directive>) {
    loop {
        let (event, answer) = events.recv().await.unwrap();
        if is_wanted(&event) {
            return (event, answer);
        }
        answer.send(Directive::Continue).unwrap();
    }
}

fn finished(event: &ApiEvent) -> bool {
    matches!(event, ApiEvent::Finished { .. })
}

#[tokio::test]
async fn sees_every_step_in_order() {
    #[derive(Default)]
    struct Noting(Mutex<Vec<String>>);

    #[async_trait]
    impl Observer for Noting {
        async fn observe(&self, event: ApiEvent) -> Directive {
            assert_eq!(event.request().session, "cell");
            assert_eq!(event.request().client.as_deref(), Some("spawn-1"));
            let note = match event {
                ApiEvent::RequestArrived { body, .. } => {
                    format!("arrived {}", body["messages"][0]["content"])
                }
                ApiEvent::ReplyChosen {
                    exchange, status, ..
                } => format!("chosen {exchange:?} {status}"),
                ApiEvent::BeforeEvent {
                    index, event_type, ..
                } => format!("{index} {event_type}"),
                ApiEvent::Finished { end, .. } => format!("finished {end:?}"),
            };
            self.0.lock().await.push(note);
            Directive::Continue
        }
    }

    let noting = Arc::new(Noting::default());
    let fixture = Fixture::observed(SCRIPT, noting.clone()).await;
    fixture.stream(json!([user("hello")])).await;
    // The next request on the connection is read after the end of the one before it.
    fixture.refused(json!([user("unknown")])).await;
    let notes = noting.0.lock().await;
    assert_eq!(
        notes[..9],
        [
            "arrived \"hello\"",
            "chosen Some(1) 200",
            "0 message_start",
            "1 content_block_start",
            "2 ping",
            "3 content_block_delta",
            "4 content_block_stop",
            "5 message_delta",
            "6 message_stop",
        ]
    );
}

#[tokio::test]
async fn cuts_exactly_before_the_event_it_was_asked_about() {
    for directive in [Directive::Reset, Directive::Close] {
        let (fixture, mut events) = handed().await;
        let asking = tokio::spawn({
            let fixture = Arc::clone(&fixture);
            async move { fixture.stream(json!([user("hello")])).await }
        });
        let (_, answer) = until(&mut events, |event| {
            matches!(event, ApiEvent::BeforeEvent { index: 3, .. })
        })
        .await;
        answer.send(directive).unwrap();
        let (event, answer) = until(&mut events, finished).await;
        assert!(matches!(
            event,
            ApiEvent::Finished {
                end: ReplyEnd::Cut,
                ..
            }
        ));
        answer.send(Directive::Continue).unwrap();
        let seen = asking.await.unwrap();
        assert!(!seen.whole);
        assert_eq!(
            seen.types(),
            ["message_start", "content_block_start", "ping"],
            "{directive:?}"
        );
    }
}

#[tokio::test]
async fn truncates_an_event() {
    let (fixture, mut events) = handed().await;
    let asking = tokio::spawn({
        let fixture = Arc::clone(&fixture);
        async move {
            let mut body = request(json!([user("hello")]));
            body["stream"] = json!(true);
            let mut response = fixture.send(&body).await;
            let mut bytes = Vec::new();
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes.extend_from_slice(&chunk);
            }
            bytes
        }
    });
    let (_, answer) = until(&mut events, |event| {
        matches!(event, ApiEvent::BeforeEvent { index: 1, .. })
    })
    .await;
    let directive = Directive::Truncate {
        bytes: 10,
        reset: false,
    };
    answer.send(directive).unwrap();
    drop(events);
    let bytes = asking.await.unwrap();
    assert!(bytes.ends_with(b"\n\nevent: con"), "{bytes:?}");
}

#[tokio::test]
async fn cuts_before_the_response() {
    let (fixture, mut events) = handed().await;
    let asking = tokio::spawn({
        let fixture = Arc::clone(&fixture);
        async move {
            fixture
                .post("/v1/messages", &request(json!([user("hello")])))
                .send()
                .await
        }
    });
    let (_, answer) = events.recv().await.unwrap();
    answer.send(Directive::Reset).unwrap();
    drop(events);
    assert!(asking.await.unwrap().is_err());
}

#[tokio::test]
async fn notices_that_the_client_leaves_while_it_is_held() {
    for held in 0..4 {
        let (fixture, mut events) = handed().await;
        let asking = tokio::spawn({
            let fixture = Arc::clone(&fixture);
            async move { fixture.stream(json!([user("hello")])).await }
        });
        for _ in 0..held {
            let (_, answer) = events.recv().await.unwrap();
            answer.send(Directive::Continue).unwrap();
        }
        let (_, _unanswered) = events.recv().await.unwrap();
        asking.abort();
        let (event, answer) = events.recv().await.unwrap();
        assert!(
            matches!(
                event,
                ApiEvent::Finished {
                    end: ReplyEnd::ClientDisconnected,
                    ..
                }
            ),
            "held at {held}: {event:?}"
        );
        answer.send(Directive::Continue).unwrap();
        assert_eq!(fixture.journal()[0].end, Some(ReplyEnd::ClientDisconnected));
    }
}
