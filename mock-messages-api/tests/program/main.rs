//! The program as those who start it see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod running;

use std::{fs, path::PathBuf};

use assert_cmd::Command;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::running::Running;

const SCRIPT: &str = "[{user: hello, reply: [{text: Hello.}]}]";

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mock-messages-api"))
}

fn script_file(text: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("script.yaml");
    fs::write(&path, text).unwrap();
    (directory, path)
}

fn stderr_of_check(script: &str) -> String {
    let (_directory, path) = script_file(script);
    let output = program()
        .args(["--check", "--script"])
        .arg(path)
        .assert()
        .code(2)
        .get_output()
        .clone();
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn shows_a_mistake_in_its_place_with_a_suggestion() {
    for (script, place, message) in [
        (
            "- user: hello\n  repl: [{text: Hi}]\n",
            "script.yaml:2:3",
            "did you mean `reply`?",
        ),
        (
            "- user: {contain: hello}\n  reply: []\n",
            "script.yaml:1:10",
            "did you mean `contains`?",
        ),
        (
            "- user: hello\n  reply: {content: [], status: 500}\n",
            "script.yaml:2:10",
            "has `content` and `status`",
        ),
        (
            "- user: hello\n  reply: [{text: a}, {text: a, call: b}]\n",
            "script.yaml:2:22",
            "write them as",
        ),
        ("- user: [1\n", "script.yaml:1:", ""),
    ] {
        let stderr = stderr_of_check(script);
        assert!(stderr.contains(place), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
}

#[test]
fn tells_of_a_mistake_in_an_endless_line_in_words() {
    let words = "word ".repeat(20_000);
    let stderr = stderr_of_check(&format!("- reply: [{{text: {words}, tex: a}}]\n"));
    assert!(stderr.contains("did you mean `text`?"), "{stderr}");
    assert!(stderr.contains("1:1000"), "{stderr}");
    assert!(stderr.len() < 2_000, "{} bytes", stderr.len());
}

#[test]
fn refuses_a_script_that_cannot_work() {
    let stderr = stderr_of_check("[{reply: [{text: a}]}]");
    assert!(
        stderr.contains("exchange 1: it follows nothing"),
        "{stderr}"
    );
    let stderr = stderr_of_check("[{user: a, reply: {status: 500}}, {reply: [{text: a}]}]");
    assert!(
        stderr.contains("exchange 2: it follows a reply"),
        "{stderr}"
    );
}

#[test]
fn refuses_a_script_that_is_not_there() {
    program()
        .args(["--script", "nowhere.yaml"])
        .assert()
        .code(2);
}

#[test]
fn prints_the_schema_that_editors_use() {
    let output = program().arg("--schema").assert().success();
    let printed = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let kept =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/script.schema.json")).unwrap();
    assert!(
        printed == kept,
        "the schema has changed; run `cargo run -p mock-messages-api -- --schema > mock-messages-api/script.schema.json`"
    );
}

#[tokio::test]
async fn serves_journals_and_stops() {
    let (directory, path) = script_file(SCRIPT);
    let journal = directory.path().join("journal.jsonl");
    let mut running = Running::start(&[
        "--script".as_ref(),
        path.as_os_str(),
        "--journal".as_ref(),
        journal.as_os_str(),
        "--verify".as_ref(),
    ]);
    let (status, message) = running.ask("", "hello").await;
    assert_eq!(status, 200);
    assert_eq!(message["content"][0]["text"], "Hello.");

    assert_eq!(running.terminate(), Some(0));
    let lines = fs::read_to_string(journal).unwrap();
    let entries: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["outcome"]["exchange"], 1);
    assert_eq!(entries[0]["end"], "completed");
    assert_eq!(entries[0]["headers"]["x-api-key"], "[masked]");
}

#[tokio::test]
async fn fails_when_something_departed_from_the_script() {
    let (_directory, path) = script_file(SCRIPT);
    let mut running = Running::start(&["--script".as_ref(), path.as_os_str(), "--verify".as_ref()]);
    let (status, _) = running.ask("", "goodbye").await;
    assert_eq!(status, 403);
    assert_eq!(running.terminate(), Some(1));
}

#[tokio::test]
async fn changes_scripts_while_it_runs() {
    let running = Running::start(&[]);
    let post = |path, script: &'static str| running.control(Method::POST, path, script);

    let (status, refusal) = post("scripts/other", "- user: a\n  repl: []\n").await;
    assert_eq!(status, 422);
    assert_eq!(
        refusal["error"],
        "2:3: unknown field `repl`, expected one of user, when, expect, reply, optional; did you mean `reply`?"
    );
    assert_eq!(post("scripts/other", SCRIPT).await.0, 200);
    let (status, _) = running.ask("/other/client-1", "hello").await;
    assert_eq!(status, 200);
    assert_eq!(running.ask("/other", "unknown").await.0, 403);

    let (_, journal) = running.control(Method::GET, "journal/other", "").await;
    assert_eq!(journal[0]["client"], "client-1");
    assert_eq!(journal[1]["outcome"]["kind"], "unanswered");
    let (_, whole) = running.control(Method::GET, "journal", "").await;
    assert_eq!(whole, journal);
    let (_, verification) = running.control(Method::GET, "verification/other", "").await;
    assert_eq!(verification["problems"].as_array().unwrap().len(), 1);

    let delete = || running.control(Method::DELETE, "scripts/other", "");
    assert_eq!(delete().await.0, 200);
    assert_eq!(delete().await.0, 404);
    assert_eq!(
        running.control(Method::GET, "journal/other", "").await.1,
        json!([])
    );
}
