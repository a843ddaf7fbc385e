//! A Messages API on a bad day.

use serde_json::{Value, json};

use super::api::{
    Api, Reply, block_events, end_events, error, event, refund, says, start_event, text,
};
use super::host::{Outcome, Place, Run};

async fn outcome_of(replies: Vec<Reply>) -> (Outcome, Vec<Value>) {
    let api = Api::replying(replies).await;
    let outcome = Place::new(&api)
        .run(Run::prompt("go").deciding("allow"))
        .await;
    (outcome, api.requests())
}

#[tokio::test]
async fn an_overloaded_api_is_asked_again() {
    let (outcome, requests) = outcome_of(vec![
        error(529, "overloaded_error", "Overloaded"),
        says(&[text("Hello.")]),
    ])
    .await;
    assert_eq!(outcome.result()["result"], "Hello.");
    assert_eq!(requests.len(), 2);
    let frames = outcome.of_type("system");
    let retry = frames
        .iter()
        .find(|frame| frame["subtype"] == "api_retry")
        .unwrap();
    assert_eq!(retry["attempt"], 1);
    assert_eq!(retry["max_retries"], 1);
    assert_eq!(retry["error"], "overloaded");
    assert_eq!(retry["error_status"], 529);
}

#[tokio::test]
async fn an_api_that_forbids_retries_is_asked_once() {
    let envelope = json!({"type": "error", "error": {"type": "x", "message": "Overloaded"}});
    let refused = Reply::Error(529, envelope, vec![("x-should-retry", "false")]);
    let (outcome, requests) = outcome_of(vec![refused]).await;
    assert_eq!(requests.len(), 1);
    let result = outcome.result();
    assert_eq!(result["subtype"], "success");
    assert_eq!(result["is_error"], true);
    assert_eq!(result["terminal_reason"], "api_error");
    assert_eq!(result["api_error_status"], 529);
    assert_eq!(outcome.code, 1);
    let shown = outcome.of_type("assistant")[0];
    assert_eq!(shown["message"]["model"], "<synthetic>");
    assert_eq!(shown["error"], "server_error");
    assert_eq!(shown["request_id"], "req_test");
}

#[tokio::test]
async fn an_invalid_request_is_repeated_with_fewer_features() {
    let bad = || error(400, "invalid_request_error", "bad thing");
    let (outcome, requests) = outcome_of(vec![bad(), bad(), bad()]).await;
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0]["thinking"]["display"], "updates");
    assert!(requests[2]["thinking"].get("display").is_none());
    assert_eq!(outcome.result()["result"], "API Error: 400 bad thing");
}

#[tokio::test]
async fn a_reply_cut_inside_its_first_block_is_dropped() {
    let cut = start_event("msg_cut")
        + &event(&json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}));
    let (outcome, requests) = outcome_of(vec![Reply::Stream(cut), says(&[text("Hello.")])]).await;
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0]["messages"], requests[1]["messages"]);
    assert_eq!(outcome.of_type("assistant").len(), 1);
}

#[tokio::test]
async fn a_reply_cut_after_a_text_is_continued() {
    let cut = start_event("msg_cut") + &block_events(0, &text("Half"));
    let (outcome, requests) = outcome_of(vec![Reply::Stream(cut), says(&[text("Rest.")])]).await;
    assert_eq!(requests.len(), 2);
    let words = &outcome.of_type("user")[0]["message"]["content"][0]["text"];
    assert!(
        words
            .as_str()
            .unwrap()
            .starts_with("Your response above was cut off mid-stream.")
    );
    assert_eq!(outcome.result()["num_turns"], 2);
}

#[tokio::test]
async fn a_complete_call_of_a_lost_reply_runs() {
    let cut = start_event("msg_cut") + &block_events(0, &refund("toolu_01", "7"));
    let (outcome, _) = outcome_of(vec![Reply::Stream(cut), says(&[text("Done.")])]).await;
    assert_eq!(outcome.tool_calls().len(), 1);
    assert_eq!(outcome.result()["result"], "Done.");
    let lost = outcome.of_type("assistant")[1];
    assert_eq!(lost["error"], "server_error");
}

#[tokio::test]
async fn what_cannot_be_read_as_a_stream_is_asked_for_in_one_piece() {
    let without_names = format!(
        "data: {}\n\n",
        json!({"type": "message_start", "message": {}})
    );
    let failed = event(&json!({"type": "error", "error": {"type": "api_error", "message": "x"}}));
    let garbage = "event: message_start\ndata: {broken\n\n".to_owned();
    for stream in [String::new(), without_names, failed, garbage] {
        let (outcome, requests) =
            outcome_of(vec![Reply::Stream(stream), says(&[text("Hello.")])]).await;
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[1]["stream"], false);
        assert_eq!(outcome.result()["result"], "Hello.");
    }
}

#[tokio::test]
async fn a_missing_end_is_forgiven_when_the_stop_reason_came() {
    let stream =
        start_event("msg_end") + &block_events(0, &text("Hello.")) + &end_events("end_turn");
    let stream = stream.replace(
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "",
    );
    let (outcome, requests) = outcome_of(vec![Reply::Stream(stream)]).await;
    assert_eq!(requests.len(), 1);
    assert_eq!(outcome.result()["result"], "Hello.");
}

#[tokio::test]
async fn input_that_is_no_json_is_shown_to_the_model() {
    let broken = event(
        &json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "tool_use", "id": "toolu_01", "name": "mcp__tools__create_refund", "input": {}}}),
    ) + &event(&json!({"type": "content_block_delta", "index": 0, "delta":
            {"type": "input_json_delta", "partial_json": "{\"order_id\": "}}))
        + &event(&json!({"type": "content_block_stop", "index": 0}));
    let stream = start_event("msg_broken") + &broken + &end_events("tool_use");
    let (outcome, requests) = outcome_of(vec![Reply::Stream(stream), says(&[text("Done.")])]).await;
    assert!(outcome.tool_calls().is_empty());
    assert!(outcome.asked("hook_callback").is_empty());
    let call = &requests[1]["messages"][2]["content"][0];
    assert_eq!(
        call["input"],
        json!({"__unparsedToolInput": {"raw": "{\"order_id\": ", "len": 13}})
    );
}

#[tokio::test]
async fn without_a_key_nothing_is_asked() {
    let api = Api::replying([]).await;
    let run = Run::prompt("go").environment("ANTHROPIC_API_KEY", "");
    let outcome = Place::new(&api).run(run).await;
    assert!(api.requests().is_empty());
    assert_eq!(
        outcome.result()["result"],
        "Not logged in · Please run /login"
    );
    assert_eq!(outcome.code, 1);
}
