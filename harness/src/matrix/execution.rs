//! Running cells side by side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream;
use nix::sys::prctl;

use super::cell_process::{END_BOUND, run_cell};
use super::{CellResult, PreparedCell};
use crate::cell::end_all_descendants;

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

/// The run was interrupted by a signal; everything it had started is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run was interrupted")]
pub struct Interrupted;

impl Execution {
    /// Runs all cells on the calling thread, which their processes do not outlive. The results are in the order of the
    /// cells.
    ///
    /// # Errors
    /// When SIGINT or SIGTERM came.
    pub async fn run(
        &self,
        cells: &[PreparedCell],
        observer: &dyn Observer,
    ) -> Result<(Vec<CellResult>, Duration), Interrupted> {
        let started = Instant::now();
        // What a dead cell leaves behind comes to this process, and ends with the run. Where the kernel does not offer
        // that, each cell's own cleaning is all there is.
        let _ = prctl::set_child_subreaper(true);
        let results = stream::iter(cells.iter().enumerate())
            .map(|(place, cell)| async move {
                observer.begins(cell);
                let result = run_cell(cell, &self.executable).await;
                observer.ended(&result);
                (place, result)
            })
            .buffer_unordered(self.jobs.max(1))
            .collect::<BTreeMap<_, _>>();
        let ended = tokio::select! {
            results = results => Ok((results.into_values().collect(), started.elapsed())),
            () = interrupted() => Err(Interrupted),
        };
        end_all_descendants(END_BOUND).await;
        ended
    }
}

async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
