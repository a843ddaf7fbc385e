//! What a cell is told, and what it reports.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::scenario::Plan;

/// Everything a cell's process needs; it comes as one JSON document on its stdin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellRequest {
    /// What to run.
    pub plan: Plan,
    /// With which adapter.
    pub runner: RunnerCommand,
    /// On which Claude Code CLI.
    pub cli: CliBinary,
    /// The `cli-tap` binary.
    pub tap: PathBuf,
    /// Where the evidence of a cell that did not pass goes.
    pub evidence: PathBuf,
    /// Keep the evidence of a cell that passed, too.
    pub keep: bool,
    /// Factor on every time bound.
    pub timeout_scale: f64,
    /// The command that repeats this cell.
    pub repro: String,
}

/// How a runner is started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunnerCommand {
    /// Its name in the matrix.
    pub name: String,
    /// Program and arguments; the program is absolute or on `PATH`.
    pub command: Vec<String>,
    /// Variables on top of the cell's own environment.
    pub env: BTreeMap<String, String>,
}

/// A Claude Code CLI.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CliBinary {
    /// Its name in the matrix: `fake` or a version.
    pub name: String,
    /// The executable.
    pub path: PathBuf,
    /// Real CLIs get larger time bounds.
    pub real: bool,
}

/// What came of a cell; one JSON document on the cell's stdout.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellReport {
    /// The verdict, before any baseline is applied.
    pub verdict: Verdict,
    /// Milliseconds from the start of the cell's process to its verdict.
    pub duration_ms: u64,
    /// Every check that was made, passed or failed.
    pub checks: Vec<CheckReport>,
    /// The last events of adapter, CLI and API before the first failed check, oldest first.
    pub last_events: Vec<String>,
    /// Where trace, stderr and transcripts were kept.
    pub evidence: Option<PathBuf>,
}

/// A cell's own verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Every check passed.
    Passed,
    /// At least one check failed.
    Failed,
    /// The runner lacks a capability that the scenario requires.
    NotApplicable {
        /// Which ones.
        missing: Vec<String>,
    },
    /// The cell could not be run: runner or CLI could not start or broke the protocol.
    Error {
        /// A sentence.
        message: String,
    },
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Id, as in `harness explain`.
    pub id: String,
    /// Whether it held.
    pub passed: bool,
    /// One line: what is wrong. Empty when it held.
    pub message: String,
    /// What was expected, when it failed.
    pub expected: String,
    /// What was seen, when it failed.
    pub seen: String,
}
