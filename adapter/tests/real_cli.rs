//! Sessions on the real CLI.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fixture;

use adapter::{
    ApplicationHook, HookHandler, PermissionMode, Resolution, Snapshot, StepType, ToolAnnotations,
    ToolCallOutcome, ToolEffect, ToolError, ToolOutput, ToolPolicy, Worker,
};
use async_trait::async_trait;
use fixture::{Fixture, Reply, call, published, text, tool_results};
use serde_json::{Value, json};

const PUBLISH: &str = "mcp__tools__publish";

fn single() -> ToolPolicy {
    ToolPolicy::new(ToolEffect::NonIdempotentWrite)
}

// covers: seg-deferred-steps, appr-interrupts-listed, res-custom-succeeded, env-key-never-stored
// covers: pol-write-approval-default, tool-cli-name, res-no-empty-prompt
#[tokio::test]
async fn an_approved_write_runs_once_and_the_turn_completes_with_its_result() {
    let fixture = Fixture::new(vec![
        vec![
            text("Publishing."),
            call("toolu_1", PUBLISH, json!({"message": "draft"})),
        ],
        vec![text("It is published.")],
    ])
    .await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy("publish", single())
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    fixture
        .client
        .start("session", Some("publish the draft".into()))
        .await
        .unwrap();

    let waiting = fixture.until_waiting().await;
    assert_eq!(waiting.pending_interrupts[0].tool, "publish");
    assert_eq!(
        waiting.pending_interrupts[0].arguments,
        json!({"message": "draft"})
    );
    assert_eq!(fixture.ledger.effects("publish"), []);
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let accepted = fixture
        .client
        .resolve("session", interrupt, Resolution::Approved)
        .await
        .unwrap();
    assert!(accepted);

    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(fixture.ledger.effects("publish").len(), 1);
    assert_eq!(idle.tool_calls[0].outcome, ToolCallOutcome::Succeeded);
    assert_eq!(idle.tool_calls[0].output, "published draft");
    let steps: Vec<StepType> = idle.steps.iter().map(|step| step.step_type).collect();
    assert_eq!(
        steps,
        [
            StepType::RunModel,
            StepType::AwaitToolApproval,
            StepType::CallSingleAttemptTool,
            StepType::ResumeTurn,
            StepType::RunModel,
        ]
    );
    assert!(fixture.state_holds("published draft"));
    assert!(!fixture.state_holds(fixture::API_KEY));
    let requests = fixture.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(tool_results(&requests[1]), ["published draft"]);
    worker.stop().await.unwrap();
}

fn publish_then(answer: &str) -> Vec<Reply> {
    vec![
        vec![
            text("Publishing."),
            call("toolu_1", PUBLISH, json!({"message": "draft"})),
        ],
        vec![text(answer)],
    ]
}

async fn resolve(fixture: &Fixture, waiting: &Snapshot, resolution: Resolution) {
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let accepted = fixture
        .client
        .resolve("session", interrupt, resolution)
        .await
        .unwrap();
    assert!(accepted);
}

async fn start(fixture: &Fixture, message: &str) {
    fixture
        .client
        .start("session", Some(message.to_owned()))
        .await
        .unwrap();
}

// covers: appr-reject, res-custom-rejected, appr-repeat
#[tokio::test]
async fn a_rejected_write_never_runs_and_the_model_reads_exactly_the_rejection() {
    let fixture = Fixture::new(publish_then("As you wish.")).await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy("publish", single())
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "publish the draft").await;
    let waiting = fixture.until_waiting().await;
    let message = Some("Not today; ask Ada first.".to_owned());
    resolve(&fixture, &waiting, Resolution::Rejected { message }).await;
    // The first answer wins.
    let interrupt = &waiting.pending_interrupts[0].interrupt_id;
    let again = fixture
        .client
        .resolve("session", interrupt, Resolution::Approved)
        .await
        .unwrap();
    assert!(!again);

    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(fixture.ledger.effects("publish"), []);
    assert_eq!(idle.tool_calls[0].outcome, ToolCallOutcome::Rejected);
    assert_eq!(
        tool_results(&fixture.requests()[1]),
        ["Not today; ask Ada first."]
    );
    worker.stop().await.unwrap();
}

async fn two_writes_in_one_reply(permission_mode: PermissionMode) {
    let mut fixture = Fixture::new(vec![
        vec![
            call("toolu_1", PUBLISH, json!({"message": "one"})),
            call("toolu_2", PUBLISH, json!({"message": "two"})),
        ],
        vec![call("toolu_3", PUBLISH, json!({"message": "two"}))],
        vec![text("Both are published.")],
    ])
    .await;
    fixture.permission_mode = Some(permission_mode);
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy("publish", single())
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "publish both").await;
    let first = fixture.until_waiting().await;
    assert_eq!(first.pending_interrupts[0].tool_call_id, "toolu_1");
    resolve(&fixture, &first, Resolution::Approved).await;
    let second = fixture
        .until("the second interrupt", |snapshot| {
            snapshot
                .pending_interrupts
                .first()
                .is_some_and(|interrupt| interrupt.tool_call_id == "toolu_3")
        })
        .await;
    resolve(&fixture, &second, Resolution::Approved).await;

    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    let written: Vec<Value> = fixture
        .ledger
        .effects("publish")
        .into_iter()
        .map(|effect| effect.arguments["message"].clone())
        .collect();
    assert_eq!(written, ["one", "two"]);
    let results = tool_results(&fixture.requests()[1]);
    assert!(results.contains(&"published one".to_owned()), "{results:?}");
    let denial = "publish did not run. Only one tool call per reply can run outside this turn, \
                  and another call already does. Call publish again by itself.";
    assert!(
        results.iter().any(|result| result.ends_with(denial)),
        "{results:?}"
    );
    worker.stop().await.unwrap();
}

// covers: seg-two-writes, hook-deny-later
#[tokio::test]
async fn the_second_write_of_a_reply_is_denied_and_runs_when_it_is_called_again() {
    two_writes_in_one_reply(PermissionMode::Default).await;
}

// covers: seg-two-writes-dontask
#[tokio::test]
async fn two_writes_in_one_reply_behave_the_same_when_the_cli_does_not_ask() {
    two_writes_in_one_reply(PermissionMode::DontAsk).await;
}

// covers: appr-wait
#[tokio::test]
async fn an_approval_survives_the_worker_that_waited_for_it() {
    let fixture = Fixture::new(publish_then("It is published.")).await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy("publish", single())
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "publish the draft").await;
    let waiting = fixture.until_waiting().await;
    worker.stop().await.unwrap();
    resolve(&fixture, &waiting, Resolution::Approved).await;
    assert_eq!(fixture.ledger.effects("publish"), []);
    let worker = Worker::builder(&fixture.engine, &agent).start();
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(fixture.ledger.effects("publish").len(), 1);
    worker.stop().await.unwrap();
}

// covers: pol-inline-read, seg-lookup-one-step, seg-whole-turn, use-input-tokens
// covers: seg-later-turn-resume, wire-one-message-each, sess-send-message
#[tokio::test]
async fn a_read_runs_inside_the_turn_and_a_later_turn_remembers() {
    let fixture = Fixture::new(vec![
        vec![call(
            "toolu_1",
            "mcp__tools__lookup",
            json!({"message": "7"}),
        )],
        vec![text("It is here.")],
        vec![text("As I said, it is here.")],
    ])
    .await;
    let lookup = fixture
        .tool("lookup", |_| Ok(ToolOutput::text("order 7 is here")))
        .annotations(ToolAnnotations {
            read_only_hint: Some(true),
            ..ToolAnnotations::default()
        });
    let agent = fixture.agent().tool(lookup).build().unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "where is order 7?").await;
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    assert_eq!(idle.steps.len(), 1, "a lookup is one segment");
    let effects = fixture.ledger.effects("lookup");
    assert_eq!(effects.len(), 1);
    assert_eq!(effects[0].idempotency_key, None);
    assert_eq!(idle.usage.model_calls, 2);
    assert_eq!(idle.usage.input_tokens, 30);
    assert_eq!(idle.usage.cached_input_tokens, 6);

    assert!(
        fixture
            .client
            .send("session", "where?".into())
            .await
            .unwrap()
    );
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    let texts: Vec<&str> = idle
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "where is order 7?",
            "",
            "order 7 is here",
            "It is here.",
            "where?",
            "As I said, it is here."
        ]
    );
    let last = &fixture.requests()[2]["messages"];
    assert!(last.to_string().contains("where is order 7?"));
    worker.stop().await.unwrap();
}

// covers: fail-three-attempts, fail-note, fail-note-format, fail-write-not-repeated
// covers: fail-model-sees-note
#[tokio::test]
async fn a_failed_turn_leaves_a_note_of_what_ran() {
    // Nothing is scripted after the write, so the resumed segment fails.
    let fixture = Fixture::new(vec![vec![call(
        "toolu_1",
        PUBLISH,
        json!({"message": "draft"}),
    )]])
    .await;
    let agent = fixture
        .agent()
        .tool(fixture.tool("publish", published))
        .tool_policy("publish", single().without_approval())
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "publish the draft").await;
    let idle = fixture.until_idle().await;
    assert!(idle.last_turn_error.is_some());
    assert_eq!(fixture.ledger.effects("publish").len(), 1);
    let attempts: Vec<u32> = idle
        .steps
        .iter()
        .filter(|step| step.step_type == StepType::RunModel)
        .map(|step| step.attempt)
        .collect();
    assert_eq!(attempts, [1, 1, 2, 3]);
    let note = "[Dex] The previous turn failed after these tool calls ran:\n\
                - publish {\"message\": \"draft\"} -> succeeded: published draft\n\
                Do not repeat these tool calls unless the user asks again.";
    assert_eq!(idle.messages[1].text, note);

    assert!(
        fixture
            .client
            .send("session", "and now?".into())
            .await
            .unwrap()
    );
    fixture
        .until("the second turn's failure or success", |snapshot| {
            snapshot.status == adapter::SessionStatus::Idle
                && snapshot.steps.len() > idle.steps.len()
        })
        .await;
    let requests = fixture.requests();
    let prompt = requests.last().unwrap()["messages"].to_string();
    for text in ["publish the draft", "The previous turn failed", "and now?"] {
        assert!(prompt.contains(text), "{text} is missing in {prompt}");
    }
    worker.stop().await.unwrap();
}

struct Rewrite;

#[async_trait]
impl HookHandler for Rewrite {
    async fn call(&self, _input: Value) -> Result<Value, ToolError> {
        Ok(json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {"message": "rewritten"},
        }}))
    }
}

// covers: hook-beside-app-hooks, wire-arguments, res-rewriting-hook
#[tokio::test]
async fn what_a_hook_rewrote_is_what_is_approved_and_runs() {
    let fixture = Fixture::new(vec![
        vec![call(
            "toolu_0",
            "mcp__tools__lookup",
            json!({"message": "7"}),
        )],
        vec![call("toolu_1", PUBLISH, json!({"message": "draft"}))],
        vec![text("It is published.")],
    ])
    .await;
    let mut options = fixture.options();
    options.hooks = vec![ApplicationHook::new("PreToolUse", None, Rewrite)];
    let agent = adapter::ClaudeAgent::builder(move |_| Ok(options.clone()))
        .cli(fixture::real_cli())
        .tool(fixture.tool("publish", published))
        .tool(fixture.tool("lookup", published))
        .tool_policy("publish", single())
        .tool_policy("lookup", ToolPolicy::new(ToolEffect::Read))
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "publish the draft").await;
    let waiting = fixture.until_waiting().await;
    assert_eq!(
        waiting.pending_interrupts[0].arguments,
        json!({"message": "rewritten"})
    );
    resolve(&fixture, &waiting, Resolution::Approved).await;
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    for tool in ["lookup", "publish"] {
        let effects = fixture.ledger.effects(tool);
        assert_eq!(effects.len(), 1, "{tool}");
        assert_eq!(effects[0].arguments, json!({"message": "rewritten"}));
    }
    worker.stop().await.unwrap();
}

// covers: appr-cli-tool, res-cli-approved, res-cli-rejected, rec-approved-cli-output
// covers: pol-default-unclassified
#[tokio::test]
async fn a_tool_of_the_cli_waits_for_approval_and_runs_inside_the_resumed_segment() {
    let touch = |name: &str| json!({"command": format!("touch {name} && echo made"), "description": "make"});
    let fixture = Fixture::new(vec![
        vec![call("toolu_1", "Bash", touch("approved.txt"))],
        vec![call("toolu_2", "Bash", touch("rejected.txt"))],
        vec![text("Done.")],
    ])
    .await;
    let mut options = fixture.options();
    options.tools = Some(vec!["Bash".to_owned()]);
    let agent = adapter::ClaudeAgent::builder(move |_| Ok(options.clone()))
        .cli(fixture::real_cli())
        .build()
        .unwrap();
    let worker = Worker::builder(&fixture.engine, &agent).start();
    start(&fixture, "make two files").await;
    let waiting = fixture.until_waiting().await;
    assert_eq!(waiting.pending_interrupts[0].tool, "Bash");
    resolve(&fixture, &waiting, Resolution::Approved).await;
    let waiting = fixture
        .until("the second interrupt", |snapshot| {
            snapshot
                .pending_interrupts
                .first()
                .is_some_and(|interrupt| interrupt.tool_call_id == "toolu_2")
        })
        .await;
    let message = Some("no more files".to_owned());
    resolve(&fixture, &waiting, Resolution::Rejected { message }).await;
    let idle = fixture.until_idle().await;
    assert_eq!(idle.last_turn_error, None);
    assert!(fixture.path("work/approved.txt").exists());
    assert!(!fixture.path("work/rejected.txt").exists());
    assert_eq!(idle.tool_calls[0].output, adapter::APPROVED_CLI_TOOL_OUTPUT);
    let results = tool_results(fixture.requests().last().unwrap());
    assert_eq!(
        results,
        ["made", "PreToolUse:Bash hook error: no more files"]
    );
    worker.stop().await.unwrap();
}
