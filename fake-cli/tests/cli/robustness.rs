//! Whatever comes in, the program ends by itself, with an exit code and without a panic.

use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use super::api::{Api, Reply};
use super::host::{Place, Run};

/// Each case is a process, so there are few of them.
fn few() -> ProptestConfig {
    ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn within_a_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

async fn fed(bytes: &[u8]) -> (Option<i32>, String) {
    let api = Api::replying([]).await;
    let place = Place::new(&api);
    let mut command = place.command();
    command.args(["--input-format", "stream-json", "--session-mirror"]);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The program may be gone before it has read everything.
    let _ = stdin.write_all(bytes).await;
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn any_bytes_on_stdin(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (code, stderr) = within_a_runtime(fed(&bytes));
        prop_assert!(matches!(code, Some(0 | 1)), "{code:?}: {stderr}");
        prop_assert!(!stderr.contains("panicked"), "{stderr}");
    }

    #[test]
    fn any_frame_on_stdin(
        kind in prop::sample::select(vec!["user", "control_request", "control_response", "x"]),
        subtype in prop::sample::select(vec!["initialize", "interrupt", "set_permission_mode",
            "set_model", "mcp_set_servers", "mcp_toggle", "x"]),
        value in prop::sample::select(vec!["null", "1", "[]", "{}", "\"text\"", "[[{}]]"]),
    ) {
        let frame = format!(
            "{{\"type\":\"{kind}\",\"request_id\":{value},\"request\":{{\"subtype\":\"{subtype}\",\
             \"hooks\":{value},\"mode\":{value},\"model\":{value},\"servers\":{value}}},\
             \"response\":{value},\"message\":{{\"role\":\"user\",\"content\":{value}}}}}\n"
        );
        let (code, stderr) = within_a_runtime(fed(frame.as_bytes()));
        prop_assert!(matches!(code, Some(0 | 1)), "{code:?}: {stderr}");
        prop_assert!(!stderr.contains("panicked"), "{stderr}");
    }

    #[test]
    fn any_stream_of_events(
        events in proptest::collection::vec(
            prop::sample::select(vec![
                "message_start", "content_block_start", "content_block_delta",
                "content_block_stop", "message_delta", "message_stop", "error", "ping",
            ]),
            0..8,
        ),
        data in prop::sample::select(vec!["{}", "null", "[1]", "\"x\"", "{broken",
            "{\"index\":0,\"message\":{\"id\":\"m\",\"content\":[]},\"content_block\":\
             {\"type\":\"tool_use\"},\"delta\":{\"type\":\"input_json_delta\"}}"]),
    ) {
        let stream: String = events
            .iter()
            .map(|event| {
                let data = data.replacen('{', &format!("{{\"type\":\"{event}\","), 1);
                format!("event: {event}\ndata: {}\n\n", data.replace(",}", "}"))
            })
            .collect();
        let outcome = within_a_runtime(async {
            let api = Api::replying([Reply::Stream(stream)]).await;
            let run = Run::prompt("go").environment("CLAUDE_CODE_MAX_RETRIES", "0");
            Place::new(&api).run(run).await
        });
        prop_assert!(matches!(outcome.code, 0 | 1), "{}: {}", outcome.code, outcome.stderr);
        prop_assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
        prop_assert_eq!(outcome.results().len(), 1);
    }

    #[test]
    fn any_transcript_to_resume_from(
        lines in proptest::collection::vec(
            prop::sample::select(vec![
                "{\"type\":\"user\",\"message\":{\"content\":7}}",
                "{\"type\":\"assistant\",\"uuid\":\"a\",\"message\":{\"id\":1,\"content\":[{\"type\":\"tool_use\"}]}}",
                "{\"type\":\"assistant\",\"uuid\":\"a\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Read\",\"input\":null}]}}",
                "{\"type\":\"attachment\",\"attachment\":{\"type\":\"hook_deferred_tool\",\"toolUseID\":\"t\"}}",
                "{\"type\":\"attachment\",\"attachment\":{\"type\":\"hook_deferred_tool\"}}",
                "{\"type\":\"cost-state\",\"modelUsage\":{\"m\":{\"costUSD\":\"x\"}}}",
                "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]}}",
                "null", "", "{", "\u{fffd}",
            ]),
            0..8,
        ),
    ) {
        let outcome = within_a_runtime(async {
            let api = Api::replying([]).await;
            let place = Place::new(&api);
            let id = uuid::Uuid::new_v4();
            let directory = place.config().join("projects/any");
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(format!("{id}.jsonl")), lines.join("\n")).unwrap();
            let arguments = ["--resume", &id.to_string(), "--await-initialize"];
            let mut run = Run::prompt("and now?").with(&arguments);
            run.environment.push(("CLAUDE_CODE_MAX_RETRIES".to_owned(), "0".to_owned()));
            place.run(run).await
        });
        prop_assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
        prop_assert_eq!(outcome.code, 1, "the API refuses everything: {}", outcome.stderr);
    }
}
