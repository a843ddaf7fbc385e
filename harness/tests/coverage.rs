//! Coverage, by what it prints of a small source tree and how it ends.

mod fixture;

use fixture::{Ended, Fixture, ended, project};
use serde_json::{Value, json};

const REQUIREMENTS: &str = "
- {id: told, statement: It is told., layer: adapter, how: Look., source: here, must: true}
- {id: kept, statement: It is kept., layer: adapter, how: Look., source: here, must: true}
- {id: nice, statement: It is nice., layer: adapter, how: Look., source: here, must: false}
- {id: mocked, statement: It is mocked., layer: mock, how: Look., source: here, must: true}
";

const MATRIX: &str =
    "pairs: [{runner: rust, cli: fake, cells: 1}, {runner: rust, cli: 2.1.316, cells: 1}]";

const TEST: &str = "
mod tests {
    // covers: kept
    #[test]
    fn keeps() {}
}
";

/// A source tree with the scenario `talk/greeting`, which covers `told`, and the test `tests::keeps`, which covers `kept`.
fn source_tree() -> Fixture {
    let fixture = Fixture::new();
    let scenario = fixture.path().join("scenarios/talk/greeting.yaml");
    let text = std::fs::read_to_string(scenario).expect("the scenario");
    fixture.write(
        "scenarios/talk/greeting.yaml",
        &format!("covers: [told]\n{text}"),
    );
    fixture.write("scenarios/requirements.yaml", REQUIREMENTS);
    fixture.write("ci/matrix.yaml", MATRIX);
    fixture.write("Cargo.toml", "");
    fixture.write("harness/runners/none", "");
    fixture.write("keeper/Cargo.toml", "");
    fixture.write("keeper/src/lib.rs", TEST);
    fixture
}

fn coverage(fixture: &Fixture, more: &[&str]) -> Ended {
    let arguments = ["coverage", "--results", "junit.xml"];
    ended(fixture.harness(&[&arguments, more].concat()))
}

/// Writes results in nextest's form: binary, test, and whether it passed.
fn results(fixture: &Fixture, tests: &[(&str, &str, bool)]) {
    let cases: String = tests
        .iter()
        .map(|(binary, test, passed)| {
            let failure = if *passed { "" } else { r#"<failure type="test failure"/>"# };
            format!(
                r#"<testsuite name="{binary}" tests="1" failures="0" errors="0"><testcase name="{test}" classname="{binary}">{failure}</testcase></testsuite>"#
            )
        })
        .collect();
    fixture.write(
        "junit.xml",
        &format!(r#"<?xml version="1.0" encoding="UTF-8"?><testsuites name="nextest-run" tests="1" failures="0" errors="0">{cases}</testsuites>"#),
    );
}

const FAKE: (&str, &str, bool) = ("harness::cells", "rust::fake::talk/greeting", true);
const REAL: (&str, &str, bool) = ("harness::cells", "rust::2.1.316::talk/greeting", true);
const KEEPS: (&str, &str, bool) = ("keeper", "tests::keeps", true);

fn failed(
    (binary, test, _): (&'static str, &'static str, bool),
) -> (&'static str, &'static str, bool) {
    (binary, test, false)
}

#[test]
fn what_passed_counts() {
    let fixture = source_tree();
    results(&fixture, &[FAKE, REAL, KEEPS]);
    let ended = coverage(&fixture, &["--format", "json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        report,
        json!({"requirements": [
            {"id": "kept", "layer": "adapter", "must": true, "scenarios": [], "tests": ["keeper tests::keeps"]},
            {"id": "mocked", "layer": "mock", "must": true, "scenarios": [], "tests": []},
            {"id": "nice", "layer": "adapter", "must": false, "scenarios": [], "tests": []},
            {"id": "told", "layer": "adapter", "must": true, "scenarios": ["talk/greeting"], "tests": []},
        ]})
    );
}

#[test]
fn what_failed_or_did_not_run_does_not_count() {
    let fixture = source_tree();
    for (tests, state) in [
        (vec![FAKE, failed(REAL), KEEPS], "told is failed"),
        (vec![FAKE, KEEPS], "told is not run"),
        (vec![FAKE, REAL], "kept is not run"),
        (vec![FAKE, REAL, failed(KEEPS)], "kept is failed"),
    ] {
        results(&fixture, &tests);
        let ended = coverage(&fixture, &["--format", "json"]);
        assert_eq!(ended.code, Some(1), "{tests:?}: {ended:?}");
        assert!(ended.stderr.contains(state), "{tests:?}: {ended:?}");
        let shown =
            ended.stdout.matches("greeting\"").count() + ended.stdout.matches("keeps\"").count();
        assert_eq!(shown, 1, "only what passed is listed: {ended:?}");
    }
}

#[test]
fn a_layer_is_shown_and_judged_by_itself() {
    let fixture = source_tree();
    results(&fixture, &[FAKE, REAL, KEEPS]);
    let ended = coverage(&fixture, &["--layer", "mock"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("mocked is uncovered"), "{ended:?}");
    assert!(!ended.stdout.contains("told"), "{ended:?}");
    assert!(
        ended.stdout.contains(
            "mock: 0 of 1 binding requirements covered, 0 not run, 0 failed, 1 uncovered"
        ),
        "{ended:?}"
    );

    let ended = coverage(&fixture, &["--layer", "moc"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("adapter, mock"), "{ended:?}");
}

#[test]
fn the_table_says_what_carries_what() {
    let fixture = source_tree();
    results(&fixture, &[FAKE, REAL, failed(KEEPS)]);
    let ended = coverage(&fixture, &[]);
    for text in [
        "talk/greeting ",
        "keeper tests::keeps (failed)",
        "adapter: 1 of 2 binding",
    ] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
}

#[test]
fn an_unknown_id_is_an_error_with_its_place() {
    let fixture = source_tree();
    results(&fixture, &[FAKE, REAL, KEEPS]);
    fixture.write(
        "keeper/tests/all.rs",
        "\n// covers: kept, kepd\n#[test]\nfn one() {}\n",
    );
    let ended = coverage(&fixture, &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains(
            "keeper/tests/all.rs:2: there is no requirement `kepd`; did you mean `kept`?"
        ),
        "{ended:?}"
    );
}

#[test]
fn a_tag_that_belongs_to_no_test_is_an_error_with_its_place() {
    let fixture = source_tree();
    results(&fixture, &[FAKE, REAL, KEEPS]);
    fixture.write("keeper/tests/all.rs", "// covers: kept\nfn no_test() {}\n");
    let ended = coverage(&fixture, &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("keeper/tests/all.rs:1: "),
        "{ended:?}"
    );
}

#[test]
fn missing_or_damaged_results_are_an_error() {
    let fixture = source_tree();
    let ended = coverage(&fixture, &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("cargo nextest run --workspace --profile ci"),
        "{ended:?}"
    );
    fixture.write("junit.xml", "<testsuites");
    let ended = coverage(&fixture, &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("as a JUnit report"), "{ended:?}");
}

/// The tags of this source tree name requirements and stand above tests that nextest knows by these names.
#[test]
fn the_tags_of_the_source_tree_are_right() {
    let fixture = Fixture::new();
    fixture.write("empty.xml", r#"<?xml version="1.0" encoding="UTF-8"?><testsuites name="run" tests="0" failures="0" errors="0"></testsuites>"#);
    let results = fixture.path().join("empty.xml");
    let results = results.to_str().expect("a path");
    let mut command = fixture.harness(&["coverage", "--results", results]);
    command.current_dir(project());
    let ended = ended(command);
    // Nothing ran, so nothing is covered; a mistake in a tag would end with 2.
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for package in ["adapter", "fake-cli", "harness", "mock-messages-api"] {
        let manifest = std::fs::read_to_string(project().join(package).join("Cargo.toml"));
        let named = format!("\nname = \"{package}\"\n");
        assert!(
            manifest.expect("a manifest").contains(&named),
            "tests are named after their directory"
        );
    }
}
