//! The runner under test: its processes, its pipe, its requests.

mod incoming;
mod pipe;
mod process;
mod requests;

pub(crate) use process::{RunnerProcess, RunnerSpawn};
