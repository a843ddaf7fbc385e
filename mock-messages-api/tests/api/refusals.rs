//! Requests that the real API refuses.

use serde_json::{Value, json};

use crate::fixture::{Fixture, assistant, refusal, request, text, tool_result, tool_use, user};

async fn message_of(messages: Value) -> String {
    let fixture = Fixture::new("[]").await;
    let response = fixture.send(&request(messages)).await;
    assert_eq!(response.headers()["x-should-retry"], "false");
    let (status, body) = refusal(response).await;
    assert_eq!(status, 400);
    assert_eq!(body["error"]["type"], "invalid_request_error");
    assert!(body["request_id"].as_str().unwrap().starts_with("req_"));
    assert_eq!(fixture.problems().len(), 1);
    body["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn refuses_a_tool_use_without_its_result() {
    let messages = json!([
        user("go"),
        assistant(json!([
            text("Both."),
            tool_use("toolu_b", "x"),
            tool_use("toolu_a", "x")
        ])),
        {"role": "system", "content": "a note"},
        user("never mind"),
    ]);
    assert_eq!(
        message_of(messages).await,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_b, toolu_a. \
         Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    );
}

#[tokio::test]
async fn refuses_a_result_without_its_tool_use() {
    let messages = json!([
        user("go"),
        assistant("Gone."),
        user(json!([text("so"), tool_result("toolu_lost", "done")])),
    ]);
    assert_eq!(
        message_of(messages).await,
        "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_lost. \
         Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
    );
}

#[tokio::test]
async fn refuses_ids_that_repeat_or_are_ill_formed() {
    let twice = json!([
        user("go"),
        assistant(json!([tool_use("toolu_1", "x"), tool_use("toolu_1", "x")])),
        user(json!([tool_result("toolu_1", "done")])),
    ]);
    assert_eq!(
        message_of(twice).await,
        "messages.1.content.1: `tool_use` ids must be unique"
    );
    let ill_formed = json!([user("go"), assistant(json!([tool_use("tool use!", "x")]))]);
    let message = message_of(ill_formed).await;
    assert!(message.contains("String should match pattern"), "{message}");
}

#[tokio::test]
async fn refuses_empty_texts_and_a_wrong_start() {
    assert_eq!(
        message_of(json!([user(json!([text("")]))])).await,
        "messages: text content blocks must be non-empty"
    );
    assert_eq!(
        message_of(json!([assistant("I begin.")])).await,
        "messages: first message must use the \"user\" role"
    );
}

#[tokio::test]
async fn accepts_results_spread_over_messages_of_one_role() {
    let script = "[{user: {contains: ''}, reply: [{text: Fine.}]}]";
    let fixture = Fixture::new(script).await;
    let messages = json!([
        user("go"),
        assistant(json!([tool_use("toolu_a", "x")])),
        assistant(json!([tool_use("toolu_b", "x")])),
        {"role": "system", "content": "a note"},
        user(json!([tool_result("toolu_a", "done")])),
        user(json!([tool_result("toolu_b", "done"), text("and now?")])),
    ]);
    assert_eq!(fixture.whole(messages).await["content"][0]["text"], "Fine.");
}

#[tokio::test]
async fn refuses_bad_headers_json_and_routes() {
    let fixture = Fixture::new("[]").await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = || {
        client
            .post(fixture.url("/v1/messages"))
            .json(&request(json!([user("hello")])))
    };
    let message = |response| async {
        let (status, body) = refusal(response).await;
        (
            status,
            body["error"]["message"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        message(post().send().await.unwrap()).await,
        (401, "x-api-key header is required".to_owned())
    );
    let with_key = || post().header("x-api-key", "dummy");
    assert_eq!(
        message(with_key().send().await.unwrap()).await,
        (400, "anthropic-version: header is required".to_owned())
    );
    let with_version = with_key().header("anthropic-version", "2023-06-01, 2023-06-01");
    assert_eq!(
        message(with_version.send().await.unwrap()).await,
        (
            400,
            "anthropic-version: \"2023-06-01, 2023-06-01\" is not a valid version".to_owned()
        )
    );
    let broken = with_key()
        .header("anthropic-version", "2023-06-01")
        .body("{");
    let (status, text) = message(broken.send().await.unwrap()).await;
    assert_eq!(status, 400);
    assert!(
        text.starts_with("The request body is not valid JSON: "),
        "{text}"
    );
    let elsewhere = client.post(fixture.url("/v1/complete"));
    assert_eq!(
        message(elsewhere.send().await.unwrap()).await,
        (404, "Not Found".to_owned())
    );
}

#[tokio::test]
async fn accepts_every_version_that_official_clients_send() {
    let fixture = Fixture::new("[{user: hello, reply: [{text: Hello.}]}]").await;
    for version in ["2023-06-01", "2026-10-21"] {
        let status = reqwest::Client::builder()
            .no_proxy()
            .build()
            .unwrap()
            .post(fixture.url("/v1/messages"))
            .header("x-api-key", "dummy")
            .header("anthropic-version", version)
            .json(&request(json!([user("hello")])))
            .send()
            .await
            .unwrap()
            .status();
        assert_eq!(status, 200, "{version}");
    }
}
