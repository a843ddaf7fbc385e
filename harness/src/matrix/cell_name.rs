//! The name of a cell.

use std::fmt;
use std::str::FromStr;

use crate::catalogue::{CellSelector, IdError};

/// One scenario variant on one runner and one CLI: `runner::cli::theme/name@variant`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellName {
    /// The runner's name.
    pub runner: String,
    /// The CLI's name.
    pub cli: String,
    /// The scenario and variant.
    pub selector: CellSelector,
}

impl fmt::Display for CellName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}::{}::{}",
            self.runner, self.cli, self.selector
        )
    }
}

/// A text that names no cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CellNameError {
    /// Its form is wrong.
    #[error(
        "`{0}` names no cell; write `runner::cli::theme/name` or `runner::cli::theme/name@variant`"
    )]
    Form(String),
    /// Its last part names no scenario.
    #[error(transparent)]
    Scenario(#[from] IdError),
}

impl FromStr for CellName {
    type Err = CellNameError;

    fn from_str(text: &str) -> Result<Self, CellNameError> {
        let parts: Vec<&str> = text.split("::").collect();
        let [runner, cli, selector] = parts[..] else {
            return Err(CellNameError::Form(text.to_owned()));
        };
        Ok(Self {
            runner: runner.to_owned(),
            cli: cli.to_owned(),
            selector: selector.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_being_written_and_read() {
        for text in [
            "rust::fake::kill/sigkill-mid-write",
            "python::2.1.316::restart/wait@graceful",
        ] {
            let name: CellName = text.parse().expect("a name");
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            "rust::fake",
            "rust::fake::kill",
            "rust::fake::Kill/x",
            "a::b::c/d::e",
        ] {
            assert!(text.parse::<CellName>().is_err(), "{text}");
        }
    }
}
