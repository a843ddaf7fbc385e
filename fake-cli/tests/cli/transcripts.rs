//! Transcripts: on disk, mirrored, rebuilt.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::api::{Api, refund, says, text};
use super::host::{Place, Run};

fn chain(entries: &[Value]) -> Vec<&Value> {
    entries
        .iter()
        .filter(|entry| entry["uuid"].is_string())
        .collect()
}

#[tokio::test]
async fn every_link_has_an_earlier_parent() {
    let api = Api::replying([
        says(&[
            text("Two refunds."),
            refund("toolu_01", "1"),
            refund("toolu_02", "2"),
        ]),
        says(&[text("Done.")]),
    ])
    .await;
    let place = Place::new(&api);
    let first = place.run(Run::prompt("go").deciding("defer")).await;
    place.run(Run::resume(&first).deciding("allow")).await;
    let entries = place.transcript();
    let mut seen: HashSet<&str> = HashSet::new();
    for (index, entry) in chain(&entries).into_iter().enumerate() {
        match entry["parentUuid"].as_str() {
            Some(parent) => assert!(seen.contains(parent), "{entry}"),
            None => assert_eq!(index, 0),
        }
        assert!(seen.insert(entry["uuid"].as_str().unwrap()), "{entry}");
    }
}

#[tokio::test]
async fn the_mirror_holds_what_the_disk_holds_and_comes_before_the_result() {
    let api = Api::replying([says(&[refund("toolu_01", "7")])]).await;
    let place = Place::new(&api);
    let outcome = place
        .run(
            Run::prompt("go")
                .with(&["--session-mirror"])
                .deciding("defer"),
        )
        .await;
    let mirrored: Vec<Value> = outcome
        .of_type("transcript_mirror")
        .iter()
        .flat_map(|frame| frame["entries"].as_array().unwrap().clone())
        .collect();
    let on_disk: Vec<Value> = place
        .transcript()
        .into_iter()
        .filter(|entry| !entry["type"].as_str().unwrap().starts_with("api-request"))
        .collect();
    assert_eq!(mirrored, on_disk);
    let result = outcome
        .frames
        .iter()
        .position(|frame| frame["type"] == "result")
        .unwrap();
    let before: Vec<&Value> = outcome.frames[..result]
        .iter()
        .filter(|frame| frame["type"] == "transcript_mirror")
        .flat_map(|frame| frame["entries"].as_array().unwrap())
        .collect();
    let has = |kind: &str| {
        before
            .iter()
            .any(|entry| entry["attachment"]["type"] == *kind)
    };
    assert!(has("hook_deferred_tool"));
    assert!(before.iter().all(|entry| entry["type"] != "cost-state"));
}

#[tokio::test]
async fn a_session_rebuilt_elsewhere_from_two_entries_runs_its_call() {
    let api = Api::replying([says(&[refund("toolu_01", "7")]), says(&[text("Done.")])]).await;
    let place = Place::new(&api);
    let first = place.run(Run::prompt("go").deciding("defer")).await;
    let entries: Vec<Value> = place
        .transcript()
        .into_iter()
        .filter(|entry| {
            entry["type"] == "assistant" || entry["attachment"]["type"] == "hook_deferred_tool"
        })
        .collect();
    assert_eq!(entries.len(), 2);
    let elsewhere = Place::new(&api);
    let directory = elsewhere.config().join("projects/some-other-directory");
    std::fs::create_dir_all(&directory).unwrap();
    let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
    let file = directory.join(format!("{}.jsonl", first.session_id()));
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let second = elsewhere.run(Run::resume(&first).deciding("allow")).await;
    assert_eq!(second.tool_calls(), [&json!({"order_id": "7"})]);
    assert!(std::fs::read_to_string(&file).unwrap().lines().count() > 2);
}

#[tokio::test]
async fn an_assistant_frame_and_its_entry_share_their_uuid() {
    let api = Api::replying([says(&[text("Hello.")])]).await;
    let place = Place::new(&api);
    let outcome = place.run(Run::prompt("hi")).await;
    let shown = outcome.of_type("assistant")[0];
    let entries = place.transcript();
    let written = entries
        .iter()
        .find(|entry| entry["type"] == "assistant")
        .unwrap();
    assert_eq!(shown["uuid"], written["uuid"]);
    assert_eq!(shown["message"]["stop_reason"], Value::Null);
    assert_eq!(written["message"]["stop_reason"], "end_turn");
    assert_eq!(written["message"]["usage"]["output_tokens"], 7);
}
