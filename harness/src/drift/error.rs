//! Why cases could not be run or compared.

use std::io;
use std::path::PathBuf;

use super::corpus::CorpusError;
use crate::clis::{CacheError, SelectError};

/// Why cases could not be run or compared.
#[derive(Debug, thiserror::Error)]
pub enum DriftError {
    /// The corpus cannot be used.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A CLI cannot be used.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The cache of CLIs cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A case makes no sense once its placeholders are replaced.
    #[error("cannot run the case {case}: {source}")]
    Case {
        /// Which.
        case: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A CLI could not be started.
    #[error("cannot start the CLI {}: {source}", .cli.display())]
    Start {
        /// Which.
        cli: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Directories or the Messages API of the cases could not be made.
    #[error("cannot make the surroundings of a case: {0}")]
    Surroundings(io::Error),
    /// A file cannot be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// What was done.
        what: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A golden trace cannot be used.
    #[error("cannot use the golden trace {}: {reason}; write it anew with `cargo run -p harness -- drift --bless`", .path.display())]
    Golden {
        /// Its file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The deviation list cannot be used.
    #[error("cannot use {} line {line}: {reason}", .path.display())]
    Deviations {
        /// Its file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// Golden traces are wanted of something that is no real CLI.
    #[error("cannot bless {}: {reason}", .path.display())]
    NotReal {
        /// The executable.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl DriftError {
    pub(crate) fn surroundings(source: io::Error) -> Self {
        Self::Surroundings(source)
    }
}
