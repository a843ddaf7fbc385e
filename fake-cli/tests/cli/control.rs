//! Interrupts and other control requests.

use serde_json::json;

use super::api::{Api, refund, says, text};
use super::host::{Answer, Place, Run};

#[tokio::test]
async fn an_interrupt_withdraws_a_pending_hook() {
    let api = Api::replying([says(&[refund("toolu_01", "7")])]).await;
    let outcome = Place::new(&api)
        .run(Run::prompt("go").hook(|_| Answer::Interrupt))
        .await;
    let order = outcome.order();
    let hook = order
        .iter()
        .position(|name| name == "hook_callback")
        .unwrap();
    assert_eq!(order[hook + 1], "control_cancel_request");
    assert!(order.contains(&"response interrupt".to_owned()));
    let result = outcome.result();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_tools");
    assert_eq!(outcome.code, 1);
}

#[tokio::test]
async fn an_interrupt_tells_the_server_of_a_running_call() {
    let api = Api::replying([says(&[refund("toolu_01", "7")])]).await;
    let outcome = Place::new(&api)
        .run(
            Run::prompt("go")
                .deciding("allow")
                .tool(|_| Answer::Interrupt),
        )
        .await;
    let cancelled = outcome
        .asked("mcp_message")
        .into_iter()
        .find(|request| request["message"]["method"] == "notifications/cancelled")
        .unwrap();
    assert_eq!(
        cancelled["message"]["params"],
        json!({"requestId": 2, "reason": "AbortError: remote-cancel"})
    );
    let words = outcome.tool_result_text();
    assert!(
        words.contains("this call was stopped while running"),
        "{words}"
    );
}

#[tokio::test]
async fn a_second_prompt_after_an_interrupt_is_answered() {
    let api = Api::replying([says(&[refund("toolu_01", "7")]), says(&[text("Hello.")])]).await;
    let mut run = Run::prompt("go").hook(|_| Answer::Interrupt);
    run.prompts.push(json!("and now?"));
    let outcome = Place::new(&api).run(run).await;
    assert_eq!(outcome.results()[1]["result"], "Hello.");
    assert_eq!(outcome.code, 0);
}
