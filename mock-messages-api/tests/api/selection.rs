//! Which exchange answers.

use serde_json::{Value, json};

use crate::fixture::{Fixture, assistant, request, text, tool_result, tool_use, user};

const SCRIPT: &str = r#"
- user: publish the draft
  reply: [{text: Publishing.}, {call: publish, input: {message: draft}}]
- reply: [{text: I could not confirm it.}]
  expect: {tool_result: {of: publish, contains: not known}}
- user: {contains: goodbye}
  reply: [{text: Bye.}]
- reply: [{text: Still here.}]
"#;

async fn answer(script: &str, messages: Value) -> String {
    let fixture = Fixture::new(script).await;
    text_of(&fixture.whole(messages).await)
}

fn text_of(message: &Value) -> String {
    message["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect()
}

fn called() -> Value {
    assistant(json!([
        text("Publishing."),
        tool_use("toolu_1_2", "publish")
    ]))
}

#[tokio::test]
async fn takes_the_last_text_of_the_user_and_skips_what_the_cli_adds() {
    let reminder = text("<system-reminder>be brief</system-reminder>");
    let note = json!({"role": "system", "content": [text("notes for the model")]});
    let messages = json!([user(json!([reminder, text("publish the draft")])), note]);
    assert_eq!(answer(SCRIPT, messages).await, "Publishing.");
}

#[tokio::test]
async fn follows_by_tool_use_id_whatever_the_result_says() {
    for result in ["published", "not known"] {
        let messages = json!([
            user("publish the draft"),
            called(),
            user(json!([tool_result("toolu_1_2", result)])),
            {"role": "system", "content": "tokens left"},
        ]);
        assert_eq!(answer(SCRIPT, messages).await, "I could not confirm it.");
    }
}

#[tokio::test]
async fn follows_a_resumed_deferral_before_its_continuation_text() {
    let messages = json!([
        user("publish the draft"),
        called(),
        user(json!([
            tool_result("toolu_1_2", "not known"),
            text("Continue from where you left off.")
        ])),
    ]);
    assert_eq!(answer(SCRIPT, messages).await, "I could not confirm it.");
}

#[tokio::test]
async fn follows_by_the_one_call_that_a_resume_has_kept() {
    let script = "
- user: both
  reply: [{call: pay}, {call: ship}]
- reply: [{text: Done.}]
";
    let messages = json!([
        user("both"),
        assistant(json!([tool_use("toolu_1_2", "ship")])),
        user(json!([tool_result("toolu_1_2", "shipped")])),
    ]);
    assert_eq!(answer(script, messages).await, "Done.");
}

#[tokio::test]
async fn follows_by_text_when_there_was_no_call() {
    let messages = json!([user("so goodbye then"), assistant("Bye."), user("wait")]);
    assert_eq!(answer(SCRIPT, messages).await, "Still here.");
}

#[tokio::test]
async fn takes_a_named_text_before_what_follows() {
    let messages = json!([
        user("so goodbye then"),
        assistant("Bye."),
        user("publish the draft")
    ]);
    assert_eq!(answer(SCRIPT, messages).await, "Publishing.");
}

#[tokio::test]
async fn tells_the_same_words_apart_by_the_history() {
    let script = "
- user: hello
  reply: [{text: Hello.}]
- user: hello
  reply: [{text: Hello again.}, {call: look}]
";
    let fixture = Fixture::new(script).await;
    let first = json!([user("hello")]);
    let second = json!([user("hello"), assistant("Hello."), user("hello")]);
    for _ in 0..2 {
        assert_eq!(text_of(&fixture.whole(first.clone()).await), "Hello.");
        assert_eq!(
            text_of(&fixture.whole(second.clone()).await),
            "Hello again."
        );
    }
}

#[tokio::test]
async fn never_repeats_a_tool_use_id_in_one_history() {
    let fixture = Fixture::new(SCRIPT).await;
    let messages = json!([
        user("publish the draft"),
        called(),
        user(json!([tool_result("toolu_1_2", "done")])),
        assistant("I could not confirm it."),
        user("publish the draft"),
    ]);
    let message = fixture.whole(messages.clone()).await;
    assert_eq!(message["content"][1]["id"], "toolu_1_2_again1");

    let mut longer = messages.as_array().unwrap().clone();
    longer.push(assistant(message["content"].clone()));
    longer.push(user(json!([tool_result("toolu_1_2_again1", "done")])));
    let message = fixture.whole(json!(longer)).await;
    assert_eq!(text_of(&message), "I could not confirm it.");
}

#[tokio::test]
async fn gives_each_attempt_its_reply_and_the_last_from_then_on() {
    let script = "
- user: hello
  reply:
    attempts:
      - {status: 529}
      - {status: 500, error: {type: api_error, message: broken}}
      - [{text: Hello.}]
";
    let fixture = Fixture::new(script).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let response = fixture.send(&request(json!([user("hello")]))).await;
        statuses.push(response.status().as_u16());
    }
    assert_eq!(statuses, [529, 500, 200, 200]);
}

#[tokio::test]
async fn narrows_by_conditions() {
    let script = "
- user: hello
  when: {has_tools: true}
  reply: [{text: With tools.}]
- user: hello
  when: {stream: false, model: {contains: sonnet}, system: {contains: monitor}}
  reply: [{text: Monitoring.}]
";
    let fixture = Fixture::new(script).await;
    let mut body = request(json!([user("hello")]));
    body["system"] = json!([text("You are a security monitor.")]);
    let monitoring: Value = fixture.send(&body).await.json().await.unwrap();
    assert_eq!(text_of(&monitoring), "Monitoring.");
    body["tools"] = json!([{"name": "Bash"}]);
    let with_tools: Value = fixture.send(&body).await.json().await.unwrap();
    assert_eq!(text_of(&with_tools), "With tools.");
}

#[tokio::test]
async fn names_the_tool_as_the_request_offers_it() {
    for (offered, expected) in [
        (json!(["mcp__tools__publish"]), "mcp__tools__publish"),
        (json!(["publish", "mcp__tools__publish"]), "publish"),
        (json!(["mcp__tools__republish"]), "publish"),
        (json!([]), "publish"),
    ] {
        let fixture = Fixture::new(SCRIPT).await;
        let mut body = request(json!([user("publish the draft")]));
        let tools = offered.as_array().unwrap().iter();
        body["tools"] = tools.map(|name| json!({"name": name})).collect();
        let message: Value = fixture.send(&body).await.json().await.unwrap();
        assert_eq!(message["content"][1]["name"], expected, "{offered}");
        assert!(fixture.journal()[0].failed_expectations.is_empty());
    }
}

#[tokio::test]
async fn reports_a_call_that_means_several_tools() {
    let fixture = Fixture::new(SCRIPT).await;
    let mut body = request(json!([user("publish the draft")]));
    body["tools"] = json!([{"name": "mcp__a__publish"}, {"name": "mcp__b__publish"}]);
    let message: Value = fixture.send(&body).await.json().await.unwrap();
    assert_eq!(message["content"][1]["name"], "publish");
    let failed = &fixture.journal()[0].failed_expectations;
    assert!(
        failed[0].contains("mcp__a__publish, mcp__b__publish"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn answers_403_to_what_nothing_answers_and_says_what_came_nearest() {
    let fixture = Fixture::new(SCRIPT).await;
    let response = fixture
        .send(&request(json!([user("publish the draught")])))
        .await;
    assert_eq!(response.headers()["x-should-retry"], "false");
    let (status, body) = crate::fixture::refusal(response).await;
    assert_eq!(status, 403);
    assert_eq!(body["error"]["type"], "permission_error");
    let message = body["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("nearest: exchange 1 wants \"publish the draft\";"),
        "{message}"
    );
    assert!(fixture.problems()[0].contains("no exchange of the script answers"));
}
