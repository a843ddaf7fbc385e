//! The catalogue of requirements that scenarios cover.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::problem::nearest;

/// Every requirement, by id.
#[derive(Debug, Clone, Default)]
pub struct Requirements(BTreeMap<String, Requirement>);

/// One testable statement.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// What `covers:` names.
    pub id: String,
    /// What must be true.
    pub statement: String,
    /// Where the behaviour lives: `adapter`, `fake-cli`, `mock`, `harness` or `example`.
    pub layer: String,
    /// How it can be shown.
    pub how: String,
    /// Where it was stated.
    pub source: String,
    /// Whether it is binding.
    pub must: bool,
    /// What the CLI was seen to do instead, when it differs.
    pub corrected: Option<String>,
}

/// A requirements file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RequirementsError {
    /// It cannot be read.
    #[error("cannot read the requirements {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("cannot parse the requirements {}: {message}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why, and where.
        message: String,
    },
}

impl Requirements {
    /// Reads a file; none at all when there is no such file.
    ///
    /// # Errors
    /// When it cannot be read, is malformed, or names one id twice.
    pub fn load(path: &Path) -> Result<Self, RequirementsError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => {
                return Err(RequirementsError::Unreadable {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let malformed = |message: String| RequirementsError::Malformed {
            path: path.to_owned(),
            message,
        };
        let rows: Vec<Requirement> =
            serde_saphyr::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        let mut requirements = BTreeMap::new();
        for row in rows {
            let id = row.id.clone();
            if requirements.insert(id.clone(), row).is_some() {
                return Err(malformed(format!("the id `{id}` is there twice")));
            }
        }
        Ok(Self(requirements))
    }

    /// Whether `id` is one of them.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.0.values()
    }

    pub(crate) fn near(&self, id: &str) -> Option<&str> {
        let ids: Vec<&str> = self.0.keys().map(String::as_str).collect();
        nearest(id, &ids)
    }
}
