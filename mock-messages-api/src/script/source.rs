//! Reading a script from text.

use serde::Deserialize;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter};

use super::Script;

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    message: String,
    position: Option<(u64, u64)>,
    suggestion: Option<String>,
}

impl ScriptError {
    /// The line and column, both counted from 1, when the error has a place.
    #[must_use]
    pub fn position(&self) -> Option<(u64, u64)> {
        self.position
    }

    /// What was probably meant, when the error is a misspelt name.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    fn new(error: &Error) -> Self {
        let error = error.without_snippet();
        Self {
            message: DefaultMessageFormatter.format_message(error).into_owned(),
            position: error
                .location()
                .map(|location| (location.line(), location.column())),
            suggestion: match error {
                Error::SerdeUnknownField {
                    field, expected, ..
                } => suggestion(field, expected),
                Error::SerdeUnknownVariant {
                    variant, expected, ..
                } => suggestion(variant, expected),
                _ => None,
            },
        }
    }
}

/// From here on two names are taken for one and a misspelling of it.
const LEAST_SIMILARITY: f64 = 0.7;

fn suggestion(written: &str, known: &[&str]) -> Option<String> {
    known
        .iter()
        .map(|known| (strsim::jaro_winkler(written, known), known))
        .filter(|(similarity, _)| *similarity > LEAST_SIMILARITY)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, known)| format!("did you mean `{known}`?"))
}

impl Script {
    /// Reads a script from YAML (or JSON, which is YAML).
    ///
    /// # Errors
    /// When the text is no YAML or not in the script language.
    pub fn from_yaml(text: &str) -> Result<Self, ScriptError> {
        serde_saphyr::from_str(text).map_err(|error| ScriptError::new(&error))
    }

    /// Reads a script from a JSON value.
    ///
    /// # Errors
    /// When the value is not in the script language.
    pub fn from_json(value: serde_json::Value) -> Result<Self, ScriptError> {
        Self::deserialize(value).map_err(|error| ScriptError {
            message: error.to_string(),
            position: None,
            suggestion: None,
        })
    }
}
