//! The report as JUnit XML.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::terminal::findings;
use crate::matrix::{CellResult, Outcome};

/// The report as JUnit XML: a suite for each pair of runner and CLI, a case for each cell.
///
/// # Errors
/// When a text in it cannot be written as XML.
pub fn to_junit(results: &[CellResult]) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("harness");
    let mut pairs: Vec<String> = Vec::new();
    for result in results {
        let pair = pair(result);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    for name in pairs {
        let mut suite = TestSuite::new(name.clone());
        suite.add_test_cases(
            results
                .iter()
                .filter(|result| pair(result) == name)
                .map(case),
        );
        report.add_test_suite(suite);
    }
    report.to_string()
}

fn pair(result: &CellResult) -> String {
    format!("{}::{}", result.name.runner, result.name.cli)
}

fn case(result: &CellResult) -> TestCase {
    let mut status = match result.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::NotApplicable | Outcome::ExpectedFailure => TestCaseStatus::skipped(),
        Outcome::Failed | Outcome::StaleBaseline => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        Outcome::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if let Some(first) = result.findings().next() {
        status.set_type(first.id.clone());
        status.set_message(first.message.clone());
        status.set_description(findings(result));
    }
    let mut case = TestCase::new(result.name.selector.to_string(), status);
    case.set_classname(pair(result));
    case.set_time(result.duration);
    case
}
