//! The example program, run as its reader would run it without a key.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SCRIPT: &str = r#"
- user: "Publish: all is well."
  reply: [{text: Gladly.}, {call: publish, input: {message: all is well}}]
- expect: {tool_result: {of: publish, equals: published}}
  reply: [{text: It is out.}]
"#;

/// A program of this build.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join(name);
    assert!(
        path.exists(),
        "{} is missing; cargo build --workspace --bins --examples builds it",
        path.display()
    );
    path
}

struct MessagesApi {
    process: Child,
    url: String,
}

impl MessagesApi {
    fn start(directory: &Path) -> Self {
        let script = directory.join("script.yaml");
        std::fs::write(&script, SCRIPT).unwrap();
        let mut process = Command::new(built("mock-messages-api"))
            .arg("--script")
            .arg(script)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        Self { process, url }
    }
}

impl Drop for MessagesApi {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run_example(directory: &Path, api: &MessagesApi, answer: &str) -> String {
    let mut example = Command::new(built("examples/approve_a_write"))
        .arg("Publish: all is well.")
        .arg(directory.join("state"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", directory)
        .env("CLAUDE_CLI", built("fake-claude"))
        .env("ANTHROPIC_BASE_URL", &api.url)
        .env("ANTHROPIC_API_KEY", "dummy")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = example.stdin.take().unwrap();
    // A run that asks nothing does not read.
    let _ = input.write_all(answer.as_bytes());
    drop(input);
    let output = example.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_asks_and_publishes_once() {
    let directory = tempfile::tempdir().unwrap();
    let api = MessagesApi::start(directory.path());
    let first = run_example(directory.path(), &api, "y\n");
    assert!(first.contains("Run publish with"), "{first}");
    assert!(first.contains("[published under key"), "{first}");
    assert!(first.contains("assistant: It is out."), "{first}");
    let second = run_example(directory.path(), &api, "");
    assert!(!second.contains("[published"), "{second}");
    assert!(second.contains("assistant: It is out."), "{second}");
}

#[test]
fn the_example_publishes_nothing_that_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let api = MessagesApi::start(directory.path());
    let output = run_example(directory.path(), &api, "n\n");
    assert!(!output.contains("[published"), "{output}");
    assert!(
        output.contains("tool: The user rejected this tool call."),
        "{output}"
    );
}
