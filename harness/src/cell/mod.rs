//! One cell: a scenario on a runner and a CLI, run in a process of its own.

mod barriers;
mod context;
mod directories;
mod error;
mod interpreter;
mod messages_api;
mod process_tree;
mod request;
mod run;
mod runner;
mod session;
mod taps;
mod workers;

pub use error::CellError;
pub(crate) use interpreter::StepFailure;
pub(crate) use process_tree::{end_all_descendants, kill_trees, signal_process};
pub use request::*;
pub(crate) use run::become_subreaper;
pub use run::{run, run_from_stdin};
pub(crate) use session::snapshot_of;
