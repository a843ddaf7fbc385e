//! Why a cell could not be brought to a verdict.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why a cell could not be brought to a verdict. Reads well after "failed to run the cell: ".
#[derive(Debug, Clone, Error)]
pub enum CellError {
    /// The cell's own surroundings failed.
    #[error("{what}: {reason}")]
    Surroundings {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        reason: String,
    },
    /// The runner's program cannot be started.
    #[error(
        "runner {name} cannot be started with `{command}`: {reason}; check `command` in its manifest, or build it first"
    )]
    RunnerStart {
        /// Runner and process, such as `worker-1`.
        name: String,
        /// What was run.
        command: String,
        /// Why not.
        reason: String,
    },
    /// The runner ended without being asked to.
    #[error("runner {name} ended ({status}) without being asked to{stderr}")]
    RunnerEnded {
        /// Which process.
        name: String,
        /// How it ended.
        status: String,
        /// Its last words on stderr.
        stderr: String,
    },
    /// The runner broke the protocol.
    #[error("runner {name} broke the runner protocol: {what}{stderr}")]
    Protocol {
        /// Which process.
        name: String,
        /// What it did.
        what: String,
        /// Its last words on stderr.
        stderr: String,
    },
    /// The runner refused a request.
    #[error("runner {name} refused {method}: {message}")]
    Refused {
        /// Which process.
        name: String,
        /// Which request.
        method: String,
        /// Its words.
        message: String,
    },
    /// The runner did not answer in time.
    #[error("runner {name} did not answer {method} within {bound:?}{stderr}")]
    NoAnswer {
        /// Which process.
        name: String,
        /// Which request.
        method: String,
        /// The bound.
        bound: Duration,
        /// Its last words on stderr.
        stderr: String,
    },
    /// The CLI cannot be started.
    #[error("the Claude Code CLI {path} cannot be started: {reason}")]
    CliStart {
        /// Its path.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl CellError {
    pub(crate) fn surroundings(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::Surroundings {
            what,
            reason: error.to_string(),
        }
    }
}
