//! What an exit code of the harness means.

use std::process::ExitCode;

/// How a run of the harness ended, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ExitStatus {
    /// Everything is as expected.
    AsExpected = 0,
    /// A cell failed, or an expected failure did not happen.
    Regression = 1,
    /// The command line, a scenario, a manifest or a baseline is wrong.
    BadInput = 2,
    /// A runner or a CLI could not be built or started, or a runner broke the protocol.
    CannotStart = 3,
    /// Nothing was selected.
    NothingSelected = 4,
    /// A mistake in the harness itself.
    Bug = 70,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}
