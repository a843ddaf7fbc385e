//! Runners that do not keep to the protocol: a clear error, exit code 3, and nothing left alive.

mod fixture;

use std::process::{Child, Stdio};

use fixture::{Ended, Fixture, ended};
use serde_json::Value;

/// Runs a runner that is this shell script, and checks what every broken runner must lead to.
fn broken_runner(name: &str, script: &str, more: &[&str]) -> Ended {
    let fixture = Fixture::new();
    fixture.runner(name, script);
    let ended = ended(fixture.run(name, more));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(fixture.leftovers(), Vec::<String>::new());
    ended
}

#[test]
fn garbage_is_shown_and_blamed_on_the_runner() {
    let ended = broken_runner("garbage", "echo this is no JSON; cat > /dev/null", &[]);
    assert!(
        ended.stdout.contains("broke the runner protocol"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("this is no JSON"), "{}", ended.stdout);
}

#[test]
fn a_runner_that_dies_at_once_is_quoted() {
    let ended = broken_runner("dying", "echo the database is locked >&2; exit 7", &[]);
    assert!(
        ended.stdout.contains("the database is locked"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains('7'), "{}", ended.stdout);
}

#[test]
fn a_runner_that_dies_midway_is_quoted() {
    let answer = r#"{"protocol_version":1,"pid":'$$',"runner":{"name":"r","version":"1","language":"sh"},"adapter":{"name":"a","version":"1","sdk":null,"sdk_version":null},"capabilities":[]}"#;
    let script = format!(
        "read -r line; id=$(printf '%s' \"$line\" | sed 's/.*\"id\":\\([0-9]*\\).*/\\1/')\n\
         printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$id\" '{answer}'\n\
         read -r line; echo out of memory >&2; exit 9"
    );
    let ended = broken_runner("midway", &script, &[]);
    assert!(ended.stdout.contains("out of memory"), "{}", ended.stdout);
}

#[test]
fn a_runner_that_never_answers_is_given_up() {
    let ended = broken_runner("silent", "cat > /dev/null", &["--timeout-scale", "0.05"]);
    assert!(
        ended.stdout.contains("did not answer initialize"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_runner_that_leaves_children_behind_leaves_none() {
    let script = "setsid sh -c 'exec tail -f /dev/null' \"$0\" & exit 1";
    broken_runner("parent", script, &[]);
}

#[test]
fn a_runner_that_answers_with_unknown_fields_is_told_which() {
    let script = "read -r line; printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1}}\\n'; cat > /dev/null";
    let ended = broken_runner("wrong", script, &[]);
    assert!(ended.stdout.contains("protocol"), "{}", ended.stdout);
}

#[test]
fn the_json_report_has_its_form_also_for_an_error() {
    let ended = broken_runner(
        "garbage",
        "echo nonsense; cat > /dev/null",
        &["--format", "json"],
    );
    let report: Value =
        serde_json::from_str(&ended.stdout).expect("one JSON document and nothing else");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["summary"]["total"], 1);
    assert_eq!(report["summary"]["error"], 1);
    let cell = &report["cells"][0];
    let keys: Vec<&str> = cell
        .as_object()
        .expect("a cell")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "scenario",
            "runner",
            "cli",
            "outcome",
            "duration_ms",
            "checks",
            "repro"
        ]
    );
    assert_eq!(cell["scenario"], "talk/greeting");
    assert_eq!(cell["outcome"], "error");
    let check = cell["checks"][0].as_object().expect("a check");
    assert_eq!(
        check.keys().map(String::as_str).collect::<Vec<_>>(),
        ["id", "outcome", "message"]
    );
    assert!(
        check["message"]
            .as_str()
            .is_some_and(|message| message.contains("nonsense"))
    );
}

#[test]
fn reports_for_other_tools_are_written() {
    let fixture = Fixture::new();
    fixture.runner("dying", "exit 7");
    let ended = ended(fixture.run(
        "dying",
        &["--junit", "report.xml", "--markdown", "report.md"],
    ));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let read = |name: &str| std::fs::read_to_string(fixture.path().join(name)).expect("the report");
    assert!(
        read("report.xml").contains("<error"),
        "{}",
        read("report.xml")
    );
    assert!(
        read("report.md").contains("| `talk/greeting` | ERROR |"),
        "{}",
        read("report.md")
    );
}

#[test]
fn a_report_that_cannot_be_written_is_found_before_the_run() {
    let fixture = Fixture::new();
    fixture.runner("marking", "touch ran; exit 7");
    fixture.write("file", "");
    for arguments in [
        ["--junit", "nowhere/report.xml"],
        ["--markdown", "scenarios"],
        ["--evidence", "file/evidence"],
    ] {
        let mut command = fixture.harness(&["run", "--no-build", "--scenarios", "scenarios"]);
        let cli = env!("CARGO_BIN_EXE_cli-tap");
        command.args(["--runner", "./marking.yaml", "--cli", cli]);
        command.args(arguments);
        let ended = ended(command);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended
                .stderr
                .contains(&format!("cannot write {}: ", arguments[1])),
            "{ended:?}"
        );
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.lines().count()),
            ("", 1)
        );
    }
}

#[test]
fn a_report_that_is_lost_after_the_run_does_not_take_the_matrix_with_it() {
    let fixture = Fixture::new();
    fixture.runner("dying", "exit 7");
    let ended = ended(fixture.run("dying", &["--junit", "/dev/full"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stdout.contains("talk/greeting"), "{ended:?}");
    assert!(
        ended.stderr.contains("cannot write /dev/full: "),
        "{ended:?}"
    );
}

#[test]
fn a_reader_that_has_gone_changes_no_exit_code() {
    let fixture = Fixture::new();
    fixture.runner("dying", "exit 7");
    for (mut command, code) in [
        (fixture.run("dying", &[]), 3),
        (fixture.harness(&["explain"]), 0),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        command.stdout(writer).stderr(Stdio::piped());
        let ended: Ended = command
            .spawn()
            .and_then(Child::wait_with_output)
            .expect("the harness starts")
            .into();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(!ended.stderr.contains("error:"), "{ended:?}");
    }
}
