//! What all parts of one running cell share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::barriers::Barriers;
use super::error::CellError;
use crate::scenario::Plan;
use crate::trace::Recorder;

/// What all parts of one running cell share.
#[derive(Debug)]
pub(crate) struct CellContext {
    pub(crate) plan: Plan,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) barriers: Arc<Barriers>,
    pub(crate) bounds: Bounds,
    /// Where the processes' stderr goes.
    pub(crate) log: PathBuf,
    /// Rung for each `session/changed`.
    pub(crate) session_changed: Notify,
    failure: watch::Sender<Option<CellError>>,
    runners: Mutex<BTreeMap<i32, String>>,
}

/// Upper bounds on waiting; never a way to synchronise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// For one step of the scenario.
    pub(crate) step: Duration,
    /// For the first answer of a runner, whose language may start slowly.
    pub(crate) start: Duration,
    /// For an orderly end.
    pub(crate) end: Duration,
}

impl CellContext {
    pub(crate) fn new(plan: Plan, recorder: Arc<Recorder>, bounds: Bounds, log: PathBuf) -> Self {
        let barriers = Arc::new(Barriers::new(Arc::clone(&recorder), plan.faults.clone()));
        Self {
            plan,
            recorder,
            barriers,
            bounds,
            log,
            session_changed: Notify::new(),
            failure: watch::Sender::new(None),
            runners: Mutex::default(),
        }
    }

    /// Ends the cell with an error; the first one counts.
    pub(crate) fn fail(&self, error: CellError) {
        self.failure.send_if_modified(|failure| {
            let first = failure.is_none();
            failure.get_or_insert(error);
            first
        });
    }

    /// Runs `work` unless the cell fails first.
    ///
    /// # Errors
    /// The cell's failure.
    pub(crate) async fn unless_failed<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, CellError> {
        let mut failure = self.failure.subscribe();
        let failed = async {
            match failure
                .wait_for(Option::is_some)
                .await
                .map(|failure| failure.clone())
            {
                Ok(Some(error)) => error,
                // The sender lives in `self`.
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            error = failed => Err(error),
            done = work => Ok(done),
        }
    }

    /// Makes a runner's process known, so that a CLI can be traced back to it.
    pub(crate) fn add_runner(&self, pid: i32, name: &str) {
        self.lock_runners().insert(pid, name.to_owned());
    }

    /// The runner that started process `pid`, by its chain of parents.
    pub(crate) fn runner_of(&self, mut pid: i32) -> Option<String> {
        let parents: BTreeMap<i32, i32> = super::process_tree::processes()
            .into_iter()
            .map(|process| (process.pid, process.parent))
            .collect();
        let runners = self.lock_runners();
        while let Some(parent) = parents.get(&pid) {
            if let Some(name) = runners.get(parent) {
                return Some(name.clone());
            }
            pid = *parent;
        }
        None
    }

    fn lock_runners(&self) -> std::sync::MutexGuard<'_, BTreeMap<i32, String>> {
        self.runners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
