//! Patterns that select scenarios.

use std::str::FromStr;

use regex::Regex;

use super::{CellSelector, ScenarioId};

/// A glob over `theme/name` or `theme/name@variant`: `*` stays within a part, `**` crosses parts, `?` is one letter.
#[derive(Debug, Clone)]
pub struct Pattern {
    written: String,
    expression: Regex,
    names_variant: bool,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot use the pattern `{pattern}`: {reason}")]
pub struct PatternError {
    pattern: String,
    reason: String,
}

impl Pattern {
    /// Whether it selects this variant of a scenario.
    #[must_use]
    pub fn matches(&self, cell: &CellSelector) -> bool {
        if self.names_variant {
            self.expression.is_match(&cell.to_string())
        } else {
            self.expression.is_match(&cell.scenario.to_string())
        }
    }

    /// Whether it can select a variant of this scenario; only then its file is opened.
    pub(crate) fn could_select(&self, id: &ScenarioId) -> bool {
        match self.written.rsplit_once('@') {
            Some((scenario, _)) => Regex::new(&expression(scenario))
                .is_ok_and(|id_part| id_part.is_match(&id.to_string())),
            None => self.expression.is_match(&id.to_string()),
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let fail = |reason: String| PatternError {
            pattern: text.to_owned(),
            reason,
        };
        if text.is_empty() {
            return Err(fail("it is empty".to_owned()));
        }
        let expression = Regex::new(&expression(text)).map_err(|error| fail(error.to_string()))?;
        Ok(Self {
            written: text.to_owned(),
            expression,
            names_variant: text.contains('@'),
        })
    }
}

fn expression(glob: &str) -> String {
    let mut expression = String::from("^");
    let mut rest = glob;
    while let Some(letter) = rest.chars().next() {
        let (piece, consumed) = match letter {
            '*' if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/@]*".to_owned(), 1),
            '?' => ("[^/@]".to_owned(), 1),
            other => (regex::escape(&other.to_string()), other.len_utf8()),
        };
        expression.push_str(&piece);
        rest = &rest[consumed..];
    }
    expression.push('$');
    expression
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selects(pattern: &str, cell: &str) -> bool {
        let pattern: Pattern = pattern.parse().expect("a pattern");
        pattern.matches(&cell.parse().expect("a cell"))
    }

    #[test]
    fn a_star_stays_within_its_part() {
        assert!(selects("kill/*", "kill/sigkill-mid-write"));
        assert!(selects("*/sigkill*", "kill/sigkill-mid-write"));
        assert!(!selects("kill*", "kill/sigkill-mid-write"));
        assert!(selects("**", "kill/sigkill-mid-write"));
        assert!(selects("**write", "kill/sigkill-mid-write"));
    }

    #[test]
    fn a_variant_is_selected_by_name_and_included_without() {
        assert!(selects("restart/wait@sigkill", "restart/wait@sigkill"));
        assert!(!selects("restart/wait@graceful", "restart/wait@sigkill"));
        assert!(selects("restart/wait", "restart/wait@sigkill"));
        assert!(selects("restart/*@sig*", "restart/wait@sigkill"));
        assert!(!selects("restart/wait@*", "restart/wait"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_an_error(text in "\\PC*") {
            let _ = text.parse::<Pattern>();
        }

        #[test]
        fn an_id_selects_itself(theme in "[a-z0-9-]{1,8}", name in "[a-z0-9-]{1,8}") {
            let id = format!("{theme}/{name}");
            prop_assert!(selects(&id, &id));
        }
    }
}
