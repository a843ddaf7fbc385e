//! Every quirk does what its name says.

use super::api::{Api, Reply, call, refund, says, text};
use super::host::{Outcome, Place, Run};
use serde_json::json;

async fn deferred(quirk: &str) -> (Outcome, Api) {
    let replies = [says(&[refund("toolu_01", "7")]), says(&[text("Done.")])];
    let api = Api::replying(replies).await;
    let run = Run::prompt("go")
        .with(&["--quirk", quirk])
        .deciding("defer");
    let outcome = Place::new(&api).run(run).await;
    (outcome, api)
}

async fn resumed(quirk: &str) -> Outcome {
    let replies = [says(&[refund("toolu_01", "7")]), says(&[text("Done.")])];
    let api = Api::replying(replies).await;
    let place = Place::new(&api);
    let first = place.run(Run::prompt("go").deciding("defer")).await;
    let run = Run::resume(&first).deciding("allow").permission(|_| {
        super::host::Answer::Success(json!({"behavior": "deny", "message": "asked"}))
    });
    place
        .run(run.environment("FAKE_CLAUDE_QUIRKS", quirk))
        .await
}

async fn spoken(quirk: &str) -> Outcome {
    let api = Api::replying([says(&[text("Hello.")])]).await;
    let run = Run::prompt("hi").with(&["--quirk", quirk, "--session-mirror"]);
    Place::new(&api).run(run).await
}

#[tokio::test]
async fn a_resumed_call_is_decided_otherwise() {
    let skipped = resumed("resume-skips-hook").await;
    assert!(skipped.asked("hook_callback").is_empty());
    assert_eq!(skipped.tool_result_text(), "asked");
    let asked = resumed("resume-asks-can-use-tool").await;
    assert_eq!(asked.asked("hook_callback").len(), 1);
    assert_eq!(asked.tool_result_text(), "asked");
    let unavailable = resumed("tool-deferred-unavailable").await;
    assert_eq!(
        unavailable.result()["stop_reason"],
        "tool_deferred_unavailable"
    );
}

#[tokio::test]
async fn a_deferral_is_taken_otherwise() {
    let (ignored, _) = deferred("defer-ignored").await;
    assert!(
        ignored
            .tool_result_text()
            .starts_with("Claude requested permissions")
    );
    let (asks, _) = deferred("defer-asks-can-use-tool").await;
    assert_eq!(asks.tool_result_text(), "");
    let (extra, api) = deferred("extra-model-call-after-defer").await;
    assert_eq!(api.requests().len(), 2);
    assert_eq!(extra.result()["stop_reason"], "tool_deferred");
}

#[tokio::test]
async fn results_come_too_rarely_or_too_often() {
    let twice = spoken("second-result").await;
    assert_eq!(twice.results().len(), 2);
    assert_eq!(twice.results()[0], twice.results()[1]);
    let api = Api::replying([says(&[refund("toolu_01", "7")]), says(&[text("Done.")])]).await;
    let run = Run::prompt("go").with(&["--quirk", "result-missing"]);
    let missing = Place::new(&api)
        .run(run.hook(|_| super::host::Answer::CloseInput))
        .await;
    assert!(missing.results().is_empty());
    assert_eq!(missing.of_type("assistant").len(), 2);
    let failed = spoken("nonzero-exit-after-success").await;
    assert_eq!(failed.result()["is_error"], false);
    assert_eq!(failed.code, 1);
}

#[tokio::test]
async fn stdout_holds_what_is_no_frame() {
    let noisy = spoken("noise-on-stdout").await;
    assert!(noisy.frames.iter().any(|frame| frame["type"] == "garbage"));
    assert_eq!(noisy.result()["result"], "Hello.");
    let unknown = spoken("unknown-frames").await;
    assert!(!unknown.of_type("brand_new_frame").is_empty());
    let oversized = spoken("oversized-line").await;
    let longest = oversized
        .frames
        .iter()
        .map(|frame| frame.to_string().len())
        .max();
    assert!(longest > Some(1_048_576));
    let split = spoken("split-lines").await;
    assert_eq!(split.result()["result"], "Hello.");
}

#[tokio::test]
async fn the_mirror_loses_what_the_model_said() {
    let mirrored = |outcome: &Outcome, kind: &str| {
        let frames = outcome.of_type("transcript_mirror").into_iter();
        let mut entries = frames.flat_map(|frame| frame["entries"].as_array().unwrap());
        entries.any(|entry| entry["type"] == *kind)
    };
    let lossy = spoken("mirror-loss").await;
    assert!(mirrored(&lossy, "user"));
    assert!(!mirrored(&lossy, "assistant"));
}

#[tokio::test]
async fn tool_uses_share_an_id_or_a_tool_has_a_new_name() {
    let api = Api::replying([
        says(&[refund("toolu_01", "1"), refund("toolu_02", "2")]),
        says(&[text("Done.")]),
    ])
    .await;
    let run = Run::prompt("go")
        .with(&["--quirk", "duplicate-tool-use-id"])
        .deciding("allow");
    let outcome = Place::new(&api).run(run).await;
    let ids: Vec<_> = outcome
        .tool_results()
        .iter()
        .map(|block| &block["tool_use_id"])
        .collect();
    assert_eq!(ids, ["toolu_01", "toolu_01"]);

    let shell: Reply = says(&[call("toolu_01", "Shell", &json!({"command": "echo hi"}))]);
    let api = Api::replying([shell, says(&[text("Done.")])]).await;
    let run = Run::prompt("go")
        .with(&["--quirk", "new-builtin-name=Shell"])
        .deciding("allow");
    let outcome = Place::new(&api).run(run).await;
    assert_eq!(outcome.tool_result_text(), "hi");
    let hook = outcome.asked("hook_callback")[0];
    assert_eq!(hook["input"]["tool_name"], "Shell");
}

/// A process with one prompt, spoken to by hand.
struct Spoken {
    child: tokio::process::Child,
    stdin: Option<tokio::process::ChildStdin>,
    lines: tokio::io::Lines<tokio::io::BufReader<tokio::process::ChildStdout>>,
    _place: Place,
}

impl Spoken {
    async fn new(quirk: &str) -> Self {
        let api = Api::replying([]).await;
        let place = Place::new(&api);
        let mut child = place
            .command()
            .args(["--output-format", "stream-json", "--verbose"])
            .args(["--input-format", "stream-json", "--prompt-commands"])
            .env("FAKE_CLAUDE_QUIRKS", quirk)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let mut spoken = Self {
            child,
            stdin,
            lines: tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(stdout)),
            _place: place,
        };
        let message = json!({"role": "user", "content": "say Hello."});
        spoken
            .write(&json!({"type": "user", "message": message}))
            .await;
        spoken
    }

    async fn write(&mut self, frame: &serde_json::Value) {
        let line = format!("{frame}\n");
        let stdin = self.stdin.as_mut().unwrap();
        tokio::io::AsyncWriteExt::write_all(stdin, line.as_bytes())
            .await
            .unwrap();
    }

    /// The types of all frames up to the first of this type.
    async fn until(&mut self, kind: &str) -> Vec<String> {
        let mut seen = Vec::new();
        while seen.last().is_none_or(|last| last != kind) {
            let line = self.lines.next_line().await.unwrap().unwrap();
            let frame: serde_json::Value = serde_json::from_str(&line).unwrap();
            seen.push(frame["type"].as_str().unwrap().to_owned());
        }
        seen
    }
}

#[tokio::test]
async fn a_stalled_result_comes_when_nobody_will_say_more() {
    let mut spoken = Spoken::new("stall-before-result").await;
    spoken.until("assistant").await;
    let question = json!({"subtype": "mcp_status"});
    spoken
        .write(&json!({"type": "control_request", "request_id": "1", "request": question}))
        .await;
    let meanwhile = spoken.until("control_response").await;
    assert!(!meanwhile.contains(&"result".to_owned()), "{meanwhile:?}");
    spoken.stdin = None;
    spoken.until("result").await;
}

#[tokio::test]
async fn a_lingering_process_does_not_end_by_itself() {
    let bound = std::time::Duration::from_millis(500);
    let mut lingering = Spoken::new("linger-after-result").await;
    lingering.until("result").await;
    lingering.stdin = None;
    let ended = tokio::time::timeout(bound, lingering.child.wait()).await;
    assert!(ended.is_err(), "{ended:?}");
    let mut prompt = Spoken::new("").await;
    prompt.until("result").await;
    prompt.stdin = None;
    assert!(prompt.child.wait().await.unwrap().success());
}
