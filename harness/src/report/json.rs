//! The report for programs.

use serde::Serialize;

use crate::matrix::{CellResult, CheckOutcome, Outcome, Summary};

/// Version of the JSON report.
pub const JSON_SCHEMA: u32 = 1;

#[derive(Serialize)]
struct JsonReport<'a> {
    schema: u32,
    summary: Summary,
    cells: Vec<JsonCell<'a>>,
}

#[derive(Serialize)]
struct JsonCell<'a> {
    scenario: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    runner: &'a str,
    cli: &'a str,
    outcome: Outcome,
    duration_ms: u64,
    checks: Vec<JsonCheck<'a>>,
    repro: &'a str,
}

#[derive(Serialize)]
struct JsonCheck<'a> {
    id: &'a str,
    outcome: CheckOutcome,
    message: &'a str,
}

/// The report as one JSON document.
#[must_use]
pub fn to_json(summary: Summary, results: &[CellResult]) -> String {
    let report = JsonReport {
        schema: JSON_SCHEMA,
        summary,
        cells: results.iter().map(cell).collect(),
    };
    serde_json::to_string_pretty(&report).unwrap_or_default()
}

fn cell(result: &CellResult) -> JsonCell<'_> {
    JsonCell {
        scenario: result.name.selector.scenario.to_string(),
        variant: result.name.selector.variant.as_deref(),
        runner: &result.name.runner,
        cli: &result.name.cli,
        outcome: result.outcome,
        duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
        checks: result
            .checks
            .iter()
            .map(|check| JsonCheck {
                id: &check.id,
                outcome: check.outcome,
                message: &check.message,
            })
            .collect(),
        repro: &result.repro,
    }
}
