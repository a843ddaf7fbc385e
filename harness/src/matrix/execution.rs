//! Running cells side by side.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream;
use nix::sys::prctl;

use super::cell_process::{END_BOUND, run_cell};
use super::{CellResult, PreparedCell};
use crate::cell::end_all_descendants;
use crate::interruption::{Interrupted, unless_interrupted};

/// Hears of cells as they begin and end, in no particular order.
pub trait Observer {
    /// A cell begins.
    fn begins(&self, cell: &PreparedCell);
    /// A cell has ended.
    fn ended(&self, result: &CellResult);
}

/// Hears of everything and says nothing.
#[derive(Debug, Clone, Copy)]
pub struct SilentObserver;

impl Observer for SilentObserver {
    fn begins(&self, _: &PreparedCell) {}
    fn ended(&self, _: &CellResult) {}
}

/// A run of many cells.
#[derive(Debug)]
pub struct Execution {
    /// The harness binary.
    pub executable: PathBuf,
    /// Cells at a time.
    pub jobs: usize,
}

/// Why a run came to no results.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// A signal came.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// There is no place for the cells.
    #[error("a temporary directory for the cells cannot be made: {0}")]
    Directory(#[source] io::Error),
}

impl Execution {
    /// Runs all cells on the calling thread, which their processes do not outlive. The results are in the order of the
    /// cells.
    ///
    /// # Errors
    /// When SIGINT or SIGTERM came, or when there is no place for the cells.
    pub async fn run(
        &self,
        cells: &[PreparedCell],
        observer: &dyn Observer,
    ) -> Result<(Vec<CellResult>, Duration), ExecutionError> {
        let started = Instant::now();
        // What a dead cell leaves behind comes to this process, and ends with the run. Where the kernel does not offer
        // that, each cell's own cleaning is all there is.
        let _ = prctl::set_child_subreaper(true);
        // Everything that cells make is in here and goes with it, also what a killed cell could not remove itself.
        let directory = tempfile::Builder::new()
            .prefix("cells-")
            .tempdir()
            .map_err(ExecutionError::Directory)?;
        let results = stream::iter(cells.iter().enumerate())
            .map(async |(place, cell)| {
                observer.begins(cell);
                let result = run_cell(cell, &self.executable, directory.path()).await;
                observer.ended(&result);
                (place, result)
            })
            .buffer_unordered(self.jobs.max(1))
            .collect::<BTreeMap<_, _>>();
        let ended = unless_interrupted(results).await;
        end_all_descendants(END_BOUND).await;
        Ok((ended?.into_values().collect(), started.elapsed()))
    }
}
