//! Reports of one run in every format.

use std::path::PathBuf;
use std::time::Duration;

use harness::matrix::{CellResult, CheckOutcome, CheckResult, Outcome, Summary};
use harness::report::{to_json, to_junit, to_markdown, to_terminal};

fn check(
    id: &str,
    outcome: CheckOutcome,
    message: &str,
    expected: &str,
    seen: &str,
) -> CheckResult {
    CheckResult {
        id: id.to_owned(),
        outcome,
        message: message.to_owned(),
        expected: expected.to_owned(),
        seen: seen.to_owned(),
    }
}

fn cell(name: &str, outcome: Outcome, checks: Vec<CheckResult>) -> CellResult {
    let name: harness::matrix::CellName = name.parse().expect("a name");
    let failed = outcome == Outcome::Failed;
    CellResult {
        repro: format!(
            "cargo run -p harness -- run '{}' --runner {} --cli {}",
            name.selector, name.runner, name.cli
        ),
        name,
        outcome,
        duration: Duration::from_millis(1234),
        checks,
        last_events: if failed {
            vec!["#1 adapter".to_owned(), "#2 cli".to_owned()]
        } else {
            Vec::new()
        },
        evidence: failed.then(|| PathBuf::from("evidence/kill/write")),
    }
}

/// A cell of each outcome.
fn results() -> Vec<CellResult> {
    let passed = || check("ledger", CheckOutcome::Passed, "", "", "");
    vec![
        cell(
            "rust::fake::approval/write",
            Outcome::Passed,
            vec![passed()],
        ),
        cell(
            "rust::fake::kill/write@sigkill",
            Outcome::Failed,
            vec![
                passed(),
                check(
                    "effects",
                    CheckOutcome::Failed,
                    "publish ran twice",
                    "1 effect",
                    "2 effects\nunder <one> key",
                ),
            ],
        ),
        cell(
            "rust::fake::resume/skip",
            Outcome::ExpectedFailure,
            vec![check(
                "frames",
                CheckOutcome::ExpectedFailure,
                "no hook",
                "1",
                "0",
            )],
        ),
        cell(
            "python::fake::approval/write",
            Outcome::StaleBaseline,
            vec![check(
                "ledger",
                CheckOutcome::StaleBaseline,
                "it passed",
                "a failure",
                "none",
            )],
        ),
        cell(
            "python::fake::kill/write@sigkill",
            Outcome::NotApplicable,
            vec![check(
                "cell",
                CheckOutcome::NotApplicable,
                "it needs split",
                "",
                "",
            )],
        ),
        cell(
            "python::fake::resume/skip",
            Outcome::Error,
            vec![check(
                "cell",
                CheckOutcome::Error,
                "runner worker-1 ended (code 1)",
                "",
                "",
            )],
        ),
    ]
}

fn summary() -> Summary {
    Summary::of(&results(), Duration::from_millis(2500))
}

#[test]
fn terminal() {
    insta::assert_snapshot!(to_terminal(summary(), &results(), false));
}

#[test]
fn json() {
    insta::assert_snapshot!(to_json(summary(), &results()));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(to_markdown(summary(), &results()));
}

#[test]
fn junit() {
    insta::assert_snapshot!(to_junit(&results()).expect("XML"));
}
