//! What a scenario's words become.

use harness::protocol::{Approval, Effect};
use harness::scenario::{
    Action, Awaited, Decision, Direction, FaultEffect, Plan, Requirements, SessionStatus, StepKind,
    Subject, Target, ToolBehaviour, ToolPhase, parse,
};
use serde_json::{Value, json};

const SCENARIO: &str = r#"
title: Everything that can be said
requires: [durable, gates]
variants: {first: The first, second: The second}
agent:
  options: {built_in_tools: [Bash], retry_backoff_ms: 5}
  tools:
    publish:
      input: {message: string, copies: integer}
      effect: non_idempotent_write
      approval: required
      returns: "published {message}"
    look_up:
      input: {type: object, properties: {id: {type: string}}}
      annotations: {readOnlyHint: true}
      raises: no database
  tool_policies: {Bash: {effect: non_idempotent_write}}
  tool_sources:
    slack:
      post: {effect: read, fails: "no channel {not an argument}"}
model:
  - user: {contains: publish}
    reply: [{call: publish, input: {message: draft, copies: 1}}, {call: Bash, input: {command: ls}}]
  - reply: [{text: Done.}]
    expect: {tool_result: [{of: publish, equals: published draft}]}
faults:
  - on: {cli: spawned, nth: 2}
    argv: {drop: [--await-initialize], add: [--verbose]}
    in: [first]
  - on: {frame: in, type: control_request, subtype: initialize, matching: {/request_id: x}}
    hold_until: [{frame: out, subtype: can_use_tool}, {cli: exited}]
  - {on: {frame: out}, inject: [no JSON, {type: noise}]}
steps:
  - start: publish it
  - await: {interrupt: publish, arguments: {message: draft, copies: 1}}
  - {reject: {tool: publish, message: no}, accepted: false, in: [second]}
  - {approve: publish, in: [first]}
  - at: {tool: publish, phase: effect_done}
    do: [{kill: worker_only}, {launch: worker}]
  - await: idle
expect:
  last_turn_error: {contains: no}
  frames:
    - {frame: out, type: result, count: 2, in: [second]}
"#;

fn plans() -> Vec<Plan> {
    parse(
        "theme/name",
        "name.yaml",
        SCENARIO,
        &Requirements::default(),
    )
    .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn a_variant_has_its_own_steps_faults_and_counts() {
    let plans = plans();
    let of = |plan: &Plan| {
        (
            plan.steps.len(),
            plan.faults.len(),
            plan.expect.frames.len(),
        )
    };
    assert_eq!(
        plans
            .iter()
            .map(|plan| plan.variant.as_deref())
            .collect::<Vec<_>>(),
        [Some("first"), Some("second")]
    );
    assert_eq!(of(&plans[0]), (5, 3, 0));
    assert_eq!(of(&plans[1]), (5, 2, 1));
}

#[test]
fn the_agent_is_what_the_runner_is_told() {
    let plan = &plans()[0];
    let agent = &plan.agent;
    assert_eq!(agent.options.permission_mode.as_deref(), Some("default"));
    assert_eq!(agent.options.model, "claude-sonnet-5");
    assert_eq!(agent.options.retry_backoff_ms, Some(5));
    let publish = &agent.tools[0];
    assert_eq!(
        (publish.effect, publish.approval),
        (Some(Effect::NonIdempotentWrite), Some(Approval::Required))
    );
    assert_eq!(
        Value::Object(publish.input_schema.clone()),
        json!({
            "type": "object",
            "properties": {"message": {"type": "string"}, "copies": {"type": "integer"}},
            "required": ["message", "copies"],
            "additionalProperties": false,
        })
    );
    assert_eq!(
        agent.tools[1].input_schema["properties"]["id"]["type"],
        "string"
    );
    assert_eq!(agent.tool_sources[0].tools[0].name, "post");
    assert!(matches!(&plan.tools["look_up"], ToolBehaviour::Raises(text) if text == "no database"));
    assert!(matches!(&plan.tools["post"], ToolBehaviour::Fails(_)));
}

#[test]
fn steps_are_what_the_words_say() {
    let plans = plans();
    let [start, wait, approve, held, idle] = &plans[0].steps[..] else {
        panic!("{:?}", plans[0].steps)
    };
    assert!(
        matches!(&start.kind, StepKind::Act(Action::StartSession(Some(text))) if text == "publish it")
    );
    assert!(matches!(
        &wait.kind,
        StepKind::Await(Awaited::Interrupt { tool, arguments: Some(arguments) })
            if tool == "publish" && arguments["copies"] == 1
    ));
    assert!(matches!(
        &approve.kind,
        StepKind::Act(Action::Resolve {
            decision: Decision::Approve,
            accepted: true,
            ..
        })
    ));
    assert!(matches!(
        &held.kind,
        StepKind::At { point, actions }
            if point.subject == Subject::Tool { tool: "publish".to_owned(), phase: ToolPhase::EffectDone }
                && matches!(actions[..], [Action::Kill(Target::WorkerOnly), Action::LaunchWorker])
    ));
    assert!(matches!(
        &idle.kind,
        StepKind::Await(Awaited::Status(SessionStatus::Idle))
    ));
    assert!(matches!(
        &plans[1].steps[2].kind,
        StepKind::Act(Action::Resolve { decision: Decision::Reject(Some(text)), accepted: false, .. }) if text == "no"
    ));
    let line = SCENARIO
        .lines()
        .position(|line| line.contains("start: publish it"))
        .expect("the step")
        + 1;
    assert_eq!(start.line, line);
}

#[test]
fn faults_are_what_the_words_say() {
    let plan = &plans()[0];
    let [argv, hold, inject] = &plan.faults[..] else {
        panic!("{:?}", plan.faults)
    };
    assert_eq!(argv.point.nth, Some(2));
    assert!(matches!(
        &argv.effect,
        FaultEffect::Argv { drop, add } if drop == &["--await-initialize"] && add == &["--verbose"]
    ));
    assert!(matches!(
        &hold.point.subject,
        Subject::Frame {
            direction: Direction::In,
            ..
        }
    ));
    assert_eq!(hold.point.matching["/request_id"], json!("x"));
    assert!(matches!(&hold.effect, FaultEffect::HoldUntil(points) if points.len() == 2));
    assert!(matches!(
        &inject.effect,
        FaultEffect::Inject { lines } if lines == &["no JSON", r#"{"type":"noise"}"#]
    ));
}

#[test]
fn a_plan_survives_the_way_to_the_process_of_its_cell() {
    for plan in plans() {
        let sent = serde_json::to_value(&plan).expect("JSON");
        let received: Plan = serde_json::from_value(sent.clone()).expect("a plan");
        assert_eq!(received.model.script(), plan.model.script());
        assert_eq!(serde_json::to_value(&received).expect("JSON"), sent);
    }
}
