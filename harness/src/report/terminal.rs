//! The report for people.

use std::fmt::Write as _;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, Color, Table};

use super::table::{Matrix, word};
use crate::matrix::{CellResult, CheckOutcome, CheckResult, Outcome, Summary};

/// The matrix, then what a person must see of each cell that is not as expected, then one line.
#[must_use]
pub fn to_terminal(summary: Summary, results: &[CellResult], colours: bool) -> String {
    let mut text = format!("{}\n\n", matrix(results, colours));
    for result in results
        .iter()
        .filter(|result| deserves_words(result.outcome))
    {
        text.push_str(&findings(result));
        text.push('\n');
    }
    text.push_str(&summary_line(summary));
    text
}

fn matrix(results: &[CellResult], colours: bool) -> Table {
    let matrix = Matrix::of(results);
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let header = std::iter::once("scenario".to_owned()).chain(matrix.columns);
    table.set_header(header);
    for (scenario, cells) in matrix.rows {
        let cells = cells.into_iter().map(|result| match result {
            Some(result) => shown(result, colours),
            None => Cell::new(""),
        });
        table.add_row(std::iter::once(Cell::new(scenario)).chain(cells));
    }
    table
}

fn shown(result: &CellResult, colours: bool) -> Cell {
    let cell = Cell::new(format!(
        "{} {:.1} s",
        word(result.outcome),
        result.duration.as_secs_f64()
    ));
    if !colours {
        return cell;
    }
    cell.fg(match result.outcome {
        Outcome::Passed => Color::Green,
        Outcome::Failed | Outcome::StaleBaseline | Outcome::Error => Color::Red,
        Outcome::ExpectedFailure => Color::Yellow,
        Outcome::NotApplicable => Color::DarkGrey,
    })
}

fn deserves_words(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Failed | Outcome::StaleBaseline | Outcome::Error
    )
}

/// What went wrong in one cell, why, and how to see it again.
#[must_use]
pub fn findings(result: &CellResult) -> String {
    let mut text = format!("{} {}\n", word(result.outcome), result.name);
    for check in result.findings() {
        let _ = writeln!(text, "  {} {}: {}", mark(check), check.id, check.message);
        for (name, value) in [("expected", &check.expected), ("seen", &check.seen)] {
            if !value.is_empty() {
                let _ = writeln!(text, "      {name:<9}{}", indented(value, 15));
            }
        }
    }
    if !result.last_events.is_empty() {
        text.push_str("  last events\n");
        for event in &result.last_events {
            let _ = writeln!(text, "      {event}");
        }
    }
    if let Some(evidence) = &result.evidence {
        let _ = writeln!(text, "  evidence  {}", evidence.display());
    }
    let _ = writeln!(text, "  again     {}", result.repro);
    text
}

fn mark(check: &CheckResult) -> &'static str {
    match check.outcome {
        CheckOutcome::ExpectedFailure => "expected",
        CheckOutcome::StaleBaseline => "stale",
        CheckOutcome::NotApplicable => "not applicable",
        CheckOutcome::Passed => "passed",
        CheckOutcome::Failed | CheckOutcome::Error => "✗",
    }
}

fn indented(text: &str, columns: usize) -> String {
    text.replace('\n', &format!("\n{}", " ".repeat(columns)))
}

/// The run in one line.
#[must_use]
pub fn summary_line(summary: Summary) -> String {
    let counts = [
        (summary.passed, "passed"),
        (summary.failed, "failed"),
        (summary.error, "error"),
        (summary.stale_baseline, "stale baseline"),
        (summary.expected_failure, "expected failure"),
        (summary.not_applicable, "not applicable"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, word)| *count > 0 || *word == "passed")
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let cells = if summary.total == 1 { "cell" } else { "cells" };
    let seconds = summary.duration_ms as f64 / 1000.0;
    format!(
        "{} {cells}: {} ({seconds:.1} s)",
        summary.total,
        counts.join(", ")
    )
}
