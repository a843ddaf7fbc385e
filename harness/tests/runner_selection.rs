//! Which runners and scenarios a run refuses, and with which words.

mod fixture;

use fixture::{Fixture, ended, in_project};

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
