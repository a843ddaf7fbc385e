//! Why a command could not do what it was asked to.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use crate::catalogue::{CatalogueError, IdError};
use crate::cell::CellError;
use crate::clis::{CacheError, InstallError, SelectError, UnknownCli};
use crate::coverage::{ResultsError, SourcesError};
use crate::drift::{CorpusError, DriftError};
use crate::exit::ExitStatus;
use crate::installation::InstallationError;
use crate::interruption::Interrupted;
use crate::matrix::{ExecutionError, MatrixError, PreparationError};
use crate::runners::{BuildError, ManifestError};

/// Why a command could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("{0}")]
    Usage(String),
    #[error("{count} of the scenarios {have} mistakes", count = .0, have = if *.0 == 1 { "has" } else { "have" })]
    Mistakes(usize),
    #[error(transparent)]
    Installation(#[from] InstallationError),
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    UnknownCli(#[from] UnknownCli),
    #[error(transparent)]
    Select(#[from] SelectError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error(transparent)]
    Preparation(PreparationError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error(transparent)]
    Cell(#[from] CellError),
    #[error(transparent)]
    Drift(#[from] DriftError),
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    #[error(transparent)]
    Sources(#[from] SourcesError),
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot write to stdout: {0}")]
    Stdout(io::Error),
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
    #[error("cannot make a temporary directory: {0}")]
    Directory(io::Error),
}

impl From<PreparationError> for CommandError {
    fn from(error: PreparationError) -> Self {
        match error {
            PreparationError::Manifest(error) => Self::Manifest(error),
            other => Self::Preparation(other),
        }
    }
}

impl From<ExecutionError> for CommandError {
    fn from(error: ExecutionError) -> Self {
        match error {
            ExecutionError::Interrupted(interrupted) => Self::Interrupted(interrupted),
            ExecutionError::Directory(error) => Self::Directory(error),
        }
    }
}

impl From<IdError> for CommandError {
    fn from(error: IdError) -> Self {
        Self::Catalogue(error.into())
    }
}

impl CommandError {
    /// What the process ends with.
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Catalogue(CatalogueError::NothingSelected { .. } | CatalogueError::Empty(_)) => {
                ExitStatus::NothingSelected
            }
            Self::Drift(DriftError::Corpus(CorpusError::NothingSelected(_))) => {
                ExitStatus::NothingSelected
            }
            Self::Drift(
                DriftError::Start { .. }
                | DriftError::Surroundings(_)
                | DriftError::Select(_)
                | DriftError::NotReal { .. },
            ) => ExitStatus::CannotStart,
            Self::Manifest(ManifestError::NoProgram { .. })
            | Self::Build(_)
            | Self::Select(_)
            | Self::Cache(_)
            | Self::Install(_)
            | Self::Interrupted(_)
            | Self::Cell(_)
            | Self::Runtime(_)
            | Self::Directory(_) => ExitStatus::CannotStart,
            _ => ExitStatus::BadInput,
        }
    }

    /// What a person reads on stderr.
    pub(crate) fn rendered(&self) -> String {
        match self {
            Self::Catalogue(CatalogueError::Scenario(error))
            | Self::Drift(DriftError::Corpus(CorpusError::Case(error))) => {
                error.render(is_colourful())
            }
            other => format!("error: {other}\n"),
        }
    }
}

/// Whether stderr is for a person who likes colours.
pub(crate) fn is_colourful() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
