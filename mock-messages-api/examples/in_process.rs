//! A server in the process of a test, and a client that talks to it.

use mock_messages_api::{Block, Exchange, MockMessagesApi, Script};
use serde_json::json;

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = MockMessagesApi::start().await?;
    api.mount(
        "greeting",
        Script::new()
            .exchange(Exchange::user("hello", [Block::text("Hello!")]))
            .exchange(Exchange::follows([Block::text("Still here.")])),
    );

    // Anything that speaks the Messages API: the Claude Code CLI, an SDK, your own client.
    let reply: serde_json::Value = reqwest::Client::new()
        .post(api.base_url("greeting", "client-1") + "/v1/messages")
        .header("x-api-key", "dummy")
        .header("anthropic-version", "2023-06-01")
        .json(&json!({
            "model": "claude-sonnet-5",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "hello"}],
        }))
        .send()
        .await?
        .json()
        .await?;
    assert_eq!(reply["content"][0]["text"], "Hello!");

    let error = api
        .verify("greeting")
        .expect_err("the second exchange was not used");
    assert_eq!(error.problems, ["exchange 2 was never asked for"]);
    Ok(())
}
