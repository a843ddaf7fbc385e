//! Who decides whether a call runs.

use serde_json::json;

use super::api::{Api, Reply, refund, says, text};
use super::host::{Answer, Outcome, Place, Run, decide};

const REFUND: &str = "mcp__tools__create_refund";

fn one_call() -> [Reply; 2] {
    [says(&[refund("toolu_01", "7")]), says(&[text("Done.")])]
}

async fn run(run: Run) -> Outcome {
    let api = Api::replying(one_call()).await;
    Place::new(&api).run(run).await
}

#[tokio::test]
async fn an_allowed_call_runs_and_says_who_allowed_it() {
    let outcome = run(Run::prompt("go").deciding("allow")).await;
    assert_eq!(outcome.tool_calls(), [&json!({"order_id": "7"})]);
    let frame = outcome.of_type("user")[0];
    assert_eq!(
        frame["tool_result_meta"][0]["permission_decision"],
        json!({"decision": "accept", "source": "hook", "reason_type": "hook"})
    );
    assert_eq!(outcome.result()["num_turns"], 2);
}

#[tokio::test]
async fn the_host_is_asked_when_nobody_else_decides() {
    let outcome = run(Run::prompt("go")
        .permission(|_| Answer::Success(json!({"behavior": "deny", "message": "not today"}))))
    .await;
    let question = outcome.asked("can_use_tool")[0];
    assert_eq!(question["tool_name"], REFUND);
    assert_eq!(question["display_name"], "Create Refund");
    assert_eq!(question["server_policy_ask_only"], true);
    assert_eq!(outcome.tool_result_text(), "not today");
    assert!(outcome.tool_calls().is_empty());
    let states: Vec<String> = outcome.order();
    let asked = states
        .iter()
        .position(|name| name == "can_use_tool")
        .unwrap();
    assert_eq!(states[asked - 1], "requires_action");
    assert_eq!(states[asked + 1], "running");
}

#[tokio::test]
async fn the_input_the_host_gives_is_the_one_that_runs() {
    let outcome = run(Run::prompt("go").permission(|_| {
        Answer::Success(json!({"behavior": "allow", "updatedInput": {"order_id": "9"}}))
    }))
    .await;
    assert_eq!(outcome.tool_calls(), [&json!({"order_id": "9"})]);
}

#[tokio::test]
async fn a_rule_the_host_adds_answers_the_next_question() {
    let api = Api::replying([
        says(&[refund("toolu_01", "1")]),
        says(&[refund("toolu_02", "2")]),
        says(&[text("Done.")]),
    ])
    .await;
    let outcome = Place::new(&api)
        .run(Run::prompt("go").permission(|request| {
            Answer::Success(json!({
                "behavior": "allow",
                "updatedInput": request["input"],
                "updatedPermissions": [{
                    "type": "addRules",
                    "rules": [{"toolName": REFUND}],
                    "behavior": "allow",
                    "destination": "session",
                }],
            }))
        }))
        .await;
    assert_eq!(outcome.asked("can_use_tool").len(), 1);
    assert_eq!(outcome.tool_calls().len(), 2);
}

#[tokio::test]
async fn a_denial_with_interrupt_ends_the_turn() {
    let outcome = run(Run::prompt("go").permission(|_| {
        let answer = json!({"behavior": "deny", "message": "stop", "interrupt": true});
        Answer::Success(answer)
    }))
    .await;
    let result = outcome.result();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_tools");
    assert_eq!(result["stop_reason"], "tool_use");
    assert_eq!(result["num_turns"], 3);
    assert_eq!(outcome.code, 1);
}

#[tokio::test]
async fn answers_of_no_known_shape_refuse_the_call() {
    let outcome =
        run(Run::prompt("go").permission(|_| Answer::Success(json!({"behavior": "perhaps"}))))
            .await;
    let refusal = "The canUseTool callback returned an invalid permission result.";
    assert!(outcome.tool_result_text().starts_with(refusal));
    let outcome = run(Run::prompt("go").permission(|_| Answer::Error("broken"))).await;
    assert_eq!(
        outcome.tool_result_text(),
        "Tool permission request failed: Error: broken"
    );
    let outcome = run(Run::prompt("go").permission(|_| Answer::CloseInput)).await;
    let refusal = "Tool permission request failed: AbortError";
    assert!(outcome.tool_result_text().starts_with(refusal));
    assert_eq!(outcome.code, 0);
}

#[tokio::test]
async fn a_hook_that_fails_lets_the_mode_decide() {
    let outcome = run(Run::prompt("go").hook(|_| Answer::Error("broken"))).await;
    assert!(
        outcome
            .tool_result_text()
            .starts_with("Claude requested permissions")
    );
    assert!(
        outcome
            .stderr
            .contains("Error in hook callback hook_0: broken")
    );
    let outcome = run(Run::prompt("go")
        .with(&["--permission-mode", "bypassPermissions"])
        .environment("IS_SANDBOX", "1")
        .hook(|_| Answer::Success(decide("bogus"))))
    .await;
    assert_eq!(outcome.tool_calls().len(), 1);
}

#[tokio::test]
async fn a_hook_that_is_late_refuses_the_call() {
    let hooks = json!({"PreToolUse": [{"hookCallbackIds": ["hook_0"], "timeout": 0.05}]});
    let outcome = run(Run::prompt("go").hooks(hooks).hook(|_| Answer::Nothing)).await;
    let refusal = "PreToolUse hook did not respond before its timeout";
    assert!(outcome.tool_result_text().starts_with(refusal));
    assert_eq!(outcome.result()["permission_denials"], json!([]));
}

#[tokio::test]
async fn rules_of_the_command_line_decide_where_hooks_do_not() {
    let arguments = ["--allowedTools", REFUND, "--permission-mode", "dontAsk"];
    let outcome = run(Run::prompt("go").with(&arguments)).await;
    assert_eq!(outcome.tool_calls().len(), 1);
    let outcome = run(Run::prompt("go")
        .with(&["--disallowedTools", REFUND])
        .deciding("allow"))
    .await;
    assert!(outcome.tool_calls().is_empty());
}

#[tokio::test]
async fn calls_of_one_reply_run_one_after_the_other() {
    let api = Api::replying([
        says(&[refund("toolu_01", "1"), refund("toolu_02", "2")]),
        says(&[text("Done.")]),
    ])
    .await;
    let outcome = Place::new(&api)
        .run(Run::prompt("go").deciding("allow"))
        .await;
    let order: Vec<String> = outcome
        .order()
        .into_iter()
        .filter(|name| ["hook_callback", "tools/call", "user"].contains(&name.as_str()))
        .collect();
    assert_eq!(
        order,
        [
            "hook_callback",
            "tools/call",
            "user",
            "hook_callback",
            "tools/call",
            "user"
        ]
    );
}

#[tokio::test]
async fn read_only_calls_of_one_reply_run_beside_each_other() {
    let lookup = |id: &str| super::api::call(id, "mcp__tools__lookup", &json!({"order_id": "7"}));
    let api = Api::replying([
        says(&[lookup("toolu_01"), lookup("toolu_02")]),
        says(&[text("Done.")]),
    ])
    .await;
    let run = Run::prompt("go").hook(|request| {
        // The first hook stays unanswered: only because the second is asked all the same, the turn
        // can end.
        if request["tool_use_id"] == "toolu_01" {
            Answer::Nothing
        } else {
            Answer::CloseInput
        }
    });
    let outcome = Place::new(&api).run(run).await;
    assert_eq!(outcome.asked("hook_callback").len(), 2);
    assert_eq!(outcome.tool_results().len(), 2);
}
