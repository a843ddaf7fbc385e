//! The scenario files of a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::suggestion::suggestion;
use super::{CellSelector, IdError, Pattern, PatternError, ScenarioId};
use crate::scenario::{Plan, Requirements, RequirementsError, ScenarioError, parse};

/// The file with the requirement ids, beside the themes.
pub const REQUIREMENTS_FILE: &str = "requirements.yaml";

/// A directory of scenarios, `<theme>/<name>.yaml`.
#[derive(Debug, Clone)]
pub struct Catalogue {
    root: PathBuf,
    requirements: Requirements,
}

/// A catalogue that cannot give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no such scenario.
    #[error("there is no scenario `{id}` in {}; `cargo run -p harness -- list` shows those there are", .root.display())]
    NoScenario {
        /// What was asked for.
        id: String,
        /// Where.
        root: PathBuf,
    },
    /// The scenario has no such variant.
    #[error("`{scenario}` has no variant `{variant}`; it has {known}")]
    NoVariant {
        /// The scenario.
        scenario: String,
        /// What was asked for.
        variant: String,
        /// The variants it has.
        known: String,
    },
    /// A pattern selects nothing.
    #[error("nothing is selected by `{pattern}`; {hint}")]
    NothingSelected {
        /// The pattern.
        pattern: String,
        /// What was meant, or where to look.
        hint: String,
    },
    /// There is no scenario at all.
    #[error("there are no scenarios in {}; write one as <theme>/<name>.yaml, or name another directory with --scenarios", .0.display())]
    Empty(PathBuf),
    /// A file's place makes no id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A pattern cannot be used.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The requirements cannot be used.
    #[error(transparent)]
    Requirements(#[from] RequirementsError),
    /// A scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl Catalogue {
    /// The catalogue of a directory; only its requirements are read.
    ///
    /// # Errors
    /// When there is no such directory or its requirements cannot be used.
    pub fn open(root: &Path) -> Result<Self, CatalogueError> {
        let unreadable = |source| CatalogueError::Unreadable {
            path: root.to_owned(),
            source,
        };
        let root = root.canonicalize().map_err(unreadable)?;
        let requirements = Requirements::load(&root.join(REQUIREMENTS_FILE))?;
        Ok(Self { root, requirements })
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What scenarios can cover.
    #[must_use]
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// The ids of all scenarios, sorted; no file is opened.
    ///
    /// # Errors
    /// When the directory cannot be read, a file's place makes no id, or there is none.
    pub fn ids(&self) -> Result<Vec<ScenarioId>, CatalogueError> {
        let mut ids = Vec::new();
        for theme in directory(&self.root)? {
            if !theme.is_dir() || is_not_a_theme(&theme) {
                continue;
            }
            for file in directory(&theme)? {
                if file
                    .extension()
                    .is_some_and(|extension| extension == "yaml")
                {
                    ids.push(format!("{}/{}", stem(&theme), stem(&file)).parse()?);
                }
            }
        }
        if ids.is_empty() {
            return Err(CatalogueError::Empty(self.root.clone()));
        }
        ids.sort();
        Ok(ids)
    }

    /// The plans of one scenario, one for each variant. Opens exactly one file.
    ///
    /// # Errors
    /// When there is no such scenario or its file cannot be used.
    pub fn plans(&self, id: &ScenarioId) -> Result<Vec<Plan>, CatalogueError> {
        let path = self.root.join(id.file());
        let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CatalogueError::NoScenario {
                id: id.to_string(),
                root: self.root.clone(),
            },
            _ => CatalogueError::Unreadable {
                path: path.clone(),
                source,
            },
        })?;
        Ok(parse(
            &id.to_string(),
            &shown(&path),
            &text,
            &self.requirements,
        )?)
    }

    /// The plan of one scenario and variant. Opens exactly one file.
    ///
    /// # Errors
    /// As [`Catalogue::plans`], and when the variant is missing or unknown.
    pub fn plan(&self, cell: &CellSelector) -> Result<Plan, CatalogueError> {
        let plans = self.plans(&cell.scenario)?;
        let known: Vec<String> = plans
            .iter()
            .filter_map(|plan| plan.variant.clone())
            .collect();
        plans
            .into_iter()
            .find(|plan| plan.variant == cell.variant)
            .ok_or_else(|| CatalogueError::NoVariant {
                scenario: cell.scenario.to_string(),
                variant: cell.variant.clone().unwrap_or_default(),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            })
    }

    /// The plans that any of the patterns selects, in the order of ids and variants; all without a pattern.
    ///
    /// # Errors
    /// When a file cannot be used, and when a pattern selects nothing.
    pub fn select(&self, patterns: &[Pattern]) -> Result<Vec<Plan>, CatalogueError> {
        let mut selected = Vec::new();
        let mut used = vec![false; patterns.len()];
        let ids = self.ids()?;
        for id in &ids {
            if !patterns.is_empty() && !patterns.iter().any(|pattern| pattern.could_select(id)) {
                continue;
            }
            for plan in self.plans(id)? {
                let cell = CellSelector {
                    scenario: id.clone(),
                    variant: plan.variant.clone(),
                };
                let matching: Vec<usize> = (0..patterns.len())
                    .filter(|index| patterns[*index].matches(&cell))
                    .collect();
                for index in &matching {
                    used[*index] = true;
                }
                if patterns.is_empty() || !matching.is_empty() {
                    selected.push(plan);
                }
            }
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            return Err(nothing_selected(&patterns[unused], &ids));
        }
        Ok(selected)
    }
}

/// The error for a pattern that selects none of these.
pub(crate) fn nothing_selected(pattern: &Pattern, ids: &[ScenarioId]) -> CatalogueError {
    let hint = match suggestion(pattern.as_str(), ids) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`cargo run -p harness -- list` shows what can be selected".to_owned(),
    };
    CatalogueError::NothingSelected {
        pattern: pattern.as_str().to_owned(),
        hint,
    }
}

fn directory(path: &Path) -> Result<Vec<PathBuf>, CatalogueError> {
    let unreadable = |source| CatalogueError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let entries = fs::read_dir(path).map_err(unreadable)?;
    entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(unreadable))
        .collect()
}

/// Recorded traces and hidden directories lie beside the themes.
fn is_not_a_theme(path: &Path) -> bool {
    path.file_name().is_none_or(|name| {
        name == "golden" || name == "corpus" || name.to_string_lossy().starts_with('.')
    })
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The path as a person at this directory would write it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir()
        .and_then(|here| here.canonicalize())
        .ok();
    let relative = here
        .as_deref()
        .and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).display().to_string()
}
