//! Turns without anything special.

use serde_json::{Value, json};

use super::api::{Api, Reply, refund, says, text};
use super::host::{Place, Run};

#[tokio::test]
async fn a_reply_becomes_a_result() {
    let api = Api::replying([says(&[text("Hello.")])]).await;
    let outcome = Place::new(&api).run(Run::prompt("hi")).await;
    let result = outcome.result();
    assert_eq!(result["subtype"], "success");
    assert_eq!(result["result"], "Hello.");
    assert_eq!(result["stop_reason"], "end_turn");
    assert_eq!(result["num_turns"], 1);
    assert_eq!(result["total_cost_usd"], json!(9.559999999999999e-5));
    assert_eq!(outcome.code, 0);
    assert_eq!(outcome.stderr, "");
}

#[tokio::test]
async fn a_request_looks_like_the_real_ones() {
    let api = Api::replying([says(&[text("Hello.")])]).await;
    let run = Run::prompt("hi").with(&["--tools", "", "--system-prompt", "Be brief."]);
    Place::new(&api).run(run).await;
    let body = &api.requests()[0];
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "model",
            "messages",
            "system",
            "tools",
            "metadata",
            "max_tokens",
            "thinking",
            "context_management",
            "output_config",
            "stream",
        ]
    );
    assert_eq!(
        body["messages"][0],
        json!({"role": "user", "content": "hi"})
    );
    assert_eq!(body["messages"][1]["role"], "system");
    assert_eq!(body["system"][2]["text"], "Be brief.");
    let request = &api.headers().await[0];
    let header = |name: &str| {
        request
            .headers
            .get(name)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(header("x-api-key"), "dummy");
    assert_eq!(header("anthropic-version"), "2023-06-01");
    assert_eq!(
        header("user-agent"),
        "claude-cli/2.1.316 (external, sdk-py)"
    );
    assert_eq!(request.url.query(), Some("beta=true"));
}

#[tokio::test]
async fn every_prompt_gets_a_turn_of_its_own() {
    let api = Api::replying([says(&[text("One.")]), says(&[text("Two.")])]).await;
    let mut run = Run::prompt("first");
    run.prompts.push(json!("second"));
    let outcome = Place::new(&api).run(run).await;
    let indexes: Vec<&Value> = outcome
        .results()
        .iter()
        .map(|result| &result["result_index"])
        .collect();
    assert_eq!(indexes, [0, 1]);
    let texts: Vec<Value> = api
        .last_messages()
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(texts[0][1]["text"], "first");
    assert_eq!(texts[1][0]["text"], "One.");
    assert_eq!(texts[2], "second");
}

#[tokio::test]
async fn partial_messages_carry_every_event_but_pings() {
    let api = Api::replying([says(&[text("Hello.")])]).await;
    let outcome = Place::new(&api)
        .run(Run::prompt("hi").with(&["--include-partial-messages"]))
        .await;
    let order: Vec<String> = outcome
        .frames
        .iter()
        .filter_map(|frame| match frame["type"].as_str()? {
            "stream_event" => frame["event"]["type"].as_str().map(str::to_owned),
            "assistant" => Some("assistant".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(
        order,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "assistant",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
}

#[tokio::test]
async fn stop_reasons_are_followed_up_as_observed() {
    let injected = |reason: &'static str| async move {
        let first = Reply::Message(vec![text("cut")], reason);
        let api = Api::replying([first, says(&[text("Done.")])]).await;
        let outcome = Place::new(&api).run(Run::prompt("hi")).await;
        let words = outcome.of_type("user").first().map(|frame| {
            frame["message"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        });
        (api.requests().len(), words.unwrap_or_default())
    };
    for reason in [
        "end_turn",
        "stop_sequence",
        "pause_turn",
        "brand_new_reason",
    ] {
        assert_eq!(injected(reason).await, (1, String::new()), "{reason}");
    }
    for (reason, words) in [
        ("max_tokens", "Output token limit hit."),
        ("model_context_window_exceeded", "Output token limit hit."),
        (
            "tool_use",
            "The previous response failed to produce a valid tool call.",
        ),
        (
            "refusal",
            "Your response above was stopped by a safety classifier",
        ),
    ] {
        let (requests, said) = injected(reason).await;
        assert_eq!(requests, 2, "{reason}");
        assert!(said.starts_with(words), "{reason}: {said}");
    }
}

#[tokio::test]
async fn an_invisible_reply_is_asked_for_again_once() {
    let api = Api::replying([says(&[]), says(&[])]).await;
    let outcome = Place::new(&api).run(Run::prompt("hi")).await;
    assert_eq!(api.requests().len(), 2);
    assert_eq!(outcome.result()["result"], "");
    assert_eq!(outcome.result()["num_turns"], 2);
}

#[tokio::test]
async fn the_limit_of_turns_lets_the_last_call_run() {
    let api = Api::replying([says(&[refund("toolu_01", "7")])]).await;
    let run = Run::prompt("go")
        .with(&["--max-turns", "1"])
        .deciding("allow");
    let outcome = Place::new(&api).run(run).await;
    assert_eq!(outcome.tool_calls().len(), 1);
    let result = outcome.result();
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!(
        result["errors"],
        json!(["Reached maximum number of turns (1)"])
    );
    assert!(result.get("result").is_none());
    assert_eq!(outcome.code, 1);
}
