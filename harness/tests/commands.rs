//! The commands, by what they print and how they end.

mod fixture;

use std::fs::File;
use std::process::{Child, Stdio};

use fixture::{Ended, Fixture, ended, project};
use serde_json::Value;

fn in_fixture(arguments: &[&str]) -> Ended {
    ended(Fixture::new().harness(arguments))
}

/// In the source tree itself, with its scenarios and runners.
fn in_project(arguments: &[&str]) -> Ended {
    let fixture = Fixture::new();
    let mut command = fixture.harness(arguments);
    command.current_dir(project());
    ended(command)
}

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
fn run_says_what_is_wrong_with_a_scenario_before_it_builds_or_runs_anything() {
    let fixture = Fixture::new();
    fixture.runner("never", "exit 0");
    fixture.write(
        "scenarios/talk/greeting.yaml",
        "title: x\nmodel: []\nsteps:\n  - approve: publish\n",
    );
    let ended = ended(fixture.run("never", &[]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("unknown tool `publish`"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("scenarios/talk/greeting.yaml:4:14"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stdout, "");
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
fn an_unknown_runner_is_answered_with_those_there_are() {
    let ended = in_project(&["run", "--runner", "rast", "--no-build"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("unknown runner `rast`; did you mean `rust`? there are python, rust"),
        "{ended:?}"
    );
}

#[test]
fn an_unknown_cli_is_answered_with_what_can_be_written() {
    let ended = in_project(&["run", "--cli", "latest", "--no-build"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("write `fake`, a version such as 2.1.316"),
        "{ended:?}"
    );
}

#[test]
fn a_missing_cli_is_answered_with_the_command_that_installs_it() {
    let fixture = Fixture::new();
    fixture.runner("any", "exit 0");
    let arguments = [
        "run",
        "--no-build",
        "--scenarios",
        "scenarios",
        "--runner",
        "./any.yaml",
        "--cli",
        "2.1.999",
    ];
    let ended = ended(fixture.harness(&arguments));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("cargo run -p harness -- cli install 2.1.999"),
        "{ended:?}"
    );
}

#[test]
fn a_damaged_cli_is_not_used() {
    let fixture = Fixture::new();
    fixture.runner("any", "exit 0");
    fixture.write("cache/cli/2.1.999/claude", "half");
    fixture.write(
        "cache/cli/2.1.999/cli.json",
        r#"{"version": "2.1.999", "package": "p", "sha256": "0", "bytes": 1000}"#,
    );
    let arguments = [
        "run",
        "--no-build",
        "--scenarios",
        "scenarios",
        "--runner",
        "./any.yaml",
        "--cli",
        "2.1.999",
    ];
    let ended = ended(fixture.harness(&arguments));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("4 bytes in place of 1000"),
        "{ended:?}"
    );
}

#[test]
fn a_cli_cannot_be_installed_without_npm() {
    let fixture = Fixture::new();
    let mut command = fixture.harness(&["cli", "install", "2.1.999"]);
    command.env("PATH", "/nonexistent");
    let ended = ended(command);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("is npm installed?"), "{ended:?}");
}

#[test]
fn an_empty_cache_lists_nothing() {
    let ended = in_fixture(&["cli", "list"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(
        ended
            .stderr
            .contains("`cargo run -p harness -- cli install"),
        "{ended:?}"
    );
}

#[test]
fn a_manifest_with_a_mistake_is_refused() {
    let fixture = Fixture::new();
    fixture.write("wrong.yaml", "name: wrong\ncomand: [x]\n");
    let ended = ended(fixture.run("wrong", &[]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("wrong.yaml") && ended.stderr.contains("comand"),
        "{ended:?}"
    );
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let fixture = Fixture::new();
    fixture.write("absent.yaml", "name: absent\ncommand: [no-such-program]\n");
    let ended = ended(fixture.run("absent", &[]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("no-such-program"), "{ended:?}");
    assert!(
        ended.stderr.contains("neither beside the harness") && ended.stderr.contains("nor on PATH"),
        "{ended:?}"
    );
}

#[test]
fn a_misspelt_program_is_answered_with_the_one_beside_the_harness() {
    let fixture = Fixture::new();
    fixture.write("near.yaml", "name: near\ncommand: [cli-tab]\n");
    let ended = ended(fixture.run("near", &[]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("did you mean `cli-tap`?"),
        "{ended:?}"
    );
}

#[test]
fn a_program_without_a_slash_is_found_on_the_path() {
    let fixture = Fixture::new();
    fixture.program("programs/my-adapter", "echo started from PATH >&2; exit 7");
    fixture.write("mine.yaml", "name: mine\ncommand: [my-adapter]\n");
    let mut command = fixture.run("mine", &[]);
    let search = std::env::var("PATH").expect("a PATH");
    command.env(
        "PATH",
        format!("{}:{search}", fixture.path().join("programs").display()),
    );
    let ended = ended(command);
    assert!(ended.stdout.contains("started from PATH"), "{ended:?}");
}

#[test]
fn one_runner_is_not_run_twice() {
    let fixture = Fixture::new();
    fixture.runner("any", "exit 0");
    let ended = ended(fixture.run("any", &["--runner", "./any.yaml"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn two_runners_of_one_name_are_refused() {
    let fixture = Fixture::new();
    fixture.runner("one", "exit 0");
    fixture.write("two.yaml", "name: one\ncommand: [sh]\n");
    let ended = ended(fixture.run("one", &["--runner", "./two.yaml"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("two runners are both called `one`")
            && ended.stderr.contains("two.yaml"),
        "{ended:?}"
    );
}

#[test]
fn two_clis_of_one_name_have_a_column_each() {
    let fixture = Fixture::new();
    fixture.runner("dying", "exit 7");
    for path in ["a/claude", "b/claude", "c/claude"] {
        fixture.program(path, "exit 0");
    }
    let arguments = [
        "--cli", "a/claude", "--cli", "b/claude", "--cli", "c/claude", "--format", "json",
    ];
    let ended = ended(fixture.run("dying", &arguments));
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let cells = report["cells"].as_array().expect("cells");
    let names: Vec<&Value> = cells.iter().map(|cell| &cell["cli"]).collect();
    assert_eq!(names, ["cli-tap", "claude", "claude (2)", "claude (3)"]);
    assert!(ended.stderr.contains("`claude (2)` is "), "{ended:?}");
    for name in ["claude", "claude (2)", "claude (3)"] {
        assert!(
            fixture.path().join("evidence/dying").join(name).is_dir(),
            "{name}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_executed_is_no_cli() {
    let fixture = Fixture::new();
    fixture.runner("any", "exit 0");
    fixture.write("notes/claude", "hello");
    let ended = ended(fixture.run("any", &["--cli", "notes/claude"]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("is not executable"), "{ended:?}");
    assert_eq!(ended.stdout, "");
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
fn drift_tells_of_a_missing_cli_before_anything_is_built() {
    for arguments in [
        &["drift", "fake", "9.9.9"][..],
        &["drift", "--bless", "9.9.9"],
    ] {
        let ended = in_project(arguments);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stderr.contains("cli install 9.9.9"), "{ended:?}");
        assert!(!ended.stderr.contains("building"), "{ended:?}");
    }
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
fn npm_is_quoted_when_it_refuses() {
    let fixture = Fixture::new();
    fixture.program(
        "programs/npm",
        "case \"$*\" in *--silent*) ;; *) echo 'npm error notarget No matching version' >&2;; esac\nexit 1",
    );
    let mut command = fixture.harness(&["cli", "install", "2.1.999"]);
    command.env("PATH", fixture.path().join("programs"));
    let ended = ended(command);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("npm error notarget No matching version"),
        "{ended:?}"
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
