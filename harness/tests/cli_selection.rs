//! Which Claude Code CLIs can be named, and what is said of those that cannot.

mod fixture;

use fixture::{Fixture, ended, in_fixture, in_project};
use serde_json::Value;

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
