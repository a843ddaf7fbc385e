//! The matrix as rows and columns, whatever draws it.

use crate::catalogue::CellSelector;
use crate::matrix::{CellResult, Outcome};

/// Scenario variants down, pairs of runner and CLI across.
pub(crate) struct Matrix<'a> {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<Option<&'a CellResult>>)>,
}

impl<'a> Matrix<'a> {
    pub(crate) fn of(results: &'a [CellResult]) -> Self {
        let mut columns: Vec<(&str, &str)> = Vec::new();
        let mut selectors: Vec<&CellSelector> = Vec::new();
        for result in results {
            let column = (result.name.runner.as_str(), result.name.cli.as_str());
            if !columns.contains(&column) {
                columns.push(column);
            }
            if !selectors.contains(&&result.name.selector) {
                selectors.push(&result.name.selector);
            }
        }
        let cell = |selector: &CellSelector, (runner, cli): (&str, &str)| {
            results.iter().find(|result| {
                result.name.selector == *selector
                    && result.name.runner == runner
                    && result.name.cli == cli
            })
        };
        let rows = selectors
            .iter()
            .map(|selector| {
                (
                    selector.to_string(),
                    columns
                        .iter()
                        .map(|column| cell(selector, *column))
                        .collect(),
                )
            })
            .collect();
        Self {
            columns: columns
                .iter()
                .map(|(runner, cli)| format!("{runner} × {cli}"))
                .collect(),
            rows,
        }
    }
}

/// The word for an outcome in a matrix.
pub(crate) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "FAILED",
        Outcome::ExpectedFailure => "expected failure",
        Outcome::StaleBaseline => "STALE BASELINE",
        Outcome::NotApplicable => "not applicable",
        Outcome::Error => "ERROR",
    }
}
