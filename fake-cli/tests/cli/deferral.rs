//! Deferred calls and their resumption.

use serde_json::{Value, json};

use super::api::{Api, refund, says, text};
use super::host::{Answer, Outcome, Place, Run, decide, decide_because};

const REFUND: &str = "mcp__tools__create_refund";

async fn deferred(place: &Place) -> Outcome {
    let outcome = place
        .run(Run::prompt("refund order 7").deciding("defer"))
        .await;
    assert_eq!(outcome.result()["stop_reason"], "tool_deferred");
    outcome
}

fn one_call() -> [super::api::Reply; 2] {
    [
        says(&[text("Let me refund."), refund("toolu_01", "7")]),
        says(&[text("Done.")]),
    ]
}

#[tokio::test]
async fn a_deferral_ends_the_turn_without_running_the_call() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let outcome = deferred(&place).await;
    let result = outcome.result();
    assert_eq!(result["subtype"], "success");
    assert_eq!(result["is_error"], false);
    assert_eq!(result["terminal_reason"], "tool_deferred");
    assert_eq!(result["num_turns"], 1);
    assert_eq!(
        result["deferred_tool_use"],
        json!({"id": "toolu_01", "name": REFUND, "input": {"order_id": "7"}})
    );
    assert!(outcome.tool_calls().is_empty());
    assert!(outcome.tool_results().is_empty());
    assert_eq!(outcome.code, 0);
    let transcript = place.transcript();
    let deferral = transcript
        .iter()
        .find(|entry| entry["attachment"]["type"] == "hook_deferred_tool")
        .unwrap();
    assert_eq!(deferral["attachment"]["toolUseID"], "toolu_01");
    assert_eq!(deferral["attachment"]["hookName"], "settings");
}

#[tokio::test]
async fn a_resume_without_a_prompt_runs_the_call_and_continues() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let first = deferred(&place).await;
    let second = place.run(Run::resume(&first).deciding("allow")).await;
    assert_eq!(
        second.order(),
        [
            "running",
            "initialize",
            "response initialize",
            "notifications/initialized",
            "tools/list",
            "lifecycle started",
            "hook_callback",
            "tools/call",
            "hook_success",
            "user",
            "init",
            "assistant",
            "result",
            "lifecycle completed",
            "idle",
        ]
    );
    assert_eq!(second.tool_calls(), [&json!({"order_id": "7"})]);
    let hook = &second.asked("hook_callback")[0]["input"];
    assert!(hook.get("prompt_id").is_none(), "{hook}");
    let last = api.last_messages().pop().unwrap();
    assert_eq!(last["content"][0]["tool_use_id"], "toolu_01");
    assert_eq!(
        last["content"][1]["text"],
        "Continue from where you left off."
    );
    assert_eq!(second.result()["num_turns"], 1);
    assert_eq!(second.result()["result"], "Done.");
    assert_eq!(
        second.result()["modelUsage"]["claude-sonnet-5"]["inputTokens"],
        20
    );
    assert_eq!(second.result()["usage"]["input_tokens"], 10);
    assert_eq!(second.code, 0);
}

#[tokio::test]
async fn a_denied_call_is_told_to_the_model_with_the_reason() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let first = deferred(&place).await;
    let run =
        Run::resume(&first).hook(|_| Answer::Success(decide_because("deny", "human said no")));
    let second = place.run(run).await;
    let expected = format!("PreToolUse:{REFUND} hook error: human said no");
    assert_eq!(second.tool_result_text(), expected);
    assert!(second.tool_calls().is_empty());
    assert_eq!(
        second.result()["permission_denials"][0]["tool_use_id"],
        "toolu_01"
    );
}

#[tokio::test]
async fn the_call_deferred_last_is_named_and_the_others_vanish() {
    let api = Api::replying([
        says(&[refund("toolu_01", "1"), refund("toolu_02", "2")]),
        says(&[text("Done.")]),
    ])
    .await;
    let place = Place::new(&api);
    let first = place.run(Run::prompt("go").deciding("defer")).await;
    assert_eq!(first.result()["deferred_tool_use"]["id"], "toolu_02");
    let second = place.run(Run::resume(&first).deciding("allow")).await;
    assert_eq!(second.tool_calls(), [&json!({"order_id": "2"})]);
    let messages = api.last_messages();
    let reply = &messages[messages.len() - 2]["content"];
    assert_eq!(reply.as_array().unwrap().len(), 1);
    assert_eq!(reply[0]["id"], "toolu_02");
}

#[tokio::test]
async fn a_denied_sibling_does_not_stop_the_deferral() {
    let api = Api::replying([
        says(&[refund("toolu_01", "1"), refund("toolu_02", "2")]),
        says(&[text("Done.")]),
    ])
    .await;
    let place = Place::new(&api);
    let run = Run::prompt("go").hook(|request| {
        let first = request["tool_use_id"] == "toolu_01";
        Answer::Success(decide(if first { "defer" } else { "deny" }))
    });
    let first = place.run(run).await;
    assert_eq!(first.result()["deferred_tool_use"]["id"], "toolu_01");
    assert_eq!(first.result()["num_turns"], 2);
    place.run(Run::resume(&first).deciding("allow")).await;
    let last = api.last_messages().pop().unwrap();
    let ids: Vec<&Value> = last["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block.get("tool_use_id"))
        .collect();
    assert_eq!(ids, ["toolu_02", "toolu_01"]);
}

#[tokio::test]
async fn a_call_may_be_deferred_again_and_again() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let first = deferred(&place).await;
    for _ in 0..2 {
        let again = place.run(Run::resume(&first).deciding("defer")).await;
        assert_eq!(again.result()["stop_reason"], "tool_deferred");
        assert!(again.result().get("terminal_reason").is_none());
        assert_eq!(again.code, 0);
    }
    let last = place.run(Run::resume(&first).deciding("allow")).await;
    assert_eq!(last.tool_calls().len(), 1);
    assert_eq!(api.requests().len(), 2);
}

#[tokio::test]
async fn a_call_without_its_server_stays_pending() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let first = deferred(&place).await;
    let mut run = Run::resume(&first).deciding("allow");
    run.servers = false;
    let unavailable = place.run(run).await;
    assert_eq!(
        unavailable.result()["stop_reason"],
        "tool_deferred_unavailable"
    );
    assert_eq!(unavailable.result()["is_error"], true);
    assert_eq!(unavailable.code, 1);
    assert!(unavailable.asked("hook_callback").is_empty());
    let later = place.run(Run::resume(&first).deciding("allow")).await;
    assert_eq!(later.tool_calls().len(), 1);
}

#[tokio::test]
async fn a_server_that_only_initialize_names_comes_too_late() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let mut run = Run::prompt("go").deciding("defer");
    run.servers = false;
    run.late_servers = vec!["tools"];
    let first = place.run(run).await;
    assert_eq!(first.result()["stop_reason"], "tool_deferred");
    let mut run = Run::resume(&first).deciding("allow");
    run.servers = false;
    run.late_servers = vec!["tools"];
    let late = place.run(run).await;
    assert_eq!(late.result()["stop_reason"], "tool_deferred_unavailable");
    let configured = place.run(Run::resume(&first).deciding("allow")).await;
    assert_eq!(configured.tool_calls().len(), 1);
}

#[tokio::test]
async fn without_initialize_the_mode_decides_a_resumed_call() {
    for (mode, text) in [
        (
            "default",
            format!(
                "Claude requested permissions to use {REFUND}, but you haven't granted it yet."
            ),
        ),
        (
            "dontAsk",
            format!(
                "Permission to use {REFUND} has been denied because Claude Code is running in don't ask mode."
            ),
        ),
    ] {
        let api = Api::replying(one_call()).await;
        let place = Place::new(&api);
        let first = deferred(&place).await;
        let mut run =
            Run::new().with(&["--resume", &first.session_id(), "--permission-mode", mode]);
        run.initialize = false;
        let second = place.run(run).await;
        assert!(second.tool_result_text().starts_with(&text));
        assert!(second.asked("hook_callback").is_empty());
        assert_eq!(second.result()["result"], "Done.");
    }
}

#[tokio::test]
async fn an_initialize_that_is_there_in_time_counts_without_the_flag() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let first = deferred(&place).await;
    let run = Run::new()
        .with(&["--resume", &first.session_id()])
        .deciding("allow");
    let second = place.run(run).await;
    assert_eq!(second.asked("hook_callback").len(), 1);
    assert_eq!(second.tool_calls().len(), 1);
}

#[tokio::test]
async fn another_prompt_ends_a_deferral_for_good() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let mut run = Run::prompt("refund order 7").deciding("defer");
    run.prompts.push(json!("never mind"));
    let first = place.run(run).await;
    let last = api.last_messages().pop().unwrap();
    assert_eq!(
        last["content"][0]["content"],
        "[Tool result missing due to internal error]"
    );
    assert_eq!(last["content"][1]["text"], "never mind");
    assert_eq!(first.results().len(), 2);
}

#[tokio::test]
async fn a_closed_input_turns_a_pending_hook_into_a_refusal() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let first = deferred(&place).await;
    let second = place
        .run(Run::resume(&first).hook(|_| Answer::CloseInput))
        .await;
    assert!(
        second
            .tool_result_text()
            .starts_with("The user doesn't want to take this action")
    );
    assert_eq!(second.result()["result"], "Done.");
    assert_eq!(second.code, 0);
}

#[tokio::test]
async fn an_updated_input_counts_only_where_it_was_observed_to() {
    let api = Api::replying(one_call()).await;
    let place = Place::new(&api);
    let with_input = |decision: &str, order: &str| {
        let mut answer = decide(decision);
        answer["hookSpecificOutput"]["updatedInput"] = json!({"order_id": order});
        answer
    };
    let answer = with_input("defer", "ignored");
    let first = place
        .run(Run::prompt("go").hook(move |_| Answer::Success(answer.clone())))
        .await;
    assert_eq!(
        first.result()["deferred_tool_use"]["input"],
        json!({"order_id": "7"})
    );
    let answer = with_input("allow", "changed");
    let run = Run::resume(&first).hook(move |_| Answer::Success(answer.clone()));
    let second = place.run(run).await;
    assert_eq!(second.tool_calls(), [&json!({"order_id": "changed"})]);
    let messages = api.last_messages();
    let call = &messages[messages.len() - 2]["content"][1];
    assert_eq!(call["input"], json!({"order_id": "7"}));
}

#[tokio::test]
async fn a_fork_runs_the_call_and_leaves_the_original_pending() {
    let api = Api::replying([
        says(&[refund("toolu_01", "7")]),
        says(&[text("In the fork.")]),
        says(&[text("In the original.")]),
    ])
    .await;
    let place = Place::new(&api);
    let first = deferred(&place).await;
    let fork = Run::resume(&first)
        .with(&["--fork-session"])
        .deciding("allow");
    let forked = place.run(fork).await;
    assert_eq!(forked.tool_calls().len(), 1);
    assert_ne!(forked.session_id(), first.session_id());
    let original = place.run(Run::resume(&first).deciding("allow")).await;
    assert_eq!(original.tool_calls().len(), 1);
}
