//! What a signal leaves behind.

use rustix::process::Signal;

use super::api::{Api, refund, says, text};
use super::host::{Answer, Place, Run};

#[tokio::test]
async fn terminated_and_killed_processes_leave_no_result() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::KILL, 137)] {
        let api = Api::replying([says(&[refund("toolu_01", "7")])]).await;
        let outcome = Place::new(&api)
            .run(
                Run::prompt("go")
                    .deciding("allow")
                    .tool(move |_| Answer::Signal(signal)),
            )
            .await;
        assert!(outcome.results().is_empty());
        assert_eq!(outcome.code, code);
    }
}

#[tokio::test]
async fn an_interrupted_process_ends_its_turn_first() {
    let api = Api::replying([says(&[refund("toolu_01", "7")])]).await;
    let outcome = Place::new(&api)
        .run(
            Run::prompt("go")
                .deciding("allow")
                .tool(|_| Answer::Signal(Signal::INT)),
        )
        .await;
    assert_eq!(outcome.result()["subtype"], "error_during_execution");
    assert_eq!(outcome.code, 0);
}

#[tokio::test]
async fn a_resumed_call_that_was_killed_runs_again() {
    for signal in [Signal::TERM, Signal::KILL] {
        let api = Api::replying([says(&[refund("toolu_01", "7")]), says(&[text("Done.")])]).await;
        let place = Place::new(&api);
        let first = place.run(Run::prompt("go").deciding("defer")).await;
        let killed = place
            .run(
                Run::resume(&first)
                    .deciding("allow")
                    .tool(move |_| Answer::Signal(signal)),
            )
            .await;
        assert!(killed.results().is_empty());
        let again = place.run(Run::resume(&first).deciding("allow")).await;
        assert_eq!(again.tool_calls().len(), 1, "{signal:?}");
        assert_eq!(again.result()["result"], "Done.");
    }
}

#[tokio::test]
async fn a_dangling_call_is_explained_and_never_repeated() {
    let api = Api::replying([says(&[refund("toolu_01", "7")]), says(&[text("Hello.")])]).await;
    let place = Place::new(&api);
    let killed = place
        .run(
            Run::prompt("go")
                .deciding("allow")
                .tool(|_| Answer::Signal(Signal::TERM)),
        )
        .await;
    let mut run = Run::resume(&killed);
    run.prompts.push(serde_json::json!("what happened?"));
    let resumed = place.run(run).await;
    assert!(resumed.tool_calls().is_empty());
    let messages = api.last_messages();
    let repair = &messages[2]["content"][0];
    let words = repair["content"].as_str().unwrap();
    assert!(
        words.starts_with("[Tool call interrupted: the session ended"),
        "{words}"
    );
    assert_eq!(resumed.result()["result"], "Hello.");
}

#[tokio::test]
async fn a_resumed_call_that_was_interrupted_by_a_signal_is_spent() {
    let api = Api::replying([says(&[refund("toolu_01", "7")])]).await;
    let place = Place::new(&api);
    let first = place.run(Run::prompt("go").deciding("defer")).await;
    let run = Run::resume(&first)
        .deciding("allow")
        .tool(|_| Answer::Signal(Signal::INT));
    let interrupted = place.run(run).await;
    let words = interrupted.tool_result_text();
    assert!(
        words.starts_with("The tool call was interrupted before"),
        "{words}"
    );
    assert_eq!(interrupted.result()["terminal_reason"], "aborted_streaming");
    assert_eq!(interrupted.code, 0);
    let entries = place.transcript();
    let spent = entries.iter().any(|entry| {
        entry["type"] == "user" && entry["message"]["content"][0]["tool_use_id"] == "toolu_01"
    });
    assert!(spent);
}
