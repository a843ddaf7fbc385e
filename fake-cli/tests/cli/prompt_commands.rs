//! A session without any API.

use super::api::Api;
use super::host::{Answer, Place, Run};
use serde_json::json;

async fn commanded(prompts: &[&str]) -> super::host::Outcome {
    let api = Api::replying([]).await;
    let mut run = Run::new().with(&["--prompt-commands"]).deciding("allow");
    run.prompts = prompts.iter().map(|prompt| json!(prompt)).collect();
    let run = run.environment("ANTHROPIC_API_KEY", "");
    let outcome = Place::new(&api).run(run).await;
    assert!(api.requests().is_empty());
    outcome
}

#[tokio::test]
async fn the_prompt_says_what_the_model_does() {
    let outcome = commanded(&["say Hello.", "recall"]).await;
    assert_eq!(outcome.results()[0]["result"], "Hello.");
    assert_eq!(outcome.results()[1]["result"], "say Hello.");
    let outcome = commanded(&["call mcp__tools__create_refund {\"order_id\": \"7\"}"]).await;
    assert_eq!(outcome.tool_calls(), [&json!({"order_id": "7"})]);
    assert_eq!(outcome.result()["result"], "refunded 7");
    let outcome = commanded(&["fail 529"]).await;
    assert_eq!(outcome.result()["api_error_status"], 529);
    assert_eq!(outcome.code, 1);
}

#[tokio::test]
async fn a_stalled_model_can_be_interrupted() {
    let api = Api::replying([]).await;
    let hooks = json!({"UserPromptSubmit": [{"hookCallbackIds": ["hook_0"]}]});
    let run = Run::prompt("stall")
        .with(&["--prompt-commands"])
        .hooks(hooks)
        .hook(|_| Answer::InterruptTurn);
    let outcome = Place::new(&api).run(run).await;
    assert_eq!(outcome.result()["terminal_reason"], "aborted_streaming");
}

#[tokio::test]
async fn the_blocks_of_a_prompt_are_its_lines() {
    let api = Api::replying([]).await;
    let mut run = Run::new().with(&["--prompt-commands"]);
    run.prompts = vec![json!([
        {"type": "text", "text": "say One."},
        {"type": "text", "text": "say Two."},
    ])];
    let outcome = Place::new(&api).run(run).await;
    let said: Vec<&str> = outcome
        .of_type("assistant")
        .iter()
        .filter_map(|frame| frame["message"]["content"][0]["text"].as_str())
        .collect();
    assert_eq!(said, ["One.", "Two."]);
}
