//! The commands, by what they print and how they end.

mod fixture;

use std::fs::File;
use std::process::{Child, Stdio};

use fixture::{Ended, Fixture, ended, in_fixture, in_project};
use serde_json::Value;

#[test]
fn list_names_every_variant() {
    let ended = in_project(&["list", "restart/*"]);
    assert_eq!(ended.code, Some(0));
    let names: Vec<&str> = ended
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        [
            "restart/worker-restart-while-waiting@graceful",
            "restart/worker-restart-while-waiting@sigkill"
        ]
    );
}

#[test]
fn one_variant_is_selected_by_name() {
    let ended = in_project(&["list", "**@sigkill"]);
    assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
}

#[test]
fn a_pattern_that_selects_nothing_is_named() {
    for command in ["list", "run", "check"] {
        let ended = in_project(&[command, "kill/*", "kil/*"]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.stderr.contains("`kil/*`"), "{ended:?}");
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn check_finds_all_mistakes_in_all_files() {
    let fixture = Fixture::new();
    fixture.write("scenarios/talk/first.yaml", "titel: x\n");
    fixture.write("scenarios/talk/second.yaml", "title: \"\nmodel: []\n");
    let ended = ended(fixture.harness(&["check", "--scenarios", "scenarios"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("scenarios/talk/first.yaml:1:1"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("did you mean `title`?"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("scenarios/talk/second.yaml:"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("2 of the scenarios"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_file_at_the_wrong_place_is_named() {
    let fixture = Fixture::new();
    fixture.write("scenarios/talk/Greeting 2.yaml", "");
    let ended = ended(fixture.harness(&["list", "--scenarios", "scenarios"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("talk/Greeting 2"), "{ended:?}");
}

#[test]
fn a_full_disk_is_a_clear_error() {
    let fixture = Fixture::new();
    let mut command = fixture.harness(&["explain"]);
    let full = File::options().write(true).open("/dev/full");
    command
        .stdout(full.expect("/dev/full"))
        .stderr(Stdio::piped());
    let ended: Ended = command
        .spawn()
        .and_then(Child::wait_with_output)
        .expect("the harness starts")
        .into();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("cannot write to stdout: No space"),
        "{ended:?}"
    );
}

#[test]
fn a_directory_without_scenarios_selects_nothing() {
    let fixture = Fixture::new();
    fixture.runner("any", "exit 0");
    std::fs::create_dir(fixture.path().join("none")).expect("a directory");
    for arguments in [
        &["list"][..],
        &["check"],
        &["run", "--runner", "./any.yaml"],
        &["run", "--runner", "./any.yaml", "--format", "json"],
    ] {
        let mut command = fixture.harness(arguments);
        command.args(["--scenarios", "none"]);
        let ended = ended(command);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(
            ended.stderr.contains("there are no scenarios in "),
            "{ended:?}"
        );
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn a_pattern_that_selects_nothing_is_answered_with_what_was_meant() {
    for (pattern, meant) in [
        ("approval", "approval/*"),
        ("approval/aproved-write", "approval/approved-write"),
    ] {
        for command in ["list", "run", "check"] {
            let ended = in_project(&[command, pattern]);
            assert_eq!(ended.code, Some(4), "{ended:?}");
            assert!(
                ended.stderr.contains(&format!("did you mean `{meant}`?")),
                "{ended:?}"
            );
        }
    }
}

#[test]
fn one_scenario_is_spoken_of_as_one() {
    let fixture = Fixture::new();
    let check = || ended(fixture.harness(&["check", "--scenarios", "scenarios"]));
    assert_eq!(check().stdout, "1 scenario without a mistake\n");
    fixture.write("scenarios/talk/greeting.yaml", "titel: x\n");
    let wrong = check();
    assert!(
        wrong.stderr.contains("1 of the scenarios has mistakes"),
        "{wrong:?}"
    );
}

#[test]
fn a_wrong_option_ends_with_2() {
    for arguments in [
        &["run", "--jobs", "0"][..],
        &["run", "--timeout-scale", "-1"],
        &["rum"],
        &[],
    ] {
        assert_eq!(in_fixture(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn without_a_source_tree_the_scenarios_must_be_named() {
    let fixture = Fixture::new();
    let lonely = fixture.path().join("harness");
    std::fs::copy(env!("CARGO_BIN_EXE_harness"), &lonely).expect("a copy");
    let output = std::process::Command::new(&lonely)
        .arg("list")
        .current_dir(fixture.path())
        .output();
    let ended: Ended = output.expect("the copy starts").into();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--scenarios"), "{ended:?}");
}

#[test]
fn every_check_has_a_page() {
    let list = in_fixture(&["explain"]);
    assert_eq!(list.code, Some(0));
    let ids: Vec<&str> = list
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(ids.len() > 20, "{ids:?}");
    for id in [ids[0], ids[ids.len() - 1]] {
        let page = in_fixture(&["explain", id]);
        assert_eq!(page.code, Some(0));
        assert!(
            page.stdout.starts_with(id) && page.stdout.lines().count() > 3,
            "{}",
            page.stdout
        );
    }
}

#[test]
fn an_unknown_check_is_answered_with_the_nearest() {
    let ended = in_fixture(&["explain", "expect-ledgers"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("did you mean `expect-ledger`?"),
        "{ended:?}"
    );
}

#[test]
fn schemas_are_json() {
    for of in ["scenario", "protocol"] {
        let ended = in_fixture(&["schema", of]);
        assert_eq!(ended.code, Some(0));
        let schema: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert!(schema["$defs"].is_object(), "{of}");
    }
}

#[test]
fn show_puts_events_in_lanes() {
    let fixture = Fixture::new();
    fixture.write(
        "cell/log/trace.jsonl",
        concat!(
            "{\"trace_version\":1}\n",
            "{\"seq\":1,\"at_ns\":1500000,\"lane\":\"runner\",\"kind\":\"sent\",\"fields\":{\"method\":\"session/start\"}}\n",
            "{\"seq\":2,\"at_ns\":2500000,\"lane\":\"cli\",\"spawn\":1,\"kind\":\"spawned\"}\n",
            "{\"seq\":3,\"at_ns\":3500000,\"lane\":\"api\",\"kind\":\"request\",\"payload\":{\"model\":\"m\"}}\n",
        ),
    );
    let ended = ended(fixture.harness(&["show", "cell", "--payloads"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    insta::assert_snapshot!("show", ended.stdout);
}

#[test]
fn what_is_no_trace_is_refused() {
    let fixture = Fixture::new();
    fixture.write("notes.txt", "hello\n");
    let ended = ended(fixture.harness(&["show", "notes.txt"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("is no trace"), "{ended:?}");
}
