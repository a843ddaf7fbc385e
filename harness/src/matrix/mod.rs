//! The matrix: cells, how they are run side by side, and what came of them.

mod baseline;
mod cell_name;
mod cell_process;
mod committed;
mod execution;
mod outcome;
mod preparation;

pub use baseline::{Baseline, BaselineError};
pub use cell_name::{CellName, CellNameError};
pub use committed::{CommittedMatrix, CommittedPair, MatrixError, matrix_schema};
pub use execution::{Execution, ExecutionError, Observer, SilentObserver};
pub use outcome::{CellResult, CheckOutcome, CheckResult, Outcome, Summary};
pub use preparation::{CellSettings, PreparationError, PreparedCell, prepare_cell};
