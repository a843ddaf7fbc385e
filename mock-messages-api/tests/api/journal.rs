//! What the journal keeps and what the verification makes of it.

use mock_messages_api::{MockMessagesApi, Outcome, ReplyEnd, Script};
use serde_json::json;

use crate::fixture::{Fixture, assistant, text, tool_result, tool_use, user};

const SCRIPT: &str = r#"
- user: publish the draft
  reply: [{call: publish}]
- reply: [{text: Done.}]
  expect:
    tool_result: {of: publish, contains: not known, is_error: true}
    tools: [publish]
- user: never
  reply: [{text: Never.}]
- user: perhaps
  optional: true
  reply: [{text: Perhaps.}]
"#;

#[tokio::test]
async fn keeps_every_request_with_its_outcome() {
    let fixture = Fixture::with_key(SCRIPT, "dummy").await;
    fixture.stream(json!([user("publish the draft")])).await;
    fixture.refused(json!([user("something else")])).await;

    let journal = fixture.journal();
    let [answered, unanswered] = &journal[..] else {
        panic!("two requests, not {journal:?}");
    };
    assert_eq!((answered.number, unanswered.number), (1, 2));
    assert_eq!(answered.client.as_deref(), Some("spawn-1"));
    assert_eq!(answered.path, "/cell/spawn-1/v1/messages?beta=true");
    assert_eq!(answered.headers["x-api-key"], "[expected key]");
    assert_eq!(answered.body["messages"][0]["content"], "publish the draft");
    assert_eq!(
        answered.outcome,
        Outcome::Answered {
            exchange: 1,
            attempt: 1,
            message_id: Some("msg_1".to_owned()),
            status: 200,
        }
    );
    assert_eq!(answered.events.first().unwrap(), "message_start");
    assert_eq!(answered.events.last().unwrap(), "message_stop");
    assert_eq!(answered.end, Some(ReplyEnd::Completed));
    assert!(matches!(unanswered.outcome, Outcome::Unanswered { .. }));
}

#[tokio::test]
async fn never_keeps_a_key() {
    let fixture = Fixture::with_key(SCRIPT, "another").await;
    let (status, body) = fixture.refused(json!([user("publish the draft")])).await;
    assert_eq!(status, 401);
    assert_eq!(body["error"]["type"], "authentication_error");
    assert_eq!(body["error"]["message"], "invalid x-api-key");
    let entry = &fixture.journal()[0];
    assert_eq!(entry.headers["x-api-key"], "[unexpected key]");
    assert!(!serde_json::to_string(entry).unwrap().contains("dummy"));
}

#[tokio::test]
async fn lists_failed_expectations_and_exchanges_never_asked_for() {
    let fixture = Fixture::new(SCRIPT).await;
    fixture.stream(json!([user("publish the draft")])).await;
    fixture
        .stream(json!([
            user("publish the draft"),
            assistant(json!([tool_use("toolu_1_1", "mcp__tools__publish")])),
            user(json!([
                tool_result("toolu_1_1", "published"),
                text("go on")
            ])),
        ]))
        .await;
    assert_eq!(
        fixture.problems(),
        [
            "request 2: the tool `publish` should be offered, but the tools are []",
            "request 2: the tool result of `publish` differs: its text should be a text containing \
             \"not known\", but is \"published\" and its `is_error` should be true, but is false",
            "exchange 3 was never asked for",
        ]
    );
}

#[tokio::test]
async fn looks_past_what_the_cli_adds_to_a_result() {
    let fixture = Fixture::new(
        "
- user: run
  reply: [{call: Bash}, {call: Bash}]
- expect: {tool_result: [{of: Bash, equals: two}, {of: Bash, matches: '^one$'}], tool_result_count: 2}
  reply: [{text: Done.}]
",
    )
    .await;
    let reminded = "two\n\n<system-reminder>\n9 tokens left\n</system-reminder>";
    for results in [["one", reminded], [reminded, "one"]] {
        fixture
            .whole(json!([
                user("run"),
                assistant(json!([
                    tool_use("toolu_1_1", "Bash"),
                    tool_use("toolu_1_2", "Bash")
                ])),
                user(json!([
                    tool_result("toolu_1_1", results[0]),
                    tool_result("toolu_1_2", results[1])
                ])),
            ]))
            .await;
    }
    assert_eq!(fixture.problems(), ["exchange 1 was never asked for"]);
}

#[tokio::test]
async fn is_silent_about_a_session_that_went_as_scripted() {
    let fixture = Fixture::new("[{user: hello, reply: [{text: Hello.}]}]").await;
    fixture.stream(json!([user("hello")])).await;
    assert_eq!(fixture.api.verify("cell"), Ok(()));
    assert!(fixture.api.verify("nobody").is_err());
}

#[tokio::test]
async fn keeps_sessions_apart() {
    let fixture = Fixture::new("[{user: hello, reply: [{text: Hello.}]}]").await;
    let api: &MockMessagesApi = &fixture.api;
    api.mount("other", mock_messages_api::Script::new());
    fixture.stream(json!([user("hello")])).await;
    assert_eq!(api.journal("cell").len(), 1);
    assert_eq!(api.journal("other").len(), 0);
}

#[tokio::test]
async fn begins_anew_when_a_script_is_mounted_anew() {
    let fixture =
        Fixture::new("[{user: hello, reply: {content: [], fault: {after: headers, then: stall}}}]")
            .await;
    let mut body = crate::fixture::request(json!([user("hello")]));
    body["stream"] = json!(true);
    let stalled = fixture.send(&body).await;

    let script = Script::from_yaml("[{user: hello, reply: [{text: Hello.}]}]").unwrap();
    fixture.api.mount("cell", script);
    assert_eq!(fixture.journal(), []);
    fixture.stream(json!([user("hello")])).await;
    drop(stalled);
    // The request that stalled belongs to a journal that is gone.
    let journal = fixture.journal();
    assert_eq!(journal.len(), 1);
    assert_eq!(journal[0].number, 2);
    assert_eq!(journal[0].end, Some(ReplyEnd::Completed));

    assert!(fixture.api.unmount("cell"));
    assert!(!fixture.api.unmount("cell"));
    assert!(fixture.api.verify("cell").is_err());
}
