//! Names of scenarios and of their variants.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// `theme/name`: the place of a scenario's file below the scenarios directory, without `.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScenarioId {
    theme: String,
    name: String,
}

/// A text that is no scenario id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scenario id; write `theme/name` in lower-case letters, digits and hyphens")]
pub struct IdError(String);

impl ScenarioId {
    /// The file, below the scenarios directory.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        Path::new(&self.theme).join(format!("{}.yaml", self.name))
    }
}

impl FromStr for ScenarioId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            [theme, name] if is_word(theme) && is_word(name) => Ok(Self {
                theme: theme.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(IdError(text.to_owned())),
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
}

impl fmt::Display for ScenarioId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.theme, self.name)
    }
}

/// `theme/name` or `theme/name@variant`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellSelector {
    /// The scenario.
    pub scenario: ScenarioId,
    /// The variant, when it has any.
    pub variant: Option<String>,
}

impl FromStr for CellSelector {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (scenario, variant) = match text.split_once('@') {
            Some((scenario, variant)) => (scenario, Some(variant.to_owned())),
            None => (text, None),
        };
        Ok(Self {
            scenario: scenario.parse()?,
            variant,
        })
    }
}

impl fmt::Display for CellSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.scenario)?;
        match &self.variant {
            Some(variant) => write!(formatter, "@{variant}"),
            None => Ok(()),
        }
    }
}
