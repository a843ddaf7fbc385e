//! The shape of a streamed and of a whole reply.

use serde_json::json;

use crate::fixture::{Fixture, request, user};

const SCRIPT: &str = r#"
- user: hello
  reply:
    - thinking: Let me see.
    - text: "Grüße, I publish it now, wait a moment."
    - call: publish
      input: {message: "a „quoted“ draft"}
"#;

#[tokio::test]
async fn streams_the_events_of_the_real_api() {
    let fixture = Fixture::new(SCRIPT).await;
    let seen = fixture.stream(json!([user("hello")])).await;

    assert!(seen.whole);
    assert_eq!(
        seen.types(),
        [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    assert_eq!(seen.joined(0, "thinking"), "Let me see.");
    assert_eq!(seen.joined(0, "signature"), "signature_1_1");
    assert_eq!(
        seen.joined(1, "text"),
        "Grüße, I publish it now, wait a moment."
    );
    assert_eq!(
        seen.joined(2, "partial_json"),
        json!({"message": "a „quoted“ draft"}).to_string()
    );
    assert_eq!(seen.events[10]["content_block"]["id"], "toolu_1_3");
    assert_eq!(seen.events[10]["content_block"]["input"], json!({}));
    let last = &seen.events[14];
    assert_eq!(last["delta"]["stop_reason"], "tool_use");
    assert_eq!(seen.events[0]["message"]["stop_reason"], json!(null));
}

#[tokio::test]
async fn answers_whole_when_no_stream_is_asked_for() {
    let fixture = Fixture::new(SCRIPT).await;
    let message = fixture.whole(json!([user("hello")])).await;

    assert_eq!(message["type"], "message");
    assert_eq!(message["id"], "msg_1");
    assert_eq!(message["model"], "claude-sonnet-5");
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!(
        message["content"],
        json!([
            {"type": "thinking", "thinking": "Let me see.", "signature": "signature_1_1"},
            {"type": "text", "text": "Grüße, I publish it now, wait a moment."},
            {"type": "tool_use", "id": "toolu_1_3", "name": "publish",
             "input": {"message": "a „quoted“ draft"}},
        ])
    );
}

#[tokio::test]
async fn gives_a_retry_the_same_bytes() {
    let fixture = Fixture::new(SCRIPT).await;
    let mut body = request(json!([user("hello")]));
    body["stream"] = json!(true);
    let first = fixture.send(&body).await.bytes().await.unwrap();
    let second = fixture.send(&body).await.bytes().await.unwrap();
    assert_eq!(first, second);
}

#[tokio::test]
async fn cuts_writes_anywhere_without_changing_the_stream() {
    let whole = Fixture::new(SCRIPT)
        .await
        .stream(json!([user("hello")]))
        .await;
    let cut = format!(
        "
- user: hello
  reply:
    stream: {{write_bytes: 1, line_ending: crlf}}
    content: {}",
        content_of(SCRIPT)
    );
    let cut = Fixture::new(&cut)
        .await
        .stream(json!([user("hello")]))
        .await;
    assert_eq!(whole, cut);
}

fn content_of(script: &str) -> String {
    let (_, content) = script.split_once("reply:").unwrap();
    content.replace("\n    ", "\n      ")
}

#[tokio::test]
async fn arranges_events_as_the_script_says() {
    let fixture = Fixture::new(
        "
- user: hello
  reply:
    content: [{text: Hi}]
    usage: {input_tokens: 7, output_tokens: 5, cache_read_input_tokens: 3}
    stream: {pings: none, omit: [message_stop], order: [0, 1, 2, 2, 3, 4]}
",
    )
    .await;
    let seen = fixture.stream(json!([user("hello")])).await;
    assert_eq!(
        seen.types(),
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
        ]
    );
    assert_eq!(seen.joined(0, "text"), "HiHi");
    assert_eq!(seen.events[0]["message"]["usage"]["input_tokens"], 7);
    assert_eq!(
        seen.events[5]["usage"],
        json!({"input_tokens": 7, "cache_creation_input_tokens": 0,
               "cache_read_input_tokens": 3, "output_tokens": 5})
    );
}

#[tokio::test]
async fn sends_hand_written_events() {
    let fixture = Fixture::new(
        r#"
- user: hello
  reply:
    events:
      - data: {type: brand_new_event, extra: [1]}
      - raw: ": a comment\n\n"
      - data: {type: message_stop}
"#,
    )
    .await;
    let seen = fixture.stream(json!([user("hello")])).await;
    assert_eq!(seen.types(), ["brand_new_event", "message_stop"]);
}

#[tokio::test]
async fn serves_models_and_token_counts() {
    let fixture = Fixture::new(SCRIPT).await;
    let models: serde_json::Value = fixture
        .get("/v1/models")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let id = models["data"][0]["id"].as_str().unwrap();
    let card = fixture
        .get(&format!("/v1/models/{id}"))
        .send()
        .await
        .unwrap();
    assert_eq!(card.status(), 200);
    let unknown = fixture.get("/v1/models/nothing").send().await.unwrap();
    assert_eq!(unknown.status(), 404);

    let mut body = request(json!([user("hello")]));
    body.as_object_mut().unwrap().remove("max_tokens");
    let count: serde_json::Value = fixture
        .post("/v1/messages/count_tokens", &body)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert!(count["input_tokens"].as_u64().unwrap() > 0);
}
