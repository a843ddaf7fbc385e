//! Models, sizes, and the verification on drop.

use mock_messages_api::{MockMessagesApi, Model, Script};
use reqwest::Client;
use serde_json::{Value, json};

use crate::fixture::{Fixture, assistant, refusal, request, user};

async fn refused_by(model: Model, mut body: Value) -> (u16, String) {
    let api = MockMessagesApi::builder()
        .model(model)
        .start()
        .await
        .unwrap();
    body["stream"] = json!(true);
    let response = Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .post(format!("{}/v1/messages", api.root_url()))
        .header("anthropic-version", "2023-06-01")
        .header("authorization", "Bearer dummy")
        .json(&body)
        .send()
        .await
        .unwrap();
    let (status, body) = refusal(response).await;
    (
        status,
        body["error"]["message"].as_str().unwrap().to_owned(),
    )
}

#[tokio::test]
async fn keeps_the_limits_of_its_models() {
    let body = || request(json!([user("hello"), assistant("Hel")]));
    let sonnet = || Model::new("claude-sonnet-5");
    for (model, status, message) in [
        (
            Model::new("claude-haiku-4-5"),
            404,
            "model: claude-sonnet-5",
        ),
        (
            sonnet().max_output_tokens(99),
            400,
            "max_tokens: 100 > 99, which is the maximum allowed number of output tokens for claude-sonnet-5",
        ),
        (
            sonnet().context_tokens(5),
            400,
            "prompt is too long: 18 tokens > 5 maximum",
        ),
        (
            sonnet().context_tokens(110),
            400,
            "input length and `max_tokens` exceed context limit: 18 + 100 > 110, \
             decrease input length or `max_tokens` and try again",
        ),
        (
            sonnet().without_prefill(),
            400,
            "This model does not support assistant message prefill. \
             The conversation must end with a user message.",
        ),
        (sonnet(), 403, "no script is mounted for the session ``"),
    ] {
        assert_eq!(
            refused_by(model, body()).await,
            (status, message.to_owned())
        );
    }
}

#[tokio::test]
async fn refuses_a_body_of_more_than_32_megabytes() {
    let fixture = Fixture::new("[]").await;
    let text = "x".repeat(32 * 1024 * 1024);
    let (status, body) = fixture.refused(json!([user(text)])).await;
    assert_eq!(status, 413);
    assert_eq!(body["error"]["type"], "request_too_large");
}

#[tokio::test]
#[should_panic(expected = "exchange 1 was never asked for")]
async fn verifies_on_drop_when_told_to() {
    let api = MockMessagesApi::builder()
        .verify_on_drop()
        .start()
        .await
        .unwrap();
    let script = Script::from_yaml("[{user: hello, reply: [{text: Hello.}]}]").unwrap();
    api.mount("cell", script);
}
