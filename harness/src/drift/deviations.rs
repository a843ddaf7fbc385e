//! The list of known deviations of the fake CLI.

use std::fs;
use std::path::Path;

use super::compare::Difference;
use super::error::DriftError;
use super::path::PathPattern;
use super::trace::Lane;

/// A known difference between the fake CLI and the real one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// The case, `theme/*`, or `*` for all.
    pub case: String,
    /// The lane.
    pub lane: Lane,
    /// The field.
    pub path: PathPattern,
    /// Why it is as it is.
    pub reason: String,
}

impl Deviation {
    /// Whether it stands for this difference.
    #[must_use]
    pub fn covers(&self, case: &str, difference: &Difference) -> bool {
        let case_fits = match self.case.strip_suffix('*') {
            Some(start) => case.starts_with(start),
            None => self.case == case,
        };
        case_fits && self.lane == difference.lane && self.path.matches(&difference.path)
    }
}

const HEADER: [&str; 4] = ["case", "lane", "field", "reason"];

/// Reads the table of the page, the one with the columns case, lane, field and reason.
///
/// # Errors
/// When the page cannot be read, has no such table, or a row of it makes no sense.
pub fn read_deviations(path: &Path) -> Result<Vec<Deviation>, DriftError> {
    let text = fs::read_to_string(path).map_err(|source| DriftError::File {
        what: "read",
        path: path.to_owned(),
        source,
    })?;
    parse(&text).map_err(|(line, reason)| DriftError::Deviations {
        path: path.to_owned(),
        line,
        reason,
    })
}

fn parse(text: &str) -> Result<Vec<Deviation>, (usize, String)> {
    let rows: Vec<(usize, Vec<&str>)> = text
        .lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, cells(line)?)))
        .collect();
    let header = rows.iter().position(|(_, cells)| cells[..] == HEADER);
    let Some(header) = header else {
        return Err((
            1,
            "it has no table with the columns case, lane, field, reason".to_owned(),
        ));
    };
    let start = rows[header].0;
    rows.into_iter()
        .skip(header + 2)
        .enumerate()
        .take_while(|(index, (line, _))| *line == start + 2 + index)
        .map(|(_, (line, cells))| deviation(&cells).map_err(|reason| (line, reason)))
        .collect()
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(
        inner
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect(),
    )
}

fn deviation(cells: &[&str]) -> Result<Deviation, String> {
    let [case, lane, path, reason] = cells else {
        return Err("a row has four cells: case, lane, field, reason".to_owned());
    };
    let known = || Lane::ALL.map(Lane::name).join(", ");
    let lane = Lane::named(lane)
        .ok_or_else(|| format!("there is no lane `{lane}`; there are {}", known()))?;
    if case.is_empty() || path.is_empty() || reason.is_empty() {
        return Err("no cell may be empty".to_owned());
    }
    Ok(Deviation {
        case: (*case).to_owned(),
        lane,
        path: PathPattern::new(path),
        reason: (*reason).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| case | lane | field | reason |\n|---|---|---|---|\n\
        | * | stdout | `system/init.skills` | it has none |\n| turn/* | http | `request.body.tools[]` | fewer |\n\ntext\n| x |\n";

    #[test]
    fn the_table_is_read() {
        let deviations = parse(PAGE).unwrap();
        assert_eq!(deviations.len(), 2);
        assert_eq!(deviations[1].lane, Lane::Http);
        assert_eq!(deviations[0].path.as_str(), "system/init.skills");
    }

    #[test]
    fn a_row_that_makes_no_sense_is_an_error_with_its_line() {
        let page = PAGE.replace("| http |", "| wire |");
        let (line, reason) = parse(&page).unwrap_err();
        assert_eq!(line, 10);
        assert!(reason.contains("no lane `wire`"), "{reason}");
    }

    #[test]
    fn a_page_without_the_table_is_an_error() {
        assert!(parse("nothing").is_err());
    }
}
