//! Reading a script from text.

use serde::Deserialize;

use super::Script;

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    message: String,
    position: Option<(u64, u64)>,
}

impl ScriptError {
    /// The line and column, both counted from 1, when the error has a place.
    #[must_use]
    pub fn position(&self) -> Option<(u64, u64)> {
        self.position
    }
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
        })
    }
}

impl ScriptError {
    fn new(error: &serde_saphyr::Error) -> Self {
        Self {
            message: error.without_snippet().to_string(),
            position: error
                .location()
                .map(|location| (location.line(), location.column())),
        }
    }
}
