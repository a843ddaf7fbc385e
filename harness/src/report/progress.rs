//! Progress on stderr: a bar for a person, plain lines for a log.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::table::word;
use crate::matrix::{CellResult, Observer, PreparedCell};

/// Shows how far a run is.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress over this many cells.
    #[must_use]
    pub fn over(cells: usize) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let bar = ProgressBar::new(u64::try_from(cells).unwrap_or(u64::MAX));
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {pos}/{len} {wide_msg} {elapsed}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar: Some(bar) }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn begins(&self, cell: &PreparedCell) {
        if let Some(bar) = &self.bar {
            bar.set_message(cell.name.to_string());
        }
    }

    fn ended(&self, result: &CellResult) {
        let line = format!(
            "{:<14} {} ({:.1} s)",
            word(result.outcome),
            result.name,
            result.duration.as_secs_f64()
        );
        match &self.bar {
            Some(bar) => {
                bar.println(line);
                bar.inc(1);
            }
            // A closed stderr is no reason to end the run.
            None => drop(writeln!(std::io::stderr(), "{line}")),
        }
    }
}
