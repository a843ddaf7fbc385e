//! Failures that are expected.

use std::path::{Path, PathBuf};

use chrono::{NaiveDate, Utc};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{CellName, CheckOutcome, CheckResult};
use crate::cell::CheckReport;

/// The expected failures of one runner.
#[derive(Debug, Clone)]
pub struct Baseline {
    entries: Vec<ExpectedFailure>,
    today: NaiveDate,
}

/// One expected failure.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedFailure {
    /// `theme/name`, or `theme/name@variant`.
    scenario: String,
    /// Only on this CLI; on every one when absent.
    cli: Option<String>,
    /// The check that fails.
    check: String,
    /// How the failure's message begins.
    message: String,
    /// Why it is accepted for now.
    #[serde(rename = "reason")]
    _reason: String,
    /// Where it is tracked.
    #[serde(rename = "issue")]
    _issue: String,
    /// The last day on which it is accepted, as YYYY-MM-DD.
    #[schemars(with = "Option<String>")]
    expires: Option<NaiveDate>,
}

/// A baseline that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It cannot be read.
    #[error("cannot read the baseline {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("cannot parse the baseline {}: {message}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why, and where.
        message: String,
    },
}

impl Default for Baseline {
    fn default() -> Self {
        Self::new(Vec::new(), Utc::now().date_naive())
    }
}

impl Baseline {
    fn new(entries: Vec<ExpectedFailure>, today: NaiveDate) -> Self {
        Self { entries, today }
    }

    /// Reads a file: a list of expected failures.
    ///
    /// # Errors
    /// When it cannot be read or is malformed.
    pub fn load(path: &Path) -> Result<Self, BaselineError> {
        let text = std::fs::read_to_string(path).map_err(|source| BaselineError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let entries = serde_saphyr::from_str(&text).map_err(|error| BaselineError::Malformed {
            path: path.to_owned(),
            message: error.to_string(),
        })?;
        Ok(Self::new(entries, Utc::now().date_naive()))
    }

    /// What came of each check, given what is expected of this cell.
    pub(crate) fn judge(&self, cell: &CellName, reports: Vec<CheckReport>) -> Vec<CheckResult> {
        let listed: Vec<&ExpectedFailure> = self
            .entries
            .iter()
            .filter(|entry| entry.concerns(cell))
            .collect();
        let mut results: Vec<CheckResult> = reports
            .into_iter()
            .map(|report| self.judge_check(&listed, report))
            .collect();
        for entry in &listed {
            if !results.iter().any(|result| result.id == entry.check) {
                results.push(stale(
                    &entry.check,
                    "the baseline lists this check, but it was not made",
                ));
            }
        }
        results
    }

    fn judge_check(&self, listed: &[&ExpectedFailure], report: CheckReport) -> CheckResult {
        let mut entries = listed
            .iter()
            .filter(|entry| entry.check == report.id)
            .peekable();
        if report.passed {
            return match entries.peek() {
                Some(_) => stale(
                    &report.id,
                    "the baseline lists a failure, but the check passed",
                ),
                None => CheckResult::new(report, CheckOutcome::Passed),
            };
        }
        let excused = entries
            .any(|entry| report.message.starts_with(&entry.message) && !self.has_expired(entry));
        let outcome = if excused {
            CheckOutcome::ExpectedFailure
        } else {
            CheckOutcome::Failed
        };
        CheckResult::new(report, outcome)
    }

    fn has_expired(&self, entry: &ExpectedFailure) -> bool {
        entry.expires.is_some_and(|last_day| last_day < self.today)
    }
}

impl ExpectedFailure {
    fn concerns(&self, cell: &CellName) -> bool {
        let is_scenario = self.scenario == cell.selector.to_string()
            || self.scenario == cell.selector.scenario.to_string();
        is_scenario && self.cli.as_ref().is_none_or(|cli| *cli == cell.cli)
    }
}

fn stale(check: &str, message: &str) -> CheckResult {
    CheckResult {
        id: check.to_owned(),
        outcome: CheckOutcome::StaleBaseline,
        message: message.to_owned(),
        expected: "a failure, as the baseline says".to_owned(),
        seen: "none; take the entry out of the baseline".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "
- scenario: kill/write
  check: ledger
  message: 2 effects
  reason: the adapter repeats the write
  issue: https://example.org/1
  expires: 2026-06-30
";

    fn outcome(date: &str, cell: &str, passed: bool, message: &str) -> CheckOutcome {
        let entries = serde_saphyr::from_str(LISTED).expect("a baseline");
        let baseline = Baseline::new(entries, date.parse().expect("a date"));
        let report = CheckReport {
            id: "ledger".to_owned(),
            passed,
            message: message.to_owned(),
            expected: String::new(),
            seen: String::new(),
        };
        baseline.judge(&cell.parse().expect("a cell"), vec![report])[0].outcome
    }

    #[test]
    fn a_listed_failure_is_expected_until_it_expires() {
        assert_eq!(
            outcome(
                "2026-06-30",
                "a::fake::kill/write",
                false,
                "2 effects of publish"
            ),
            CheckOutcome::ExpectedFailure
        );
        assert_eq!(
            outcome(
                "2026-07-01",
                "a::fake::kill/write",
                false,
                "2 effects of publish"
            ),
            CheckOutcome::Failed
        );
    }

    #[test]
    fn another_failure_or_another_cell_is_not_excused() {
        assert_eq!(
            outcome("2026-01-01", "a::fake::kill/write", false, "3 effects"),
            CheckOutcome::Failed
        );
        assert_eq!(
            outcome("2026-01-01", "a::fake::kill/other", false, "2 effects"),
            CheckOutcome::Failed
        );
    }

    #[test]
    fn a_listed_check_that_passes_is_stale() {
        assert_eq!(
            outcome("2026-01-01", "a::fake::kill/write@x", true, ""),
            CheckOutcome::StaleBaseline
        );
        assert_eq!(
            outcome("2026-01-01", "a::fake::kill/other", true, ""),
            CheckOutcome::Passed
        );
    }
}
