//! The matrix that is committed for continuous integration.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

use crate::catalogue::{Catalogue, CatalogueError, CellSelector, Pattern};
use crate::clis::CliSelector;
use crate::scenario::CliKind;

/// The pairs of runner and CLI whose cells are tests.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommittedMatrix {
    /// The pairs.
    pub pairs: Vec<CommittedPair>,
}

/// One runner on one CLI.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommittedPair {
    /// As for `--runner`.
    pub runner: String,
    /// As for `--cli`.
    pub cli: String,
    /// Which scenarios; all when absent.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// How many cells that makes, those that are not applicable included. Another number fails.
    pub cells: usize,
    /// Cells that the runner cannot run, as `theme/name` or `theme/name@variant`.
    #[serde(default)]
    pub not_applicable: Vec<String>,
}

/// A committed matrix that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// It cannot be read.
    #[error("cannot read the matrix {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("cannot parse the matrix {}: {message}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why, and where.
        message: String,
    },
    /// What it names cannot be used.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

/// The JSON Schema of the committed matrix, for completion in editors.
#[must_use]
pub fn matrix_schema() -> Schema {
    schema_for!(CommittedMatrix)
}

impl CommittedMatrix {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or is malformed.
    pub fn load(path: &Path) -> Result<Self, MatrixError> {
        let text = std::fs::read_to_string(path).map_err(|source| MatrixError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        serde_saphyr::from_str(&text).map_err(|error| MatrixError::Malformed {
            path: path.to_owned(),
            message: error.to_string(),
        })
    }
}

impl CommittedPair {
    /// Its cells that its kind of CLI can show, in the order of ids and variants.
    ///
    /// # Errors
    /// When a scenario cannot be used, or a pattern is wrong or selects nothing.
    pub fn cells(&self, catalogue: &Catalogue) -> Result<Vec<CellSelector>, CatalogueError> {
        let patterns: Vec<Pattern> = self
            .scenarios
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()?;
        let plans = catalogue.select(&patterns)?;
        let kind = self.kind_of_cli();
        plans
            .into_iter()
            .filter(|plan| plan.can_run_on(kind))
            .map(|plan| {
                Ok(CellSelector {
                    scenario: plan.scenario.parse()?,
                    variant: plan.variant,
                })
            })
            .collect()
    }

    fn kind_of_cli(&self) -> CliKind {
        match self.cli.parse() {
            Ok(CliSelector::Fake) => CliKind::Fake,
            _ => CliKind::Real,
        }
    }

    /// Whether the runner is known not to be able to run this cell.
    #[must_use]
    pub fn is_not_applicable(&self, cell: &CellSelector) -> bool {
        self.not_applicable
            .iter()
            .any(|name| *name == cell.to_string() || *name == cell.scenario.to_string())
    }
}
