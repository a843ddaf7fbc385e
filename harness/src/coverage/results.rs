//! The results of a run of the tests, as nextest writes them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quick_junit::{Report, TestCaseStatus};

use super::test_name::TestName;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It passed, in its first attempt.
    Passed,
    /// It was not run.
    NotRun,
    /// It failed, at least once.
    Failed,
}

/// What the tests of a run came to.
#[derive(Debug, Clone, Default)]
pub struct RunResults(HashMap<TestName, Verdict>);

/// Results that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read.
    #[error(
        "failed to read the results {}: {source}; `cargo nextest run --workspace --profile ci` writes them", .path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no JUnit report.
    #[error("failed to read {} as a JUnit report: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl RunResults {
    /// Reads a JUnit report of nextest.
    ///
    /// # Errors
    /// When the file is missing or no JUnit report.
    pub fn load(path: &Path) -> Result<Self, ResultsError> {
        let text = fs::read_to_string(path).map_err(|source| ResultsError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let report =
            Report::deserialize_from_str(&text).map_err(|error| ResultsError::Malformed {
                path: path.to_owned(),
                reason: error.to_string(),
            })?;
        let mut results = HashMap::new();
        for suite in report.test_suites {
            for case in suite.test_cases {
                let name = TestName {
                    binary: suite.name.to_string(),
                    path: case.name.to_string(),
                };
                results.insert(name, verdict(&case.status));
            }
        }
        Ok(Self(results))
    }

    /// How this test ended.
    #[must_use]
    pub fn verdict(&self, test: &TestName) -> Verdict {
        self.0.get(test).copied().unwrap_or(Verdict::NotRun)
    }
}

fn verdict(status: &TestCaseStatus) -> Verdict {
    match status {
        TestCaseStatus::Success { flaky_runs, .. } if flaky_runs.is_empty() => Verdict::Passed,
        TestCaseStatus::Skipped { .. } => Verdict::NotRun,
        _ => Verdict::Failed,
    }
}
