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

#[tokio::test]
async fn without_streaming_only_the_result_is_printed() {
    let place = Place::new(&Api::replying([]).await);
    let print = async |arguments: &[&str]| {
        let mut command = place.command();
        command.args(["-p", "--prompt-commands"]).args(arguments);
        let output = command.stdin(std::process::Stdio::null()).output().await;
        let output = output.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, words, _) = print(&["say Hello."]).await;
    assert_eq!((code, words.as_str()), (Some(0), "Hello.\n"));
    let (code, words, _) = print(&["fail 403"]).await;
    assert_eq!(code, Some(1));
    assert!(words.starts_with("Failed to authenticate."), "{words}");
    let (_, frame, _) = print(&["say Hello.", "--output-format", "json"]).await;
    let frame: serde_json::Value = serde_json::from_str(&frame).unwrap();
    assert_eq!(frame["result"], "Hello.");
    let (code, _, complaint) = print(&[]).await;
    assert_eq!(code, Some(1));
    assert!(
        complaint.starts_with("Error: Input must be provided"),
        "{complaint}"
    );
    let (code, _, complaint) = print(&["say Hello.", "--system-prompt-file", "nope"]).await;
    assert_eq!(code, Some(1));
    assert_eq!(complaint, "Error: System prompt file not found: nope\n");
}
