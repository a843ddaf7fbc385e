//! The report as Markdown, for a job's summary page.

use std::fmt::Write as _;

use super::table::{Matrix, word};
use super::terminal::{findings, summary_line};
use crate::matrix::{CellResult, Outcome, Summary};

/// The report as Markdown.
#[must_use]
pub fn to_markdown(summary: Summary, results: &[CellResult]) -> String {
    let matrix = Matrix::of(results);
    let mut text = format!(
        "{}\n\n| scenario | {} |\n",
        summary_line(summary),
        matrix.columns.join(" | ")
    );
    let _ = writeln!(text, "|{}", "---|".repeat(matrix.columns.len() + 1));
    for (scenario, cells) in matrix.rows {
        let cells: Vec<&str> = cells
            .into_iter()
            .map(|cell| cell.map_or("", |cell| word(cell.outcome)))
            .collect();
        let _ = writeln!(text, "| `{scenario}` | {} |", cells.join(" | "));
    }
    let fine = [
        Outcome::Passed,
        Outcome::NotApplicable,
        Outcome::ExpectedFailure,
    ];
    for result in results
        .iter()
        .filter(|result| !fine.contains(&result.outcome))
    {
        let _ = write!(
            text,
            "\n### `{}`\n\n~~~text\n{}~~~\n",
            result.name,
            findings(result)
        );
    }
    text
}
