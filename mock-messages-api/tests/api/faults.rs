//! Faults that a script asks for.

use mock_messages_api::ReplyEnd;
use serde_json::json;

use crate::fixture::{Fixture, refusal, request, user};

async fn faulty(fault: &str) -> Fixture {
    Fixture::new(&format!(
        "[{{user: hello, reply: {{content: [{{text: Hello.}}], fault: {fault}}}}}]"
    ))
    .await
}

#[tokio::test]
async fn cuts_after_so_many_events() {
    for action in ["reset", "close"] {
        let fixture = faulty(&format!("{{after: {{events: 4}}, then: {action}}}")).await;
        let seen = fixture.stream(json!([user("hello")])).await;
        assert!(!seen.whole, "{action}");
        assert_eq!(
            seen.types(),
            [
                "message_start",
                "content_block_start",
                "ping",
                "content_block_delta"
            ]
        );
    }
}

#[tokio::test]
async fn cuts_after_so_many_bytes_of_a_stream_or_a_whole_reply() {
    for stream in [true, false] {
        let fixture = faulty("{after: {bytes: 25}, then: close}").await;
        let mut body = request(json!([user("hello")]));
        body["stream"] = json!(stream);
        let mut response = fixture.send(&body).await;
        let mut length = 0;
        let ended = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => length += chunk.len(),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        assert!(!ended, "stream: {stream}");
        assert_eq!(length, 25, "stream: {stream}");
    }
}

#[tokio::test]
async fn cuts_before_and_after_the_headers() {
    let body = request(json!([user("hello")]));
    for action in ["reset", "close"] {
        let fixture = faulty(&format!("{{after: request, then: {action}}}")).await;
        let sent = fixture.post("/v1/messages", &body).send().await;
        assert!(sent.is_err(), "{action}");

        let fixture = faulty(&format!("{{after: headers, then: {action}}}")).await;
        let response = fixture.send(&body).await;
        assert_eq!(response.status(), 200);
        assert!(response.bytes().await.is_err(), "{action}");
    }
}

#[tokio::test]
async fn cuts_after_the_body_but_before_its_end() {
    let fixture = faulty("{after: body, then: close}").await;
    let seen = fixture.stream(json!([user("hello")])).await;
    assert_eq!(seen.types().last(), Some(&"message_stop"));
    assert!(!seen.whole);
}

#[tokio::test]
async fn sends_an_error_event_and_ends() {
    let fixture = faulty(
        "{after: {events: 3}, then: {error: {type: overloaded_error, message: Overloaded}}}",
    )
    .await;
    let seen = fixture.stream(json!([user("hello")])).await;
    assert!(seen.whole);
    assert_eq!(seen.types().last(), Some(&"error"));
    assert_eq!(seen.events.len(), 4);
    assert_eq!(seen.events[3]["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn leaves_a_whole_reply_alone_when_the_fault_needs_events() {
    for fault in [
        "{after: {events: 3}, then: reset}",
        "{after: body, then: {error: {type: api_error, message: broken}}}",
    ] {
        let fixture = faulty(fault).await;
        let message = fixture.whole(json!([user("hello")])).await;
        assert_eq!(message["content"][0]["text"], "Hello.");
        assert_eq!(fixture.journal()[0].end, Some(ReplyEnd::Completed));
    }
}

#[tokio::test]
async fn sends_garbage_and_goes_on() {
    let fixture = faulty(r#"{after: {events: 3}, then: {garbage: "no field at all\n\n"}}"#).await;
    let mut body = request(json!([user("hello")]));
    body["stream"] = json!(true);
    let text = fixture.send(&body).await.text().await.unwrap();
    assert!(text.contains("\n\nno field at all\n\nevent: content_block_delta"));
    assert!(text.contains("event: message_stop"));
}

#[tokio::test]
async fn pauses_and_goes_on() {
    let fixture = faulty("{after: {events: 2}, then: {pause_ms: 20}}").await;
    let before = std::time::Instant::now();
    let seen = fixture.stream(json!([user("hello")])).await;
    assert!(before.elapsed() >= std::time::Duration::from_millis(20));
    assert!(seen.whole);
    assert_eq!(seen.types().last(), Some(&"message_stop"));
}

#[test]
fn refuses_what_cannot_follow_a_request() {
    let error = mock_messages_api::Script::from_yaml(
        "[{user: a, reply: {content: [], fault: {after: request, then: {garbage: x}}}}]",
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("after `request` there is no response yet")
    );
    assert_eq!(error.position(), Some((1, 40)));
}

#[tokio::test]
async fn stalls_until_the_client_gives_up() {
    let fixture = faulty("{after: {events: 1}, then: stall}").await;
    let mut body = request(json!([user("hello")]));
    body["stream"] = json!(true);
    let mut response = fixture.send(&body).await;
    let first = response.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"event: message_start"));
    assert_eq!(fixture.journal()[0].end, None);
    drop(response);
    fixture.api.settled("cell").await;
    assert_eq!(fixture.journal()[0].end, Some(ReplyEnd::ScriptedFault));
}

#[tokio::test]
async fn answers_any_status_with_envelope_headers_or_another_body() {
    let script = r#"
- user: busy
  reply: {status: 529}
- user: limited
  reply: {status: 429, error: {type: rate_limit_error, message: slow down}, headers: {retry-after: "3"}}
- user: gateway
  reply: {status: 502, body: "<h1>Bad Gateway</h1>"}
"#;
    let fixture = Fixture::new(script).await;
    let ask = |text: &'static str| request(json!([user(text)]));

    let (status, body) = refusal(fixture.send(&ask("busy")).await).await;
    assert_eq!(status, 529);
    assert_eq!(
        body,
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"},
               "request_id": "req_000001"})
    );
    let limited = fixture.send(&ask("limited")).await;
    assert_eq!(limited.headers()["retry-after"], "3");
    assert_eq!(limited.headers()["request-id"], "req_000002");
    let gateway = fixture.send(&ask("gateway")).await;
    assert_eq!(gateway.status(), 502);
    assert_eq!(gateway.headers()["content-type"], "text/html");
    assert_eq!(gateway.text().await.unwrap(), "<h1>Bad Gateway</h1>");
}
