//! What came of a cell.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::{Baseline, CellName};
use crate::cell::{CellReport, CheckReport, Verdict};

/// What came of a cell, its baseline considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every check held.
    Passed,
    /// A check failed that no baseline lists.
    Failed,
    /// Every failed check is listed in the baseline, as it failed.
    ExpectedFailure,
    /// The baseline lists a failure that did not happen.
    StaleBaseline,
    /// The runner cannot do what the scenario requires.
    NotApplicable,
    /// The cell could not be run.
    Error,
}

/// A cell and what came of it.
#[derive(Debug, Clone)]
pub struct CellResult {
    /// Which cell.
    pub name: CellName,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
    /// Its checks.
    pub checks: Vec<CheckResult>,
    /// The last events before the first failed check, oldest first.
    pub last_events: Vec<String>,
    /// Where the evidence was kept.
    pub evidence: Option<PathBuf>,
    /// The command that repeats it.
    pub repro: String,
}

/// A check and what came of it.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// Its id.
    pub id: String,
    /// What came of it.
    pub outcome: CheckOutcome,
    /// What is wrong; empty when it held.
    pub message: String,
    /// What was expected; empty when it held.
    pub expected: String,
    /// What was seen; empty when it held.
    pub seen: String,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It held.
    Passed,
    /// It did not hold.
    Failed,
    /// It did not hold, as the baseline says.
    ExpectedFailure,
    /// It held, or its failure has expired, although the baseline lists it.
    StaleBaseline,
    /// It means nothing for this runner.
    NotApplicable,
    /// The cell could not be run.
    Error,
}

/// The check that stands for the cell itself in a report.
const CELL_CHECK: &str = "cell";

impl CellResult {
    /// The result of a cell that came to a report.
    pub(crate) fn new(
        name: CellName,
        repro: String,
        report: CellReport,
        baseline: &Baseline,
    ) -> Self {
        let checks = match &report.verdict {
            Verdict::Error { message } => vec![cell_check(CheckOutcome::Error, message.clone())],
            Verdict::NotApplicable { missing } => {
                let message = format!("it needs {}", missing.join(", "));
                vec![cell_check(CheckOutcome::NotApplicable, message)]
            }
            Verdict::Passed | Verdict::Failed => baseline.judge(&name, report.checks),
        };
        Self {
            outcome: outcome(&checks),
            name,
            duration: Duration::from_millis(report.duration_ms),
            checks,
            last_events: report.last_events,
            evidence: report.evidence,
            repro,
        }
    }

    /// The result of a cell that did not come to a report.
    pub(crate) fn without_report(
        name: CellName,
        repro: String,
        duration: Duration,
        message: String,
    ) -> Self {
        let checks = vec![cell_check(CheckOutcome::Error, message)];
        Self {
            name,
            outcome: Outcome::Error,
            duration,
            checks,
            last_events: Vec::new(),
            evidence: None,
            repro,
        }
    }

    /// The checks that a person must see.
    pub fn findings(&self) -> impl Iterator<Item = &CheckResult> {
        self.checks
            .iter()
            .filter(|check| check.outcome != CheckOutcome::Passed)
    }
}

fn cell_check(outcome: CheckOutcome, message: String) -> CheckResult {
    CheckResult {
        id: CELL_CHECK.to_owned(),
        outcome,
        message,
        expected: String::new(),
        seen: String::new(),
    }
}

impl CheckResult {
    pub(crate) fn new(report: CheckReport, outcome: CheckOutcome) -> Self {
        let CheckReport {
            id,
            message,
            expected,
            seen,
            ..
        } = report;
        Self {
            id,
            outcome,
            message,
            expected,
            seen,
        }
    }
}

/// The worst of the checks decides.
fn outcome(checks: &[CheckResult]) -> Outcome {
    let has = |outcome| checks.iter().any(|check| check.outcome == outcome);
    if has(CheckOutcome::Error) {
        Outcome::Error
    } else if has(CheckOutcome::Failed) {
        Outcome::Failed
    } else if has(CheckOutcome::StaleBaseline) {
        Outcome::StaleBaseline
    } else if has(CheckOutcome::ExpectedFailure) {
        Outcome::ExpectedFailure
    } else if has(CheckOutcome::NotApplicable) {
        Outcome::NotApplicable
    } else {
        Outcome::Passed
    }
}

/// How many cells came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Cells.
    pub total: usize,
    /// Cells that passed.
    pub passed: usize,
    /// Cells that failed.
    pub failed: usize,
    /// Cells that failed as the baseline says.
    pub expected_failure: usize,
    /// Cells that did not fail although the baseline says so.
    pub stale_baseline: usize,
    /// Cells that mean nothing for their runner.
    pub not_applicable: usize,
    /// Cells that could not be run.
    pub error: usize,
    /// Milliseconds from the first cell's start to the last cell's end.
    pub duration_ms: u64,
}

impl Summary {
    /// Counts.
    #[must_use]
    pub fn of(results: &[CellResult], duration: Duration) -> Self {
        let count = |outcome| {
            results
                .iter()
                .filter(|result| result.outcome == outcome)
                .count()
        };
        Self {
            total: results.len(),
            passed: count(Outcome::Passed),
            failed: count(Outcome::Failed),
            expected_failure: count(Outcome::ExpectedFailure),
            stale_baseline: count(Outcome::StaleBaseline),
            not_applicable: count(Outcome::NotApplicable),
            error: count(Outcome::Error),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
